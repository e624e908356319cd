"""The module for the `evaluate` library, loaded from outside the root, where `evaluate.py` does not shadow it."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from punctuation_restoration.evaluation.counts import count_labels
from punctuation_restoration.evaluation.scores import score

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ["O", "COMMA", "PERIOD", "O", "QUESTION", "PERIOD"]
PREDICTED = ["O", "COMMA", "PERIOD", "COMMA", "PERIOD", "PERIOD"]
# The root comes last on the path, so that `evaluate` is the library.
CODE = """
import json, sys
sys.path.append(sys.argv[1])
import evaluate
metric = evaluate.load(sys.argv[2])
rows = json.loads(sys.argv[3])
print(json.dumps(metric.compute(references=[rows[0]], predictions=[rows[1]])))
"""


def test_the_metric_module_gives_the_same_numbers(tmp_path):
    try:
        importlib.metadata.version("evaluate")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the library `evaluate`, for which this module is, is not installed")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PYTHONPATH": ""}
    arguments = [
        str(ROOT),
        str(ROOT / "punctuation_restoration" / "evaluation" / "punctuation_f1"),
        json.dumps([REFERENCE, PREDICTED]),
    ]
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    scores = score(count_labels(REFERENCE, PREDICTED, ("O", "COMMA", "PERIOD", "QUESTION")))
    assert found["micro_f1"] == scores.micro.f1 == pytest.approx(2 * 3 / (5 + 4))
    assert found["macro_f1"] == scores.macro.f1
    assert found["weighted_f1"] == scores.weighted.f1
    assert found["comma_precision"] == scores.marks["COMMA"].precision == 0.5
    assert (found["n_words"], found["end_text_f1"]) == (6, 1.0)
