"""The learning curve of the default model: benchmark micro-F1 against the words that training has seen, stage by stage.

    python -m benchmarks.curve --stage "4: late masks" --how "7,845 steps of 640 pieces" --log runs/late/log.jsonl
    python -m benchmarks.curve                                       draws the picture and fills the table again

Takes the logs of a stage's runs and the figures in `results/`, which `evaluate.py` wrote for the model at its end.
Writes `results/curve.json`, a picture with the targets and the table of stages in `docs/log.md`, and prints what a
doubling of the words has brought. F1 on talks that were trained on comes from `seen_talks.py`, where it was run.
"""

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import linear_regression
from typing import Any

from benchmarks.arms import read_log, seen
from benchmarks.writing import put_between, write_json
from punctuation_restoration.data.summary import markdown_table

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- stages -->", "<!-- /stages -->"
TALKS = {"iwslt2012-dev": "held-out talks", "seen talks": "talks trained on"}
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
    parser.add_argument("--how", default="", help="steps, pieces a step and learning rate of that stage")
    parser.add_argument("--log", nargs="+", default=[], help="log.jsonl of each run of the stage")
    parser.add_argument("--results", default=str(ROOT / "results"), help="folder with the benchmarks' JSON files")
    parser.add_argument("--picture", default=str(ROOT / "docs" / "images" / "curve.png"))
    parser.add_argument("--document", type=Path, default=ROOT / "docs" / "log.md", help="gets the table of stages")
    args = parser.parse_args(argv)
    results = Path(args.results)
    file = results / "curve.json"
    curve = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"stages": []}
    if args.stage:
        before = curve["stages"][-1]["words"] if curve["stages"] else 0
        words = sum(seen(read_log(Path(log)), "words") for log in args.log)
        row = {"stage": args.stage, "how": args.how, "words": before + words}
        curve["stages"].append({**row, **scores(results)})
        write_json(curve, file)
    draw(curve["stages"], Path(args.picture))
    args.document.write_text(fill(args.document.read_text(encoding="utf-8"), results), encoding="utf-8")
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


def fill(text: str, results: Path) -> str:
    """The document with the table of stages, as `curve.json` and `seen_talks.json` in a folder tell it."""
    stages = json.loads((results / "curve.json").read_text(encoding="utf-8"))["stages"]
    file = results / "seen_talks.json"
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"] if file.is_file() else []
    return put_between(text, BEGIN, END, table(stages, {row["model_sha256"]: row["f1"] for row in rows}))


def table(stages: Sequence[Mapping[str, Any]], talks: Mapping[str, Mapping[str, float]]) -> str:
    """Micro-F1 by stage in Markdown, with the targets in the last row. `talks`: F1 on talks by digest of the model."""
    head = ["stage", "trained", "million words", *(f"`{name}`" for name in TARGETS), *TALKS.values()]
    lines = []
    for row in stages:
        own = talks.get(row["model_sha256"], {})
        found = [*(row["f1"][name] for name in TARGETS), *map(own.get, TALKS)]
        cells = [row["stage"], row.get("how", ""), f"{row['words'] / 1e6:.1f}"]
        cells += ["" if f1 is None else f"{f1:.1f}" for f1 in found]
        lines.append(cells)
    asked = f"| asked | | | {' | '.join(f'{f1:g}' for f1 in TARGETS.values())} | | |"
    return markdown_table(head, lines, n_left=2) + "\n" + asked


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
