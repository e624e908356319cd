"""Evaluations <-> JSON: what goes into `results/`, and shards read back and joined.

Takes evaluations and a signature, gives dictionaries and files. The counts of every block are kept, so that scores
and intervals can be computed again from the file alone. The texts of the benchmarks are not: they are not ours.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from punctuation_restoration.evaluation.calibration import Reliability
from punctuation_restoration.evaluation.counts import Counts
from punctuation_restoration.evaluation.intervals import Part, bootstrap, by_key
from punctuation_restoration.evaluation.runner import Evaluation
from punctuation_restoration.evaluation.scores import micro, score
from punctuation_restoration.whole_files import write_whole

FORMAT = 1


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
        "by_document": {key: _brief(counts) for key, counts in by_key(evaluation.parts, "document").items()},
        "calibration": {
            "all_words": evaluation.all_decisions.to_dict(),
            "marks": evaluation.marks_only.to_dict(),
        },
        "speed": {
            "seconds": round(evaluation.seconds, 2),
            "words": evaluation.n_words,
            "words_per_second": round(evaluation.n_words / evaluation.seconds, 1) if evaluation.seconds else None,
        },
        "parts": [
            {"document": part.document, "source": part.source, "block": part.block, **part.counts.to_dict()}
            for part in evaluation.parts
        ],
    }


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
    parts = [
        Part(part["document"], part["source"], part["block"], Counts.from_dict(names, part)) for part in result["parts"]
    ]
    return Evaluation(
        label_names=names,
        parts=parts,
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


def _readable(result: dict[str, Any]) -> str:
    """JSON with one line a block, so that a file of a thousand blocks stays readable."""
    parts = result["parts"]
    head = json.dumps({**result, "parts": None}, ensure_ascii=False, indent=1)
    lines = ",\n".join(f"  {json.dumps(part, ensure_ascii=False)}" for part in parts)
    before, found, after = head.rpartition('"parts": null')
    if not found:
        return head
    return f'{before}"parts": [\n{lines}\n ]{after}'
