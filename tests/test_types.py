"""The check of types sees wrong calls from any folder into any other."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# One wrong call into each folder, and what mypy says of it.
WRONG = {
    "pipeline.windows import plan_windows": ('plan_windows("wrong", wrong=1)', "Unexpected keyword"),
    "modeling.configuration_punctuation import SLOT_STYLES": ("SLOT_STYLES.wrong", "has no attribute"),
    "data.shards import hash_words": ("hash_words(1)", "incompatible type"),
    "evaluation.intervals import bootstrap": ("bootstrap(wrong=1)", "Unexpected keyword"),
    "training.settings import TrainingSettings": ('TrainingSettings(layers="six")', "incompatible type"),
    "transcripts.errors import FormatError": ("FormatError(1, 2, 3, 4, 5)", "Too many arguments"),
    "cli.live import restore_live": ("restore_live(wrong=1)", "Unexpected keyword"),
}


@pytest.mark.slow
def test_a_wrong_call_between_folders_is_an_error(tmp_path):
    lines = [f"from punctuation_restoration.{place}" for place in WRONG]
    lines += [call for call, _ in WRONG.values()]
    (tmp_path / "wrong.py").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "typecheck.py"), str(tmp_path / "wrong.py")],
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    for number, (call, said) in enumerate(WRONG.values(), len(WRONG) + 1):
        assert any(said in line for line in done.stdout.splitlines() if f"wrong.py:{number}:" in line), (
            call + done.stdout
        )
