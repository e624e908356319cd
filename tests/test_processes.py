"""Pipelines across processes: pickled, and alike in every run."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import pipeline

ROOT = Path(__file__).resolve().parents[1]
PRINT_FINGERPRINT = """
import sys
from datasets.fingerprint import Hasher
from transformers import pipeline
import punctuation_restoration
print(Hasher.hash(pipeline("punctuation-restoration", model=sys.argv[1], device="cpu")))
"""


def test_a_pickled_pipeline_restores_as_before(tiny_pipeline: Any) -> None:
    assert pickle.loads(pickle.dumps(tiny_pipeline))("hello 我们 you") == tiny_pipeline("hello 我们 you")


@pytest.mark.slow
def test_data_sets_find_what_they_computed_in_another_run(tiny_checkpoint: str) -> None:
    fingerprint = pytest.importorskip("datasets.fingerprint")
    restore = pipeline("punctuation-restoration", model=tiny_checkpoint, device="cpu")
    done = subprocess.run(
        [sys.executable, "-c", PRINT_FINGERPRINT, tiny_checkpoint],  # strings have other hashes there
        cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    def restored(batch: Any) -> Any:
        return restore(batch["text"])

    before = [fingerprint.Hasher.hash(given) for given in (restore, restored)]
    assert done.stdout.strip() == before[0]
    restore("hello 我们", truecase=True)
    assert [fingerprint.Hasher.hash(given) for given in (restore, restored)] == before
