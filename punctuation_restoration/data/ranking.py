"""The documents of a pool, by how surprising their words are to the n-gram model of a sample.

Takes the index of prepared data, gives arrays in the order of its training documents, and what they say for people.
Writes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from punctuation_restoration.data.ngrams import NgramModel
from punctuation_restoration.data.samples import Sample, stop_shares, word_hashes
from punctuation_restoration.data.shards import open_shard
from punctuation_restoration.data.summary import markdown_table


@dataclass(frozen=True, slots=True)
class Ranking:
    """The training documents of a pool in the order of its index; arrays (n_documents,)."""

    source_ids: np.ndarray
    n_words: np.ndarray
    surprisals: np.ndarray  # mean -ln p of a word; the perplexity is its exponential
    is_sample: np.ndarray  # the same document is in the sample

    def first(self, order: np.ndarray, n_words: int) -> np.ndarray:
        """Which documents are chosen: the first ones in an order, until they have `n_words` words; (n_documents,) bool.

        Raises:
            ValueError: if there are fewer words outside the sample, or none are asked for.
        """
        if n_words < 1:
            raise ValueError(f"Expected --words of 1 or more, got {n_words}. Raise it.")
        order = order[~self.is_sample[order]]
        ends = np.cumsum(self.n_words[order])
        n_there = int(ends[-1]) if len(ends) else 0
        if n_there < n_words:
            raise ValueError(
                f"Expected a pool of {n_words:,} words or more, got {n_there:,} outside the sample. Lower --words, or "
                "give more folders."
            )
        chosen = np.zeros(len(self.n_words), dtype=bool)
        chosen[order[: int(ends.searchsorted(n_words)) + 1]] = True
        return chosen

    def best(self, n_words: int) -> np.ndarray:
        """The documents of lowest perplexity, as by `first`."""
        return self.first(np.argsort(self.surprisals, kind="stable"), n_words)


def rank(index: Mapping[str, Any], model: NgramModel, sample: Sample) -> Ranking:
    """How surprising each training document of a pool is to the model of a sample."""
    parts = []
    for source_id, row in enumerate(index["sources"]):
        for shard in row["splits"]["train"]["shards"]:
            arrays = open_shard(shard["file"])
            starts = arrays["document_starts"].astype(np.int64)
            n_words = np.diff([*starts, len(arrays["labels"])])
            logs = model.log_probabilities(word_hashes(arrays["piece_ids"], arrays["piece_counts"]), starts)
            surprisals = -np.add.reduceat(logs, starts) / n_words
            is_sample = np.isin(arrays["word_hashes"], sample.hashes)
            parts.append((np.full(len(starts), source_id), n_words, surprisals, is_sample))
    if not parts:
        raise ValueError("Expected training documents in the pool, got none. Prepare some text of this language.")
    return Ranking(*map(np.concatenate, zip(*parts, strict=True)))


def summary(index: Mapping[str, Any], sample: Sample, ranking: Ranking, chosen: np.ndarray) -> dict[str, Any]:
    """What was ranked, as JSON can hold it: the sample, and every source with its share in the choice, nearest first.

    A perplexity is over all words of a source. Documents that are in the sample count nowhere but in `in_both`.
    """
    n_chosen = int(ranking.n_words[chosen].sum())
    rows = []
    for source_id, row in enumerate(index["sources"]):
        own = (ranking.source_ids == source_id) & ~ranking.is_sample
        if own.any():
            taken = own & chosen
            counts = {"documents": own.sum(), "words": ranking.n_words[own].sum(),
                      "chosen_documents": taken.sum(), "chosen_words": ranking.n_words[taken].sum()}  # fmt: skip
            perplexity = round(float(np.exp(np.average(ranking.surprisals[own], weights=ranking.n_words[own]))), 1)
            share = round(float(counts["chosen_words"] / n_chosen), 4)
            whole = {name: int(count) for name, count in counts.items()}
            rows.append({"name": row["name"], **whole, "perplexity": perplexity, "share_of_choice": share})
    share, stops = stop_shares(sample.stops)
    return {
        "sample": {
            "documents": len(sample.starts),
            "words": len(sample.words),
            "utterances": sample.stops.total(),
            "share_with_stops": share,
            "stops": stops,
        },
        "in_both": int(ranking.is_sample.sum()),
        "chosen_words": n_chosen,
        "highest_perplexity": round(float(np.exp(ranking.surprisals[chosen].max())), 1),
        "sources": sorted(rows, key=lambda row: row["perplexity"]),
    }


def table(report: Mapping[str, Any]) -> str:
    """The sources, nearest first, as Markdown."""
    head = ["source", "documents", "words", "perplexity", "chosen documents", "chosen words", "of the choice"]
    rows = (
        [row["name"], f"{row['documents']:,}", f"{row['words']:,}", f"{row['perplexity']:,.1f}",
         f"{row['chosen_documents']:,}", f"{row['chosen_words']:,}", f"{row['share_of_choice']:.1%}"]
        for row in report["sources"]
    )  # fmt: skip
    return markdown_table(head, rows)
