"""Choose training text that is like a sample: documents of a pool, by their perplexity under the sample's 4-gram model.

    python -m punctuation_restoration.data.choosing --sample meetings.jsonl --pool prepared/ --language zh \
        --words 2000000 --output chosen/
    python train.py --recipe recipes/en-zh-ms.yaml --data chosen/ --output runs/meetings

After Fu et al. (2021) and Zhu et al. (2022). Takes a small sample of the text that a model is to read (it needs no
marks) and prepared data; writes prepared data with the documents of lowest perplexity, and all held-out documents as
they were.

The n-gram model is interpolated Kneser-Ney (Chen & Goodman 1999). No library's: KenLM needs a program in C++, and
nltk.lm goes through all its n-grams again for each word that it scores.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer

from punctuation_restoration.data import shards
from punctuation_restoration.data.conversion import Converter
from punctuation_restoration.data.leaks import mixed
from punctuation_restoration.data.preparation import clear_folder, explain, slot_config
from punctuation_restoration.data.readers import read_documents
from punctuation_restoration.data.recipe import Recipe
from punctuation_restoration.modeling.configuration_punctuation import WORD_KEYS

POWERS = np.cumprod(np.full(256, 0x9E3779B97F4A7C15, dtype=np.uint64))  # modulo 2^64; no word has more pieces
ORDER = 4  # words of the longest n-gram: Fu et al. (2021)
START = np.uint64(2**64 - 1)  # in the place of the words before a text


def main(argv: Sequence[str] | None = None) -> int:
    """Rank and write the choice. Gives 0, or 1 after an error message."""
    parser = argparse.ArgumentParser(prog="choosing", description="Training text that is like a sample.")
    parser.add_argument("--sample", required=True, nargs="+", help="text to be like: files or folders")
    parser.add_argument("--pool", required=True, nargs="+", help="prepared data to choose from")
    parser.add_argument("--language", required=True, help="of the sample; the pool's other languages are left out")
    parser.add_argument("--words", required=True, type=int, help="how many words to choose, in whole documents")
    parser.add_argument("--output", required=True, type=Path, help="folder to write")
    parser.add_argument("--tokenizer", help="of the pool, where it is not where it was: folder or Hub id")
    args = parser.parse_args(argv)
    try:
        index = shards.read_index(*args.pool)
        rows = [row for row in index["sources"] if row["language"] == args.language]
        if not rows:
            raise ValueError(f"Expected --language to be one of {index['languages']}, got {args.language!r}.")
        index |= {"languages": [args.language], "sources": rows}
        sample = read_sample(args.sample, index, args.tokenizer or index["tokenizer"])
        write_choice(index, best(*rank(index, *sample), args.words), args.output)
    except (ValueError, OSError, MemoryError) as error:
        print(f"choosing: {explain(error)}", file=sys.stderr)
        return 1
    return 0


def read_sample(
    paths: Iterable[str | Path], index: Mapping[str, Any], tokenizer: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words of the sample's texts (n_words,), made as the pool's; the first of each text and its hash, (n_texts,)."""
    model = {key: index[key] for key in ("labels", *WORD_KEYS)}
    config = slot_config(tokenizer, Recipe("sample", (), model=model))
    converter = Converter(AutoTokenizer.from_pretrained(tokenizer), config)
    documents = [document for path in paths for document in read_documents(path)]
    spoken = [converter.words_and_labels(document, index["languages"][0])[0] for document in documents]
    texts = [converter.pack("", own, np.zeros(len(own), dtype=np.uint8)) for own in spoken if own]
    if not texts:
        raise ValueError(f"Expected words in the sample, got none in {[str(path) for path in paths]}. Give text.")
    words = [word_hashes(text.words.piece_ids, text.words.piece_counts) for text in texts]
    starts = np.cumsum([0, *map(len, words[:-1])])
    return np.concatenate(words), starts, np.array([text.word_hash for text in texts], dtype=np.uint64)


def word_hashes(piece_ids: np.ndarray, piece_counts: np.ndarray) -> np.ndarray:
    """A number for each word that depends on its pieces alone, (n_words,) uint64."""
    starts = np.cumsum(piece_counts, dtype=np.int64) - piece_counts
    places = np.arange(len(piece_ids)) - np.repeat(starts, piece_counts)  # of each piece in its word
    return np.add.reduceat((piece_ids.astype(np.uint64) + np.uint64(1)) * POWERS[places], starts)


def rank(
    index: Mapping[str, Any], words: np.ndarray, starts: np.ndarray, hashes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Words and mean -ln p of a word of each training document of a pool, (n_documents,); infinite in the sample."""
    model, parts = NgramModel(words, starts), []
    for shard in (shard for row in index["sources"] for shard in row["splits"]["train"]["shards"]):
        arrays = shards.open_shard(shard["file"])
        starts = arrays["document_starts"].astype(np.int64)
        n_words = np.diff([*starts, len(arrays["labels"])])
        logs = model.log_probabilities(word_hashes(arrays["piece_ids"], arrays["piece_counts"]), starts)
        is_sample = np.isin(arrays["word_hashes"], hashes)
        parts.append((n_words, np.where(is_sample, np.inf, -np.add.reduceat(logs, starts) / n_words)))
    if not parts:
        raise ValueError("Expected training documents in the pool, got none. Prepare some text of this language.")
    n_words, surprisals = map(np.concatenate, zip(*parts, strict=True))
    return n_words, surprisals


def best(n_words: np.ndarray, surprisals: np.ndarray, n_wanted: int) -> np.ndarray:
    """The documents of lowest perplexity outside the sample, until they have so many words; (n_documents,) bool."""
    order = np.argsort(surprisals, kind="stable")
    ends = np.cumsum(n_words[order] * np.isfinite(surprisals[order]))
    if not 1 <= n_wanted <= ends[-1]:
        raise ValueError(f"Expected --words from 1 to the pool's {ends[-1]:,} outside the sample, got {n_wanted:,}.")
    return np.argsort(order) <= ends.searchsorted(n_wanted)


def write_choice(index: Mapping[str, Any], chosen: np.ndarray, out: Path) -> None:
    """Write the chosen training documents, and all held-out ones, as prepared data of their own.

    `chosen` is (n_documents,) bool, in the order of the index; `out` may hold an earlier choice.
    """
    splits = (counts for row in index["sources"] for counts in row["splits"].values())
    if out.resolve() in {Path(shard["file"]).resolve().parent for counts in splits for shard in counts["shards"]}:
        raise ValueError(f"Expected --output to be another folder than the pool, got {out}. Choose another one.")
    clear_folder(out)
    wanted, rows = iter(chosen.tolist()), []
    for row in index["sources"]:
        written = {}
        for split, counts in row["splits"].items():
            documents = (one for shard in counts["shards"] for one in shards.shard_documents(shard["file"]))
            kept = (one for one in documents if split != "train" or next(wanted))
            written[split] = shards.write_split(out, f"{row['name']}-{split}", kept)
        print(f"{row['name']}: {written['train']['n_words']:,} of {row['splits']['train']['n_words']:,} words chosen")
        rows.append({**row, "splits": written})
    shards.write_index(out, {**index, "sources": rows})


class NgramModel:
    """The n-grams of some texts. A word is any 64-bit number, and so is an n-gram: a hash of its words.

    Args:
        words: all texts, one after the other, (n_words,) uint64.
        starts: first word of each text, (n_texts,), the first of them 0.
        order: words of the longest n-gram.
    """

    def __init__(self, words: np.ndarray, starts: np.ndarray, order: int = ORDER):
        self.order, self.vocabulary = order, np.unique(words)
        grams, is_word = self._grams(words, starts)
        self._levels = []
        for length in range(1, order + 1):
            places = np.flatnonzero(is_word)  # the longest n-grams are counted as often as they occur,
            if length < order:  # others once for each different word before them
                places = places[np.unique(grams[length + 1][places], return_index=True)[1]]
            keys, firsts, counts = np.unique(grams[length][places], return_index=True, return_counts=True)
            contexts, of_key = np.unique(_before(grams[length - 1])[places[firsts]], return_inverse=True)
            once, twice = (int((counts == n).sum()) for n in (1, 2))
            discount = once / (once + 2 * twice) if once else 0.5  # Ney, Essen & Kneser (1994); it must leave something
            totals, kinds = np.bincount(of_key, counts), np.bincount(of_key)  # of what follows a context
            self._levels.append((keys, counts, discount, contexts, totals, kinds))

    def log_probabilities(self, words: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The natural logarithm of each word's probability after the words before it, (n_words,).

        A word that the model does not know has the probability of one unknown word. Arguments as for the model.
        """
        grams, is_word = self._grams(words, starts)
        found = np.full(len(is_word), 1 / (len(self.vocabulary) + 1))
        for length, (keys, counts, discount, contexts, totals, kinds) in enumerate(self._levels, 1):
            before = _before(grams[length - 1])
            total, kind = _looked_up(before, contexts, totals), _looked_up(before, contexts, kinds)
            kept = np.maximum(_looked_up(grams[length], keys, counts) - discount, 0)
            found = np.where(total > 0, (kept + discount * kind * found) / np.maximum(total, 1), found)
        return np.log(found[is_word])

    def _grams(self, words: np.ndarray, starts: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """The n-grams of 0, 1, ... words that end at each place, with starts before each text; which places are words.

        words        a   b   a   c            two texts, "a b" and "a c"
        padded   s s a b   s s a c            for order 3: two starts before each
        """
        places = np.repeat(starts, self.order - 1)
        padded, is_word = np.insert(words, places, START), np.insert(np.ones(len(words), dtype=bool), places, False)
        grams = [np.zeros(len(padded), dtype=np.uint64)]
        for _ in range(self.order):
            grams.append(mixed(_before(grams[-1]) * POWERS[0] + padded))
        return grams, is_word


def _before(grams: np.ndarray) -> np.ndarray:
    """The n-gram that ends a place earlier."""
    return np.concatenate([grams[:1] * np.uint64(0), grams[:-1]])


def _looked_up(wanted: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values of keys, which are sorted; 0 for what is not among them."""
    places = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0)


if __name__ == "__main__":
    raise SystemExit(main())
