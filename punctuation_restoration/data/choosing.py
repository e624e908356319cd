"""Choose training text that is like a sample: documents of a pool, by their perplexity under the sample's 4-gram model.

    python -m punctuation_restoration.data.choosing --sample meetings.jsonl --pool prepared/ --language zh \
        --words 2000000 --output chosen/
    python train.py --recipe recipes/en-zh-ms.yaml --data chosen/ --output runs/meetings

After Fu et al. (2021) and Zhu et al. (2022). Takes a small sample of the text that a model is to read (it needs no
marks) and prepared data; writes prepared data with the documents of lowest perplexity, all held-out documents as they
were, and `choice.json` with what was ranked. Prints the sample's distribution of stops for a recipe's `sampling`.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer

from punctuation_restoration.data import shards
from punctuation_restoration.data.conversion import Converter
from punctuation_restoration.data.ngrams import NgramModel
from punctuation_restoration.data.preparation import clear_folder, explain, slot_config
from punctuation_restoration.data.readers import SourceDocument, read_documents
from punctuation_restoration.data.recipe import Recipe
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.modeling.configuration_punctuation import WORD_KEYS

MOST_STOPS = 20  # an utterance with more does not fit into a window
POWERS = np.cumprod(np.full(256, 0x9E3779B97F4A7C15, dtype=np.uint64))  # modulo 2^64; no word has more pieces


def main(argv: Sequence[str] | None = None) -> int:
    """Rank, write the choice, print the stops. Gives 0, or 1 after an error message."""
    parser = argparse.ArgumentParser(prog="choosing", description="Training text that is like a sample.")
    parser.add_argument("--sample", required=True, nargs="+", help="text to be like: files or folders; a line of a "
                        "document is an utterance")  # fmt: skip
    parser.add_argument("--pool", required=True, nargs="+", help="prepared data to choose from")
    parser.add_argument("--language", required=True, help="of the sample; the pool's other languages are left out")
    parser.add_argument("--words", required=True, type=int, help="how many words to choose, in whole documents")
    parser.add_argument("--output", required=True, type=Path, help="folder to write")
    parser.add_argument("--tokenizer", help="of the pool, where it is not where it was: folder or Hub id")
    args = parser.parse_args(argv)
    try:
        index = of_language(shards.read_index(*args.pool), args.language)
        sample = read_sample(args.sample, build_converter(index, args.tokenizer), args.language)
        print(describe_stops(sample))
        ranking = rank(index, NgramModel(sample.words, sample.starts), sample)
        chosen = ranking.best(args.words)
        rows = summary(index, ranking, chosen)
        write_choice(index, chosen, args.output, {"stops": stop_shares(sample.stops)[1], "sources": rows})
    except (ValueError, OSError, MemoryError) as error:
        print(f"choosing: {explain(error)}", file=sys.stderr)
        return 1
    print(table(rows))
    return 0


@dataclass(frozen=True, slots=True)
class Sample:
    """Words of the text that a model is to read."""

    words: np.ndarray  # (n_words,) uint64
    starts: np.ndarray  # (n_documents,) first word of each
    hashes: np.ndarray  # (n_documents,) uint64, of its words, as in a shard
    stops: Counter[int]  # how many utterances have so many stops


def build_converter(index: Mapping[str, Any], tokenizer: str | None = None) -> Converter:
    """What made a pool's words, for the words of a sample."""
    name = tokenizer or index["tokenizer"]
    model = {key: index[key] for key in ("labels", *WORD_KEYS)}
    return Converter(AutoTokenizer.from_pretrained(name), slot_config(name, Recipe("sample", (), model=model)))


def read_sample(paths: Iterable[str | Path], converter: Converter, language: str) -> Sample:
    """Words and stops of the sample's texts.

    Raises:
        ValueError: if they cannot be read, or have no words.
    """
    documents: list[shards.PackedDocument] = []
    stops: Counter[int] = Counter()
    for document in (document for path in paths for document in read_documents(path)):
        spoken, labels = converter.words_and_labels(document, language)
        if spoken:
            documents.append(converter.pack(document.id, spoken, labels))
        for utterance in utterances(document):
            labels = labels if utterance is document else converter.words_and_labels(utterance, language)[1]
            stops[int(np.isin(labels, converter.stop_ids).sum())] += 1
    if not documents:
        raise ValueError(f"Expected words in the sample, got none in {[str(path) for path in paths]}. Give text.")
    lengths = [len(document.words.labels) for document in documents]
    return Sample(
        np.concatenate([word_hashes(document.words.piece_ids, document.words.piece_counts) for document in documents]),
        np.cumsum([0, *lengths[:-1]]),
        np.array([document.word_hash for document in documents], dtype=np.uint64),
        stops,
    )


def utterances(document: SourceDocument) -> list[SourceDocument]:
    """The lines of a text; a text of one line, and words with labels, are one utterance."""
    lines = [line for line in document.text.splitlines() if line.strip()]
    return [replace(document, text=line) for line in lines] if len(lines) > 1 else [document]


def word_hashes(piece_ids: np.ndarray, piece_counts: np.ndarray) -> np.ndarray:
    """A number for each word that depends on its pieces alone, (n_words,) uint64."""
    starts = np.cumsum(piece_counts, dtype=np.int64) - piece_counts
    places = np.arange(len(piece_ids)) - np.repeat(starts, piece_counts)  # of each piece in its word
    return np.add.reduceat((piece_ids.astype(np.uint64) + np.uint64(1)) * POWERS[places], starts)


def stop_shares(stops: Mapping[int, int]) -> tuple[float, dict[int, float]]:
    """The share of utterances with 1 to 20 stops, and among them the share of each number."""
    fitting = {number: n for number, n in sorted(stops.items()) if 1 <= number <= MOST_STOPS}
    total = sum(fitting.values())
    return round(total / max(sum(stops.values()), 1), 3), {number: round(n / total, 3) for number, n in fitting.items()}


def describe_stops(sample: Sample) -> str:
    """The sample's distribution of stops, as a recipe has it."""
    share, stops = stop_shares(sample.stops)
    head = f"Sample: {len(sample.starts):,} documents, {len(sample.words):,} words, {sample.stops.total():,} utterances"
    if not stops:
        return (
            f"{head}; none has 1 to {MOST_STOPS} stops. If speakers take turns in it, write each turn on a line of its "
            "own and keep the marks; for running text leave sampling.utterances at 0."
        )
    listed = ", ".join(f"{number}: {part:g}" for number, part in stops.items())
    return f"{head}; {share:.0%} have 1 to {MOST_STOPS} stops. For a recipe:\nsampling:\n  stops: {{{listed}}}"


@dataclass(frozen=True, slots=True)
class Ranking:
    """The training documents of a pool in the order of its index; arrays (n_documents,)."""

    source_ids: np.ndarray
    n_words: np.ndarray
    surprisals: np.ndarray  # mean -ln p of a word; the perplexity is its exponential
    is_sample: np.ndarray  # the same document is in the sample

    def best(self, n_words: int) -> np.ndarray:
        """The documents of lowest perplexity outside the sample, until they have `n_words` words; (n_documents,) bool.

        Raises:
            ValueError: if there are fewer words outside the sample, or none are asked for.
        """
        if n_words < 1:
            raise ValueError(f"Expected --words of 1 or more, got {n_words}. Raise it.")
        order = np.argsort(self.surprisals, kind="stable")
        order = order[~self.is_sample[order]]
        ends = np.cumsum(self.n_words[order])
        n_there = int(ends[-1]) if len(ends) else 0
        if n_there < n_words:
            raise ValueError(
                f"Expected a pool of {n_words:,} words or more, got {n_there:,} outside the sample. Lower --words."
            )
        chosen = np.zeros(len(self.n_words), dtype=bool)
        chosen[order[: int(ends.searchsorted(n_words)) + 1]] = True
        return chosen


def rank(index: Mapping[str, Any], model: NgramModel, sample: Sample) -> Ranking:
    """How surprising each training document of a pool is to the model of a sample."""
    parts = []
    for source_id, row in enumerate(index["sources"]):
        for shard in row["splits"]["train"]["shards"]:
            arrays = shards.open_shard(shard["file"])
            starts = arrays["document_starts"].astype(np.int64)
            n_words = np.diff([*starts, len(arrays["labels"])])
            logs = model.log_probabilities(word_hashes(arrays["piece_ids"], arrays["piece_counts"]), starts)
            surprisals = -np.add.reduceat(logs, starts) / n_words
            is_sample = np.isin(arrays["word_hashes"], sample.hashes)
            parts.append((np.full(len(starts), source_id), n_words, surprisals, is_sample))
    if not parts:
        raise ValueError("Expected training documents in the pool, got none. Prepare some text of this language.")
    return Ranking(*map(np.concatenate, zip(*parts, strict=True)))


def summary(index: Mapping[str, Any], ranking: Ranking, chosen: np.ndarray) -> list[dict[str, Any]]:
    """Every source with its words, those that were chosen, and the perplexity of all, nearest first.

    Documents that are in the sample do not count.
    """
    rows = []
    for source_id, row in enumerate(index["sources"]):
        own = (ranking.source_ids == source_id) & ~ranking.is_sample
        if own.any():
            n_words, n_chosen = int(ranking.n_words[own].sum()), int(ranking.n_words[own & chosen].sum())
            perplexity = float(np.exp(np.average(ranking.surprisals[own], weights=ranking.n_words[own])))
            counts = {"words": n_words, "chosen_words": n_chosen, "perplexity": round(perplexity, 1)}
            rows.append({"name": row["name"], **counts})
    return sorted(rows, key=lambda row: row["perplexity"])


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The sources, nearest first, as Markdown."""
    cells = ([row["name"], *(f"{row[key]:,}" for key in ("words", "perplexity", "chosen_words"))] for row in rows)
    return markdown_table(["source", "words", "perplexity", "chosen words"], cells)


def of_language(index: Mapping[str, Any], language: str) -> dict[str, Any]:
    """The index with the sources of one language.

    Raises:
        ValueError: if there is none.
    """
    rows = [row for row in index["sources"] if row["language"] == language]
    if not rows:
        raise ValueError(f"Expected --language to be one of {index['languages']}, got {language!r}. Correct it.")
    return {**index, "languages": [language], "sources": rows}


def write_choice(index: Mapping[str, Any], chosen: np.ndarray, out: Path, report: Mapping[str, Any]) -> None:
    """Write the chosen training documents, and all held-out ones, as prepared data of their own.

    `chosen` is (n_documents,) bool, in the order of `Ranking`; `out` may hold an earlier choice; `report` goes beside.

    Raises:
        ValueError: if `out` is a folder of the pool.
        FileExistsError: if it holds something else.
    """
    splits = (counts for row in index["sources"] for counts in row["splits"].values())
    if out.resolve() in {Path(shard["file"]).resolve().parent for counts in splits for shard in counts["shards"]}:
        raise ValueError(f"Expected --output to be another folder than the pool, got {out}. Choose another one.")
    clear_folder(out)
    wanted = iter(chosen.tolist())
    rows = []
    for row in index["sources"]:
        written = {}
        for split, counts in row["splits"].items():
            documents = (one for shard in counts["shards"] for one in shards.shard_documents(shard["file"]))
            kept = (one for one in documents if split != "train" or next(wanted))
            written[split] = shards.write_split(out, f"{row['name']}-{split}", kept)
        rows.append({**row, "splits": written})
    (out / "choice.json").write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    shards.write_index(out, {**index, "sources": rows})


if __name__ == "__main__":
    raise SystemExit(main())
