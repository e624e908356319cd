"""What several programs said of some models, in one file.

    python evaluate.py --model M --limit 30000 --benchmark iwslt2012-dev en-casing-valid --output runs/m
    python -m benchmarks.questions --model M --output runs/m/questions.json
    python -m benchmarks.streaming --model M --output runs/m/streaming.json
    python -m benchmarks.gathered "default model=runs/base" "student trial=runs/m" --out results/student_trial.json
    python -m benchmarks.gathered "default model=runs/base" "student=runs/n" --out results/student.json
    python -m benchmarks.gathered "mlm-punct=runs/mlm" --out results/mlm_punct.json
    python -m benchmarks.gathered "student=runs/n" "mean of teachers=runs/o" --out results/mean_teachers.json
    python -m benchmarks.gathered "Gemma teacher=runs/g" --out results/gemma.json
    python -m benchmarks.thresholds --model M --benchmark iwslt2012-dev --output runs/u/thresholds.json
    python -m benchmarks.gathered "student=runs/u" --out results/unseen_text.json

Of every benchmark in a folder it keeps micro-F1, the comparison with `--against` and the scores of capitals; of the
other programs what they found. A folder may lack any of them.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.writing import write_json

ROOT = Path(__file__).resolve().parents[1]
OTHERS = {"questions": "sets", "streaming": "files", "thresholds": "after"}  # file names, and the key of what was found


def gather(folder: Path) -> dict[str, Any]:
    """What the files of a folder say of a model.

    Raises:
        ValueError: if no result of these programs is there.
    """
    found: dict[str, Any] = {"sets": {}}
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        if path.stem in OTHERS:
            found[path.stem] = result[OTHERS[path.stem]]
        elif "benchmark" in result:
            row = {"micro_f1": result["scores"]["micro"]["f1"]}
            if "against" in result:
                row["against"] = {key: result["against"][key] for key in ("model", "micro", "interval_95")}
            if "casing" in result:
                row["casing"] = result["casing"]
            found["sets"][result["benchmark"]] = row
            found["signature"] = result["signature"]
    if found == {"sets": {}}:
        raise ValueError(f"Expected results of evaluate.py in {folder}, found none. Run it with --output {folder}.")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Gather, and write."""
    parser = argparse.ArgumentParser(description="One file of what several programs said of some models.")
    parser.add_argument("models", nargs="+", metavar="NAME=FOLDER", help="models, and the folders of their results")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "student_trial.json")
    args = parser.parse_args(argv)
    pairs = (model.partition("=")[::2] for model in args.models)
    try:
        write_json({name: gather(Path(folder)) for name, folder in pairs}, args.out)
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
