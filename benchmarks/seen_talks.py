"""Learning by heart: F1 on talks that were held out beside F1 on talks that the model was trained on.

    python -m benchmarks.seen_talks --model checkpoints/en-zh-ms --stage thirteenth --words-seen 99230940

Takes a model; adds its row to `results/seen_talks.json`, in place of an earlier row of the same model. The held-out
talks are the benchmark `iwslt2012-dev`. The ids of the talks that were trained on stand in that file; a new file gets
them from `--documents`, one id a line. Each model is scored with its own thresholds. Where F1 on the talks that were
trained on grows faster than on the others, the model learns by heart.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.writing import write_json
from punctuation_restoration.cli.models import load_pipeline
from punctuation_restoration.evaluation.benchmarks import BENCHMARKS
from punctuation_restoration.evaluation.examples import Example
from punctuation_restoration.evaluation.intervals import bootstrap
from punctuation_restoration.evaluation.labels import standard_labels
from punctuation_restoration.evaluation.reference_files import digest_of, read_examples
from punctuation_restoration.evaluation.runner import evaluate_examples
from punctuation_restoration.evaluation.scores import micro
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.registration import DEFAULT_MODEL

ROOT = Path(__file__).resolve().parents[1]
HELD_OUT, SEEN = "iwslt2012-dev", "seen talks"
SOURCE = "en/ted.jsonl.gz"  # below the folder of training texts
ABOUT = (
    "micro-F1 on talks that were held out and on talks that the model was trained on, with the thresholds of each model"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Score one model and add its row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--model", help="folder of the model (default: the default model)")
    parser.add_argument("--stage", required=True, help="name of the row")
    parser.add_argument("--words-seen", type=int, required=True, help="words that training had drawn until then")
    parser.add_argument("--documents", type=Path, help="ids of the talks trained on; needed for a new file only")
    parser.add_argument("--bench-root", type=Path, default=Path("../shared/bench"), help="folder of the benchmarks")
    parser.add_argument("--data-root", type=Path, default=Path("../shared/data"), help="folder of the training texts")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "seen_talks.json")
    args = parser.parse_args(argv)
    found = json.loads(args.output.read_text(encoding="utf-8")) if args.output.is_file() else None
    ids = chosen_ids(found, args.documents)
    model = args.model or DEFAULT_MODEL
    restore = load_pipeline(model, "cpu", dtype="float32")
    examples = read_talks(restore.model.config, ids, args.bench_root, args.data_root)
    row = {"stage": args.stage, "words_seen": args.words_seen, **score(restore, examples)}
    row["signature"] = signature(model, {"slot_style": restore.model.config.slot_style}, "cpu")
    row["model_sha256"] = row["signature"].pop("model_sha256")
    result = add_row(found or new_result(ids, examples), row, examples)
    write_json(result, args.output)
    print(json.dumps(row["f1"]))
    return 0


def chosen_ids(found: Mapping[str, Any] | None, documents: Path | None) -> list[str]:
    """The ids of the talks that were trained on: of the result if there is one, else of a file.

    Raises:
        ValueError: if there is neither a result nor a file of ids.
    """
    if found is not None:
        return list(found["seen_talks"]["ids"])
    if documents is None:
        raise ValueError("Expected ids of talks that were trained on, got no earlier result. Name a file: --documents.")
    return sorted({line.strip() for line in documents.read_text(encoding="utf-8").splitlines()} - {""})


def read_talks(config: Any, ids: Sequence[str], bench_root: Path, data_root: Path) -> dict[str, list[Example]]:
    """Held-out talks, and the talks with these ids.

    Raises:
        ValueError: if a file is missing, or one of the talks is not in its file.
    """
    labels, chosen = standard_labels(config), set(ids)
    held_out = [one for file in BENCHMARKS[HELD_OUT].files for one in read_examples(bench_root / file, labels)]
    seen = read_examples(data_root / SOURCE, labels, keep=lambda row: str(row["id"]) in chosen)
    missing = set(ids) - {example.id for example in seen}
    if missing:
        raise ValueError(f"Expected the talks {sorted(missing)} in {data_root / SOURCE}, found none. Check the ids.")
    return {HELD_OUT: held_out, SEEN: seen}


def score(restore: Any, examples: Mapping[str, Sequence[Example]]) -> dict[str, Any]:
    """F1 and its 95 % interval in points of 100, for each set of talks."""
    labels = standard_labels(restore.model.config)
    f1, interval = {}, {}
    for name, talks in examples.items():
        evaluation = evaluate_examples(restore, talks, labels, n_mistakes=0)
        f1[name] = round(100 * micro(evaluation.counts).f1, 2)
        interval[name] = [round(100 * bound, 2) for bound in bootstrap(evaluation.blocks).micro]
    return {"f1": f1, "interval_95": interval}


def new_result(ids: Sequence[str], examples: Mapping[str, list[Example]]) -> dict[str, Any]:
    """A result without rows: which talks, and a digest of their words."""
    return {
        "about": ABOUT,
        "rows": [],
        "n_words": {name: sum(len(one.spans) for one in talks) for name, talks in examples.items()},
        "seen_talks": {"source": SOURCE, "ids": list(ids)},
        "signature": {"data_sha256": {name: digest_of(talks) for name, talks in examples.items()}},
    }


def add_row(result: dict[str, Any], row: dict[str, Any], examples: Mapping[str, list[Example]]) -> dict[str, Any]:
    """The result with one more row, or with a new row in place of that of the same model.

    Raises:
        ValueError: if the talks are not those of the other rows.
    """
    digests = {name: digest_of(talks) for name, talks in examples.items()}
    if digests != result["signature"]["data_sha256"]:
        raise ValueError("Expected the same talks as in the other rows, got others. Write to a new file: --output.")
    others = [one for one in result["rows"] if one["model_sha256"] != row["model_sha256"]]
    return {**result, "rows": sorted([*others, row], key=lambda one: one["words_seen"])}


if __name__ == "__main__":
    raise SystemExit(main())
