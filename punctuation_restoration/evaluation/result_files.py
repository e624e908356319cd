"""Evaluations <-> JSON: what goes into `results/`, and shards read back and joined.

Takes evaluations and a signature, gives dictionaries and files. The counts of every block are kept, packed, so that
scores, intervals and paired tests can be computed from the files alone. The texts are not kept: they are not ours.
"""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.calibration import Reliability
from punctuation_restoration.evaluation.counts import Counts
from punctuation_restoration.evaluation.intervals import Part, bootstrap, by_key
from punctuation_restoration.evaluation.runner import Evaluation
from punctuation_restoration.evaluation.scores import micro, score
from punctuation_restoration.whole_files import write_whole

FORMAT = 2
NUMBERS = np.dtype("<u4")  # of the packed counts


def to_result(
    evaluation: Evaluation, name: str, about: str, data_sha256: str, signed: dict[str, Any]
) -> dict[str, Any]:
    """One benchmark as JSON can hold it: signature, scores, intervals, calibration, and the counts behind them."""
    scores = score(evaluation.counts)
    intervals = bootstrap(evaluation.parts)
    return {
        "format": FORMAT,
        "benchmark": name,
        "about": about,
        "signature": {"data_sha256": data_sha256, **signed},
        "label_names": list(evaluation.label_names),
        "n_documents": len({part.document for part in evaluation.parts}),
        "scores": scores.to_dict(),
        "intervals_95": asdict(intervals),
        "by_source": {key: _brief(counts) for key, counts in by_key(evaluation.parts, "source").items()},
        "calibration": {
            "all_words": evaluation.all_decisions.to_dict(),
            "marks": evaluation.marks_only.to_dict(),
        },
        "speed": {
            "seconds": round(evaluation.seconds, 2),
            "words": evaluation.n_words,
            "words_per_second": round(evaluation.n_words / evaluation.seconds, 1) if evaluation.seconds else None,
        },
        "blocks": pack(evaluation.parts, evaluation.label_names),
    }


def by_document(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Words, F1 and marks of every document of a result, computed from the counts of its blocks."""
    parts = unpack(result["blocks"], result["label_names"])
    return {key: _brief(counts) for key, counts in by_key(parts, "document").items()}


def pack(parts: Sequence[Part], label_names: Sequence[str]) -> dict[str, Any]:
    """The counts of all blocks as one array, which JSON holds as text.

    A row is: index of the document, index of the source, number of the block; then the words of every pair (reference,
    predicted) within the text, in the order of `label_names`; the same at the end of the text; then stray marks.
    `counts` is the transposed array in 32-bit numbers, little-endian, compressed by zlib and written in base 64.
    """
    documents = list(dict.fromkeys(part.document for part in parts))
    sources = list(dict.fromkeys(part.source for part in parts))
    document_index = {document: index for index, document in enumerate(documents)}
    source_index = {source: index for index, source in enumerate(sources)}
    pairs = list(product(label_names, label_names))
    rows = [
        [document_index[part.document], source_index[part.source], part.block]
        + [counts[pair] for counts in (part.counts.mid_text, part.counts.end_text) for pair in pairs]
        + [part.counts.stray[name] for name in label_names]
        for part in parts
    ]
    # Transposed, equal columns (most end-of-text counts are 0) lie together and compress better.
    packed = zlib.compress(np.array(rows, dtype=NUMBERS).T.tobytes(), level=9)
    return {
        "n_blocks": len(rows),
        "documents": documents,
        "sources": sources,
        "counts": base64.b64encode(packed).decode("ascii"),
    }


def unpack(blocks: dict[str, Any], label_names: Sequence[str]) -> list[Part]:
    """The parts that `pack` packed.

    Raises:
        ValueError: if the array is damaged or not of this many blocks and labels.
    """
    names, pairs = tuple(label_names), list(product(label_names, repeat=2))
    shape = (3 + 2 * len(pairs) + len(names), blocks["n_blocks"])
    try:
        numbers = np.frombuffer(zlib.decompress(base64.b64decode(blocks["counts"])), dtype=NUMBERS).reshape(shape)
    except (ValueError, zlib.error) as error:
        raise ValueError(
            f"Expected packed counts of {shape[1]} blocks over the labels {list(names)}, could not read them: {error}. "
            "Evaluate again."
        ) from error
    parts = []
    for document, source, block, *counts in numbers.T.tolist():
        mid_text, end_text, stray = counts[: len(pairs)], counts[len(pairs) : -len(names)], counts[-len(names) :]
        found = Counts(names, _counter(pairs, mid_text), _counter(pairs, end_text), _counter(names, stray))
        parts.append(Part(blocks["documents"][document], blocks["sources"][source], block, found))
    return parts


def write_result(result: dict[str, Any], path: Path) -> None:
    """Write a result, whole or not at all."""
    write_whole(path, (_readable(result) + "\n").encode(), force=True)


def read_result(path: str | Path) -> dict[str, Any]:
    """Read a result.

    Raises:
        ValueError: if the file is missing or was not written by `evaluate.py`.
    """
    try:
        result = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"Expected a result of evaluate.py in {path}, could not read it: {error}.") from error
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise ValueError(f"Expected a result of format {FORMAT} in {path}, got another file. Evaluate again.")
    return result


def to_evaluation(result: dict[str, Any]) -> Evaluation:
    """The evaluation behind a result, without its mistakes, which are not kept."""
    names = tuple(result["label_names"])
    return Evaluation(
        label_names=names,
        parts=unpack(result["blocks"], names),
        all_decisions=Reliability.from_dict(result["calibration"]["all_words"]),
        marks_only=Reliability.from_dict(result["calibration"]["marks"]),
        seconds=result["speed"]["seconds"],
        n_words=result["speed"]["words"],
    )


def join(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The result of a whole test from the results of its shards.

    Raises:
        ValueError: if the shards are not of one model and label set, or share a document.
    """
    evaluations = [to_evaluation(result) for result in results]
    models = {result["signature"]["model_sha256"] for result in results}
    if len(models) != 1:
        raise ValueError(f"Expected results of one model, got {len(models)} models. Join the shards of each apart.")
    names = {evaluation.label_names for evaluation in evaluations}
    if len(names) != 1:
        raise ValueError(f"Expected results over the same labels, got {sorted(names)}. Join those of one label set.")
    documents = [{part.document for part in evaluation.parts} for evaluation in evaluations]
    if sum(map(len, documents)) != len(set.union(*documents)):
        raise ValueError("Expected every document in one shard only, got some in several. Was a file given twice?")
    joined = Evaluation(
        label_names=evaluations[0].label_names,
        parts=[part for evaluation in evaluations for part in evaluation.parts],
        all_decisions=sum((one.all_decisions for one in evaluations), Reliability()),
        marks_only=sum((one.marks_only for one in evaluations), Reliability()),
        seconds=sum(one.seconds for one in evaluations),
        n_words=sum(one.n_words for one in evaluations),
    )
    signed = dict(results[0]["signature"])
    digests = [result["signature"]["data_sha256"] for result in results]
    signed.pop("data_sha256")
    signed["joined"] = digests
    name = "+".join(dict.fromkeys(result["benchmark"] for result in results))
    return to_result(joined, name, results[0]["about"], "+".join(digests), signed)


def _brief(counts: Counts) -> dict[str, Any]:
    overall = micro(counts)
    return {"n_words": counts.n_words, "f1": round(overall.f1, 4), "n_marks": overall.n_reference}


def _counter(keys: Sequence[Any], numbers: Sequence[int]) -> Counter[Any]:
    return Counter({key: n for key, n in zip(keys, numbers, strict=True) if n})


def _readable(result: dict[str, Any]) -> str:
    """JSON in lines, with the blocks on one line of their own."""
    head = json.dumps({**result, "blocks": None}, ensure_ascii=False, indent=1)
    return head.replace('"blocks": null', f'"blocks": {json.dumps(result["blocks"], ensure_ascii=False)}')
