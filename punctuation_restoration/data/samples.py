"""A small sample of the text that a model is to read: its words, and how many sentences its utterances have.

Takes texts and the labels and tokenizer of prepared data, gives words as numbers, alike for texts and for shards.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer

from punctuation_restoration.data.conversion import Converter
from punctuation_restoration.data.prepare import slot_config
from punctuation_restoration.data.readers import SourceDocument, read_documents
from punctuation_restoration.data.recipe import Recipe
from punctuation_restoration.data.shards import PackedDocument
from punctuation_restoration.modeling.configuration_punctuation import WORD_KEYS

MOST_STOPS = 20  # an utterance with more does not fit into a window
POWERS = np.cumprod(np.full(256, 0x9E3779B97F4A7C15, dtype=np.uint64))  # modulo 2^64; no word has more pieces


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
    documents: list[PackedDocument] = []
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
    lengths = [len(document.labels) for document in documents]
    return Sample(
        np.concatenate([word_hashes(document.piece_ids, document.piece_counts) for document in documents]),
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
