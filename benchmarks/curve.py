"""The learning curve of the default model: benchmark micro-F1 against the words that training has seen, stage by stage.

    python benchmarks/curve.py --stage "late masks" --log runs/late/log.jsonl      adds a stage, draws the picture
    python benchmarks/curve.py                                                    draws the picture again

Takes the logs of a stage's runs and the figures in `results/`, which `evaluate.py` wrote for the model at its end;
writes `results/curve.json` and a picture with the targets, and prints what a doubling of the words has brought.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import linear_regression
from typing import Any

from punctuation_restoration.training.experiments import read_log, seen

ROOT = Path(__file__).resolve().parents[1]
TARGETS = {
    "iwslt2011-test": 73.0,
    "iwslt2011-test-asr": 62.0,
    "zh-tst2011+2012-punctuated": 58.0,
    "ms-news-test": 68.0,
    "ms-spoken-valid": 58.0,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Add a stage if one is named, draw, print."""
    parser = argparse.ArgumentParser(description="The learning curve of the default model.")
    parser.add_argument("--stage", help="name of a stage to add, with the scores that are in --results now")
    parser.add_argument("--log", nargs="+", default=[], help="log.jsonl of each run of the stage")
    parser.add_argument("--results", default=str(ROOT / "results"), help="folder with the benchmarks' JSON files")
    parser.add_argument("--picture", default=str(ROOT / "docs" / "images" / "curve.png"))
    args = parser.parse_args(argv)
    results = Path(args.results)
    file = results / "curve.json"
    curve = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"stages": []}
    if args.stage:
        before = curve["stages"][-1]["words"] if curve["stages"] else 0
        words = sum(seen(read_log(Path(log)), "words") for log in args.log)
        curve["stages"].append({"stage": args.stage, "words": before + words, **scores(results)})
        file.write_text(json.dumps(curve, indent=1) + "\n", encoding="utf-8")
    draw(curve["stages"], Path(args.picture))
    for name, gain in gains(curve["stages"]).items():
        print(f"{name}: {gain:+.1f} points for each doubling of the words")
    return 0


def scores(results: Path) -> dict[str, Any]:
    """Micro-F1 in points of 100 by benchmark, and the model that has them.

    Raises:
        ValueError: if the files do not speak of one model.
    """
    found = {name: json.loads((results / f"{name}.json").read_text(encoding="utf-8")) for name in TARGETS}
    models = {row["signature"]["model_sha256"] for row in found.values()}
    if len(models) > 1:
        raise ValueError(f"Expected results of one model in {results}, got {len(models)}. Run evaluate.py for all.")
    f1 = {name: round(100 * row["scores"]["micro"]["f1"], 2) for name, row in found.items()}
    return {"model_sha256": models.pop(), "f1": f1}


def gains(stages: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Points for each doubling of the words: the slope of a straight line through a benchmark's stages."""
    slopes = {}
    for name in TARGETS:
        points = [(math.log2(row["words"]), row["f1"][name]) for row in stages if name in row["f1"]]
        if len(points) > 1:
            slopes[name] = linear_regression(*zip(*points, strict=True)).slope
    return slopes


def draw(stages: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Lines with a dot a stage, and the targets dotted in the same colour."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5.6), layout="constrained")
    axes = figure.add_subplot()
    for number, (name, target) in enumerate(TARGETS.items()):
        points = [(row["words"] / 1e6, row["f1"][name]) for row in stages if name in row["f1"]]
        axes.plot(*zip(*points, strict=True), marker="o", color=f"C{number}", label=f"{name} (asked: {target:g})")
        axes.axhline(target, color=f"C{number}", linestyle=":", linewidth=1)
    ticks = [row["words"] / 1e6 for row in stages]
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [f"{tick:.1f}" for tick in ticks])
    axes.set(xlabel="words of all three languages that training has seen, millions", ylabel="micro-F1")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    raise SystemExit(main())
