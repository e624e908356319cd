"""What other systems report, beside our results on the same or the nearest test, as Markdown tables.

The figures are those of the papers (`published.tsv`), ours those of `results/`. Papers average over the marks in
different ways, so each is compared with the same average of ours.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.evaluation.report import percent
from tools.documents import markdown_table

PUBLISHED = Path(__file__).with_name("published.tsv")
MODELS = {"ours": "default", "ours, fast": "fast"}
# What README shows. The talks of zh-dev2010 are mostly captioned without marks, so no F1 there means much.
TEXTS = {
    "iwslt2011-test": "English talks",
    "iwslt2011-test-asr": "English talks, as recognised",
    "zh-tst2011+2012-punctuated": "Mandarin talks",
    "ms-news-test": "Malay news",
}
Ours = Mapping[str, tuple[str, Sequence[dict[str, Any]]]]  # by model: how many weights, and what evaluate.py wrote


def published_table(ours: Ours, path: Path = PUBLISHED) -> str:
    """Rows by test, the best first; a test that we have no result of shows the published figures alone."""
    rows: dict[str, list[dict[str, str]]] = {}
    for row in _read(path):
        rows.setdefault(row["benchmark"], []).append(row)
    lines = []
    for name, own in rows.items():
        for average in dict.fromkeys(row["average"] for row in own):
            for model, (weights, results) in ours.items():
                f1s = [percent(one["scores"][average]["f1"]) for one in results if one["benchmark"] == name]
                about = {"system": f"**{model}**", "average": average, "differs": "", "weights": weights}
                own += [{**about, "f1": f1} for f1 in f1s]
        for row in sorted(own, key=lambda row: -float(row["f1"])):
            lines.append([f"`{name}`", *(row[key] for key in ("system", "average", "differs", "weights", "f1"))])
    return markdown_table(["test", "system", "average", "what differs", "weights", "F1"], lines, n_left=4)


def nearest_table(ours: Ours, path: Path = PUBLISHED) -> str:
    """One row a test of `TEXTS`: F1 of our models, the smallest first, and the best published one by that average."""
    by_model = [{one["benchmark"]: one["scores"] for one in results} for _, results in ours.values()]
    published = _read(path)
    rows = []
    for name, about in TEXTS.items():
        theirs = [row for row in published if row["benchmark"] == name]
        if not theirs:
            continue
        best = max(theirs, key=lambda row: float(row["f1"]))
        average = best["average"]
        f1s = [f"**{percent(scores[name][average]['f1'])}**" if name in scores else "–" for scores in by_model]
        weights = f", {best['weights']}" if best["weights"] else ""
        rows.append([f"{about} (`{name}`)", *reversed(f1s), best["f1"], f"{best['system']}{weights}", average])
    models = [f"{MODELS[model]} ({weights})" for model, (weights, _) in ours.items()]
    head = ["text", *reversed(models), "best published", "by", "average"]
    return markdown_table(head, rows)


def models_line(ours: Ours, path: Path = PUBLISHED) -> str:
    """One point of a list: F1 and weights of our models on the first test of the file."""
    theirs = _read(path)[0]
    told = []
    for model, (weights, results) in ours.items():
        f1s = [one["scores"][theirs["average"]]["f1"] for one in results if one["benchmark"] == theirs["benchmark"]]
        told += [f"the {MODELS[model]} model has F1 {percent(f1)} with {weights} weights" for f1 in f1s]
    where = "Both run offline, on a plain CPU ([docs/speed.md](docs/speed.md))."
    return f"* **Accurate, or fast.** On English talks {', '.join(told)}. {where}"


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))
