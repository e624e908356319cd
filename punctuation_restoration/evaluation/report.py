"""Results, as written to JSON -> tables for the terminal, in plain text."""

from collections.abc import Sequence

from punctuation_restoration.evaluation.result_files import Result
from punctuation_restoration.evaluation.scores import RATES

KINDS = {  # of "overall", and places in the text, as they are shown
    "micro": "micro",
    "macro": "macro",
    "weighted": "weighted",
    "mid_text": "mid-text",
    "end_text": "end of text",
}
NUMBERS = ("n_reference", "n_predicted", "n_correct")


def overview(results: Sequence[Result]) -> str:
    """One line a benchmark: micro-F1 with its interval, and in points the gain over an earlier result."""
    rows = []
    for result in results:
        gained = ""
        if gain := result.get("against"):
            points = [100 * share for share in (gain["micro"], *gain["interval_95"])]
            gained = "{:+.2f} ({:+.2f} to {:+.2f})".format(*points)
        interval = _interval(result["intervals_95"]["micro"])
        f1 = percent(result["scores"]["micro"]["f1"])
        rows.append([result["benchmark"], f1, interval, gained])
    return text_table("F1 (%)", ["benchmark", "micro", "95 %", "against (95 %)"], rows)


def details(result: Result) -> str:
    """The table of one benchmark: each mark, the kinds of "overall", places in the text, and capitals."""
    scores, intervals = result["scores"], result["intervals_95"]
    error = result["calibration"]["all_words"]["expected_calibration_error"]
    shown = scores["marks"] | {name: scores[kind] for kind, name in KINDS.items()}
    shown |= {f"capitals, marks of the {whose}": found for whose, found in result["casing"].items()}
    ends = intervals["marks"] | {"micro": intervals["micro"]}
    rows = []
    for name, score in shown.items():
        rates = [percent(score[rate]) for rate in RATES]
        numbers = [f"{score[number]:,}" if number in score else "" for number in NUMBERS]
        rows.append([name, *rates, _interval(ends.get(name, ())), *numbers])
    title = (
        f"{result['benchmark']}: {scores['n_words']:,} units in {result['n_documents']:,} documents; "
        f"intervals over {intervals['n_units']:,} {intervals['unit']}\n"
        f"slot error rate {percent(scores['slot_error_rate'])} %, calibration error {percent(error)} %"
    )
    head = ["", "precision", "recall", "F1", "95 %", "in reference", "predicted", "right"]
    return text_table(title, head, rows)


def percent(share: float | None) -> str:
    """A share as percent with one decimal place; a dash for None."""
    return "–" if share is None else f"{100 * share:.1f}"


def _interval(ends: Sequence[float]) -> str:
    return "–".join(map(percent, ends))


def text_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A title and aligned columns, the first one to the left; the others hold numbers."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [title, ""]
    for row in (head, ["-" * width for width in widths], *rows):
        cells = list(map(str.rjust, row, widths))
        cells[0] = row[0].ljust(widths[0])
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, ""])
