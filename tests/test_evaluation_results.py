"""The files in `results/`: their scores follow from their counts."""

from pathlib import Path

import pytest

from punctuation_restoration.evaluation.result_files import read_result

ROOT = Path(__file__).resolve().parents[1]
SCORED = [path for path in sorted((ROOT / "results").glob("*.json")) if '"benchmark"' in path.read_text("utf-8")]


@pytest.mark.parametrize("path", SCORED, ids=lambda path: path.stem)
def test_scores_follow_from_the_counts_of_a_file(path: Path) -> None:
    result = read_result(path)
    n_correct, n_reference, n_predicted = map(sum, zip(*result["units"], strict=True))
    micro = result["scores"]["micro"]
    assert (n_correct, n_reference, n_predicted) == (micro["n_correct"], micro["n_reference"], micro["n_predicted"])
    assert micro["f1"] == pytest.approx(2 * n_correct / (n_reference + n_predicted))
    rows = result["confusion"]
    assert sum(map(sum, rows)) == result["scores"]["n_words"]
    assert [sum(row) for row in rows[1:]] == [mark["n_reference"] for mark in result["scores"]["marks"].values()]
    low, high = result["intervals_95"]["micro"]
    assert low < micro["f1"] < high
    assert len(result["units"]) == result["intervals_95"]["n_units"]
