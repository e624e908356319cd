"""Results of `speed.py`, `settings.py` and `stages.py` -> tables and sentences in Markdown, and a picture.

In a document, what stands between `<!-- speed -->` and `<!-- /speed -->` becomes the table of all systems; `targets`,
`backends`, `contexts` and `stages` name the other parts. Measures nothing.
"""

import json
import re
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.data.summary import markdown_table

BACKENDS = {
    "torch": ("nothing", "exact; the reference"),
    "onnx": ("`.[fast]`", "the same text"),
    "onnx-int8": ("`.[fast]`", "nearly the same text"),
}
TARGETS = (  # name, system and what it is compared with, text, at least, aim
    ("fastest backend against XLM-R-base", "onnx-int8", "xlmr-base", "talk", 10, 40),
    ("fastest backend against XLM-R-large", "onnx-int8", "xlmr-large", "talk", 30, 120),
    ("torch backend against XLM-R-base", "torch", "xlmr-base", "talk", 3, 8),
    ("one sentence, fastest backend against XLM-R-base", "onnx-int8", "xlmr-base", "sentence", 5, 10),
    ("tagging against slot filling, torch (time)", "tagging-torch", "torch", "talk", 1.7, 1.2),
    ("floor against fastest backend (time)", "floor", "onnx-int8", "talk", 2, 1.3),
)


def processor_of(run: dict[str, Any]) -> str:
    """The name of the processor that a run was measured on, empty where it is not known."""
    return run.get("signature", {}).get("machine", {}).get("processor", "")


def ratios(run: dict[str, Any]) -> list[dict[str, Any]]:
    """The targets that a run can tell about: how many times as fast the first system is as the second."""
    rows = []
    for about, one, other, text, least, aim in TARGETS:
        speeds = [
            run["systems"].get(name, {}).get("texts", {}).get(text, {}).get("words_per_second") for name in (one, other)
        ]
        if all(speeds):
            is_cost = least > aim
            ratio = round(speeds[0] / speeds[1], 2)
            reached = "yes" if (ratio <= least if is_cost else ratio >= least) else "no"
            rows.append(
                {"ratio": about, "text": text, "measured": ratio, "at_least": least, "aim": aim, "met": reached}
            )
    return rows


def table(runs: Sequence[dict[str, Any]]) -> str:
    """One table in Markdown: a row a system, words a second on the talk in each run, the rest from the first run.

    Words a second are followed by the ratio to XLM-R-base in the same run, where that ran.
    """
    head = ["system", *map(_named, runs), "one sentence", "start-up", "peak memory", "size"]
    rows = []
    for name, row in runs[0]["systems"].items():
        cells = [_talk(run, name) for run in runs]
        delay = row["texts"].get("sentence", {}).get("p50_ms")
        cells += ["–" if delay is None else f"{delay:.0f} ms", f"{row['start_up_s']:.0f} s"]
        cells += [f"{row['peak_memory_mb']:,} MB", f"{row['size_mb']:,.0f} MB"]
        rows.append([f"`{name}`", *cells])
    return markdown_table(head, rows)


def targets_text(runs: Sequence[dict[str, Any]]) -> str:
    """Which of the ratios asked for were measured, and where one is not met."""
    rows = [(run, row) for run in runs for row in ratios(run)]
    missed = [
        f"{row['ratio']}: {row['measured']} where {row['at_least']} was asked ({_named(run)})"
        for run, row in rows
        if row["met"] == "no"
    ]
    told = f"Of {len(rows)} ratios asked for, {len(rows) - len(missed)} are met. Missed: {'; '.join(missed) or 'none'}."
    return textwrap.fill(told, 120)


def _named(run: dict[str, Any]) -> str:
    threads = f"{run['threads']} thread{'s' if run['threads'] > 1 else ''}"
    return ", ".join(filter(None, (processor_of(run), threads)))


def _talk(run: dict[str, Any], name: str) -> str:
    """Words a second of a system on the talk, and how many times that is of XLM-R-base."""
    speed, peer = (
        run["systems"].get(one, {}).get("texts", {}).get("talk", {}).get("words_per_second")
        for one in (name, "xlmr-base")
    )
    if speed is None:
        return "–"
    return f"{speed:,.0f} ({speed / peer:.1f} ×)" if peer else f"{speed:,.0f}"


def draw(result: dict[str, Any], path: Path) -> None:
    """Words a second on the talk, one bar a system."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    run = result["runs"][0]
    rows = {
        name: row["texts"]["talk"]["words_per_second"] for name, row in run["systems"].items() if "talk" in row["texts"]
    }
    names = sorted(rows, key=rows.__getitem__)
    figure, axes = pyplot.subplots(figsize=(8, 0.45 * len(names) + 1), layout="constrained")
    ours = ["#2a7f62" if name in BACKENDS else "#9aa5a0" for name in names]
    bars = axes.barh(names, [rows[name] for name in names], color=ours)
    axes.bar_label(bars, fmt="{:,.0f}", padding=3)
    axes.set_xlabel(f"words a second, a talk of 5,000 words, {run['threads']} threads ({run['clock']} time)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12)
    figure.savefig(path, dpi=120)


def fill(document: str, result: dict[str, Any], results: Path) -> str:
    """The document with its tables, as the results tell them; a table whose results are missing stays as it is."""
    makers: dict[str, Callable[[], str]] = {
        "speed": lambda: table(result["runs"]),
        "targets": lambda: targets_text(result["runs"]),
        "backends": lambda: backends_table(result["runs"], _read(results / "backends.json")),
        "contexts": lambda: contexts_text(_read(results / "contexts.json")),
        "stages": lambda: stages_text(_read(results / "stages.json")),
    }
    for name, make in makers.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if pattern.search(document) and (name in ("speed", "targets") or (results / f"{name}.json").is_file()):
            made = make().strip("\n")
            document = pattern.sub(lambda found, made=made: f"{found.group(1)}{made}\n{found.group(2)}", document)
    return document


def backends_table(runs: Sequence[dict[str, Any]], accuracy: dict[str, Any]) -> str:
    """What each backend gives and costs."""
    systems = runs[0]["systems"]
    rows = {row["backend"]: row for row in accuracy["rows"]}
    first = next(iter(rows.values()))
    lines = [
        "| backend | install | words a second | one sentence | file | decisions changed | F1 |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for name, (install, text) in BACKENDS.items():
        if name not in systems:
            continue
        texts, row = systems[name]["texts"], rows.get(name)
        times = texts["talk"]["words_per_second"] / systems["torch"]["texts"]["talk"]["words_per_second"]
        changed, f1 = "not measured", text
        if row is not None:
            share = sum(row["changed_percent"].values()) / len(row["changed_percent"])
            worst = max(first["f1"][one] - row["f1"][one] for one in row["f1"])
            changed = f"{share:.2f} %"
            f1 = text if row is first else f"{text}; {row['mean_f1'] - first['mean_f1']:+.2f}, at worst {-worst:+.2f}"
        lines.append(
            f"| `{name}` | {install} | {texts['talk']['words_per_second']:,.0f} ({times:.1f} ×) | "
            f"{texts['sentence']['p50_ms']:.0f} ms | {systems[name]['size_mb']:.0f} MB | {changed} | {f1} |"
        )
    return "\n".join(lines)


def contexts_text(found: dict[str, Any]) -> str:
    """Mean F1 and pieces read, by contexts."""
    rows = []
    for row in found["rows"]:
        pieces = sum(row["pieces_per_word"].values()) / len(row["pieces_per_word"])
        widths = f"{row['left_context']} and {row['right_context']} words"
        rows.append(f"{widths}: F1 {row['mean_f1']:.1f}, {pieces:.2f} pieces read a word")
    return textwrap.fill("; ".join(rows) + ".", 120)


def stages_text(found: dict[str, Any]) -> str:
    """The share of time that the encoder takes in each language, and words a second."""
    told = []
    for backend, texts in found["backends"].items():
        rows = (
            f"{language} {row['encoder_percent']:.0f} % ({row['words_per_second']:,} words a second)"
            for language, row in texts.items()
        )
        told.append(f"`{backend}`: {', '.join(rows)}")
    return textwrap.fill("; ".join(told) + ".", 120)


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
