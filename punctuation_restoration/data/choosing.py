"""Choose training text that is like a sample: documents of a pool, by their perplexity under the sample's 4-gram model.

    python -m punctuation_restoration.data.choosing --sample meetings.jsonl --pool prepared/ --language zh \
        --words 2000000 --output chosen/
    python train.py --recipe recipes/en-zh-ms.yaml --data chosen/ --output runs/meetings

After Fu et al. (2021) and Zhu et al. (2022). Takes a small sample of the text that a model is to read (it needs no
marks) and prepared data; writes the documents of lowest perplexity, and all held-out ones. The n-gram model is
interpolated Kneser-Ney (Chen & Goodman 1999): KenLM needs a program in C++, and nltk.lm is far too slow.
"""

import argparse
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer

from punctuation_restoration.data import shards
from punctuation_restoration.data.conversion import Converter
from punctuation_restoration.data.leaks import mixed
from punctuation_restoration.data.preparation import clear_folder, slot_config
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
        choose(args)
    except (ValueError, OSError) as error:
        print(f"choosing: {error}", file=sys.stderr)
        return 1
    return 0


def choose(args: Namespace) -> None:
    """Write the training documents nearest to the sample, and all held-out ones, as prepared data of their own."""
    index, out = shards.read_index(*args.pool), args.output
    rows = [row for row in index["sources"] if row["language"] == args.language]
    if not rows:
        raise ValueError(f"Expected --language to be one of {index['languages']}, got {args.language!r}.")
    index |= {"languages": [args.language], "sources": rows}
    sample = read_sample(args.sample, index, args.tokenizer or index["tokenizer"])
    chosen = iter(nearest(index, sample, args.words).tolist())
    if out.resolve() in {Path(folder).resolve() for folder in args.pool}:
        raise ValueError(f"Expected --output to be another folder than the pool, got {out}. Choose another one.")
    clear_folder(out)
    changed = shards.write_changed(
        index, out, lambda row, split, documents: (one for one in documents if split != "train" or next(chosen))
    )
    for old, new in zip(rows, changed["sources"], strict=True):
        n_new, n_old = (row["splits"]["train"]["n_words"] for row in (new, old))
        print(f"{old['name']}: {n_new:,} of {n_old:,} words chosen")


def read_sample(paths: Iterable[str | Path], index: Mapping[str, Any], tokenizer: str) -> list[shards.PackedDocument]:
    """The texts of the sample, their words made as the pool's."""
    model = {key: index[key] for key in ("labels", *WORD_KEYS)}
    config = slot_config(tokenizer, Recipe("sample", (), model=model))
    converter = Converter(AutoTokenizer.from_pretrained(tokenizer), config)
    documents = [document for path in paths for document in read_documents(path)]
    found = [converter.words_and_labels(document, index["languages"][0]) for document in documents]
    if not (texts := [converter.pack("", spoken, labels) for spoken, labels in found if spoken]):
        raise ValueError(f"Expected words in the sample, got none in {[str(path) for path in paths]}. Give text.")
    return texts


def nearest(index: Mapping[str, Any], sample: Sequence[shards.PackedDocument], n_wanted: int) -> np.ndarray:
    """Which documents to train on have the lowest perplexity, up to that many words, outside the sample: (n,) bool."""
    texts = [word_hashes(text.words.piece_ids, text.words.piece_counts) for text in sample]
    model, parts = NgramModel(np.concatenate(texts), np.cumsum([0, *map(len, texts[:-1])])), []
    for shard in (shard for row in index["sources"] for shard in row["splits"]["train"]["shards"]):
        arrays = shards.open_shard(shard["file"])
        starts = arrays["document_starts"].astype(np.int64)
        n_words = np.diff([*starts, len(arrays["labels"])])
        logs = model.log_probabilities(word_hashes(arrays["piece_ids"], arrays["piece_counts"]), starts)
        is_sample = np.isin(arrays["word_hashes"], np.array([text.word_hash for text in sample], dtype=np.uint64))
        parts.append((n_words, np.where(is_sample, np.inf, -np.add.reduceat(logs, starts) / n_words)))
    if not parts:
        raise ValueError("Expected training documents in the pool, got none. Prepare some text of this language.")
    n_words, surprisals = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(surprisals, kind="stable")
    ends = np.cumsum(n_words[order] * np.isfinite(surprisals[order]))
    if not 1 <= n_wanted <= ends[-1]:
        raise ValueError(f"Expected --words from 1 to the pool's {ends[-1]:,} outside the sample, got {n_wanted:,}.")
    return np.argsort(order) <= ends.searchsorted(n_wanted)


def word_hashes(piece_ids: np.ndarray, piece_counts: np.ndarray) -> np.ndarray:
    """A number for each word that depends on its pieces alone, (n_words,) uint64."""
    starts = np.cumsum(piece_counts, dtype=np.int64) - piece_counts
    places = np.arange(len(piece_ids)) - np.repeat(starts, piece_counts)  # of each piece in its word
    return np.add.reduceat((piece_ids.astype(np.uint64) + np.uint64(1)) * POWERS[places], starts)


class NgramModel:
    """The n-grams of texts, up to `order` words: all `words` (n_words,) uint64, and where each text `starts`.

    A word is any 64-bit number, and so is an n-gram: a hash of its words.
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
        """ln p of each word after those before it, (n_words,); all words that the model does not know are one."""
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
