"""Results of several programs in one file."""

import json
from pathlib import Path

import pytest

from benchmarks.gathered import main

RESULT = {
    "benchmark": "iwslt2012-dev", "signature": {"commit": "abc"}, "scores": {"micro": {"f1": 0.7, "recall": 0.6}},
    "against": {"model": "x", "micro": -0.01, "interval_95": [-0.02, 0.0], "unit": "documents"},
}  # fmt: skip


def test_what_was_found_is_kept_and_the_rest_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "iwslt2012-dev.json").write_text(json.dumps(RESULT))
    (folder / "questions.json").write_text(json.dumps({"signature": {}, "sets": {"ms-spoken-valid": {"recall": 0.5}}}))
    assert main([f"new={folder}", "--out", str(tmp_path / "out.json")]) == 0
    assert json.loads((tmp_path / "out.json").read_text())["new"] == {
        "sets": {
            "iwslt2012-dev": {
                "micro_f1": 0.7, "against": {"model": "x", "micro": -0.01, "interval_95": [-0.02, 0.0]},
            }
        },
        "questions": {"ms-spoken-valid": {"recall": 0.5}},
        "signature": {"commit": "abc"},
    }  # fmt: skip
    with pytest.raises(SystemExit):
        main([f"empty={tmp_path / 'nothing'}", "--out", str(tmp_path / "out.json")])
    assert "found none" in capsys.readouterr().err
