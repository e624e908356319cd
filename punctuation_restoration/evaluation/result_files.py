"""Evaluations -> JSON: what goes into `results/`.

Takes evaluations and a signature, gives dictionaries and files. The counts of every block are kept, so that
scores, intervals and paired tests can be computed from the files alone. The texts are not kept: they are not ours.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.calibration import bins_to_json
from punctuation_restoration.evaluation.casing_scores import CasingCounts
from punctuation_restoration.evaluation.counts import Counts
from punctuation_restoration.evaluation.intervals import Block, bootstrap, by_key, paired_bootstrap
from punctuation_restoration.evaluation.runner import Evaluation
from punctuation_restoration.evaluation.scores import micro, score
from punctuation_restoration.whole_files import write_whole


def to_result(
    evaluation: Evaluation, name: str, about: str, signed: dict[str, Any], casing: Mapping[str, CasingCounts]
) -> dict[str, Any]:
    """One benchmark as JSON can hold it: signature, scores, intervals, calibration, and the counts behind them.

    `signed` is the signature with the `data_sha256`; `casing` has what became of letters, by whose marks they stand
    beside.
    """
    seconds = evaluation.seconds
    letters = {
        marks: {"n_words": counts.n_words, **{name: asdict(row) for name, row in counts.scores().items()}}
        for marks, counts in casing.items()
    }
    return {
        "format": 3,
        "benchmark": name,
        "about": about,
        "signature": signed,
        "label_names": list(evaluation.label_names),
        "n_documents": len({block.document for block in evaluation.blocks}),
        "scores": asdict(score(evaluation.counts)),
        "intervals_95": asdict(bootstrap(evaluation.blocks)),
        "by_source": brief_scores(evaluation.blocks, "source"),
        "calibration": {name: bins_to_json(bins) for name, bins in evaluation.calibration.items()},
        **({"casing": letters} if letters else {}),
        "speed": {
            "seconds": round(seconds, 2),
            "words": evaluation.n_words,
            "words_per_second": round(evaluation.n_words / seconds, 1) if seconds else None,
        },
        "blocks": pack_blocks(evaluation.blocks),
    }


def read_result(path: Path) -> dict[str, Any]:
    """An earlier result.

    Raises:
        ValueError: if the file holds none of this format.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"Expected a result of evaluate.py in {path}, could not read it: {error}") from error
    if not isinstance(found, dict) or found.get("format") != 3 or "blocks" not in found:
        raise ValueError(f"Expected a result of evaluate.py in {path}, it holds something else. Evaluate again.")
    return found


def check_same_test(data_sha256: str, label_names: Sequence[str], earlier: Mapping[str, Any]) -> None:
    """Check that an earlier result is of the same texts and labels.

    Raises:
        ValueError: if it is not.
    """
    for what, expected, got in (
        ("data", data_sha256, earlier["signature"]["data_sha256"]),
        ("labels", list(label_names), earlier["label_names"]),
    ):
        if expected != got:
            raise ValueError(
                f"Expected --against to name a result on the same {what}, {expected}, got {got}. Evaluate the earlier "
                "model with the same --benchmark and --limit."
            )


def compare(result: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """How much better a result is than an earlier one on the same test, and which one that was.

    Raises:
        ValueError: if their data, labels or blocks differ.
    """
    check_same_test(result["signature"]["data_sha256"], result["label_names"], earlier)
    new, old = (unpack_blocks(one["blocks"], one["label_names"]) for one in (result, earlier))
    signed = {key: earlier["signature"][key] for key in ("model", "model_sha256", "commit")}
    return {**signed, **asdict(paired_bootstrap(new, old))}


def brief_scores(blocks: Sequence[Block], key: str) -> dict[str, dict[str, Any]]:
    """Words, F1 and marks of every `"document"` or `"source"`."""
    found = {}
    for name, counts in by_key(blocks, key).items():
        overall = micro(counts)
        found[name] = {"n_words": counts.n_words, "f1": round(overall.f1, 4), "n_marks": overall.n_reference}
    return found


def pack_blocks(blocks: Sequence[Block]) -> dict[str, Any]:
    """The counts of all blocks as JSON can hold them.

    Each row is: index of the document, index of the source, number of the block; then index and value in turn of what
    is not 0 in `Counts.numbers`, read row by row.
    """
    documents = {name: index for index, name in enumerate(dict.fromkeys(block.document for block in blocks))}
    sources = {name: index for index, name in enumerate(dict.fromkeys(block.source for block in blocks))}
    rows = []
    for block in blocks:
        numbers = block.counts.numbers.ravel()
        used = numbers.nonzero()[0]
        pairs = np.stack([used, numbers[used]], axis=1).ravel().tolist()
        rows.append([documents[block.document], sources[block.source], block.block, *pairs])
    return {"documents": list(documents), "sources": list(sources), "counts": rows}


def unpack_blocks(packed: dict[str, Any], label_names: Sequence[str]) -> list[Block]:
    """The blocks that `pack_blocks` wrote.

    Raises:
        ValueError: if a row is damaged, or of other labels.
    """
    names, blocks = tuple(label_names), []
    try:
        for document, source, number, *pairs in packed["counts"]:
            numbers = np.zeros((2 * len(names) + 1, len(names)), dtype=np.int64)
            numbers.reshape(-1)[pairs[::2]] = pairs[1::2]
            found = packed["documents"][document], packed["sources"][source]
            blocks.append(Block(*found, number, Counts(names, numbers)))
    except (IndexError, ValueError, TypeError) as error:
        raise ValueError(f"Expected counts of blocks over {names}, got: {error}. Evaluate again.") from error
    return blocks


def write_result(result: dict[str, Any], path: Path) -> None:
    """Write a result in lines, with the blocks on one line of their own; whole or not at all."""
    text = json.dumps({**result, "blocks": None}, ensure_ascii=False, indent=1)
    blocks = json.dumps(result["blocks"], ensure_ascii=False)
    text = text.replace('"blocks": null', f'"blocks": {blocks}')
    write_whole(path, (text + "\n").encode(), force=True)


def file_name(benchmark: str) -> str:
    """A benchmark's name, or a path, as the name of a file."""
    return Path(benchmark).name.removesuffix(".gz").replace(".", "-")
