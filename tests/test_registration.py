"""What transformers knows of us after the import."""

import json
import subprocess
import sys

import pytest

from punctuation_restoration import default_models

# transformers comes first, then we; in the end a pipeline is asked for where no model is.
TRANSFORMERS_FIRST = """
import json, sys
from transformers.pipelines import PIPELINE_REGISTRY
import torch
before = set(sys.modules)
import punctuation_restoration
new = sorted({name.split(".")[0] for name in set(sys.modules) - before})
tasks = PIPELINE_REGISTRY.get_supported_tasks()
from punctuation_restoration import default_models, registration
registration.DEFAULT_MODEL = default_models.HUB_MODEL
from transformers import pipeline
try:
    pipeline("punctuation-restoration")
except Exception as error:
    print(json.dumps({"new": new, "tasks": tasks, "error": str(error)}))
"""
OURS_FIRST = """
import punctuation_restoration.pipeline.restoration_pipeline
from transformers import AutoConfig, AutoModelForTokenClassification
from transformers.pipelines import PIPELINE_REGISTRY
config = AutoConfig.for_model("punctuation-restoration")
assert type(config) in AutoModelForTokenClassification._model_mapping
print(*PIPELINE_REGISTRY.get_supported_tasks())
"""
LIGHT = """
import contextlib, io, sys
from punctuation_restoration.cli import commands, punctuate
for main, given in (
    (punctuate.main, "--help"), (punctuate.main, "no.srt"), (commands.main, "--help"),
    (commands.main, "evaluate --help"), (commands.main, "evaluate --list"), (commands.main, "evaluate --benchmark no"),
    (commands.main, "prepare --texts no --tokenizer no --output no"), (commands.main, "train --data no --output no"),
    (commands.main, "export --output ."),
):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(given.split())
print(*sys.modules)
"""


@pytest.mark.slow
def test_where_transformers_is_imported_first_the_task_is_there_and_nothing_heavy_is_loaded(tmp_path):
    """Offline and with an empty cache, where the default model is not found."""
    found = json.loads(_output(TRANSFORMERS_FIRST, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path)))
    assert "punctuation-restoration" in found["tasks"]
    assert "punctuation_restoration" in found["new"]
    assert not set(found["new"]) & {"jieba", "accelerate", "datasets", "gradio", "matplotlib", "onnxruntime"}
    assert "hf download" in found["error"].splitlines()[-1]


@pytest.mark.slow
def test_the_task_is_there_where_ours_is_imported_first():
    """With all that it imports; `test_wheel.py` imports the package alone before transformers."""
    assert "punctuation-restoration" in _output(OURS_FIRST).split()


def test_neither_torch_nor_transformers_is_loaded_by_the_import_by_help_and_by_what_is_wrong_at_once():
    loaded = _output(LIGHT).split()
    assert "punctuation_restoration" in loaded
    assert not {"torch", "transformers"} & set(loaded)


def _output(code: str, **environment: str) -> str:
    """What a program prints that runs at the root."""
    command = [sys.executable, "-c", code]
    root, environment = default_models.CHECKPOINTS.parent, {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True).stdout


def test_a_model_of_ours_that_is_not_there_is_an_error_at_once_with_two_ways_on(tmp_path):
    ours = default_models.HUB_FAST
    code = f"from punctuation_restoration.default_models import *; find_model({ours!r})"
    with pytest.raises(subprocess.CalledProcessError) as failed:
        _output(code, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path))
    message = failed.value.stderr.splitlines()[-1]
    for told in (f"Expected the model {ours} in the cache", 'model="path/to/model"', f"hf download {ours}"):
        assert told in message


def test_a_variable_names_the_default_model_and_commands_know_the_fast_one_by_name(tmp_path, monkeypatch):
    code = "from punctuation_restoration import DEFAULT_MODEL, FAST, default_models\n"
    (tmp_path / "config.json").write_text("{}")
    told = _output(
        code + "print(DEFAULT_MODEL, default_models.find_model(), FAST)", PUNCTUATION_RESTORATION_MODEL=str(tmp_path)
    )
    assert told.split()[:2] == [str(tmp_path)] * 2
    assert told.split()[2].endswith("en-zh-ms-fast")
    monkeypatch.setattr(default_models, "FAST", str(tmp_path))
    assert default_models.find_model("fast") == str(tmp_path)
    assert default_models.find_model("me/mine") == "me/mine"
    with pytest.raises(OSError, match="got runs/mine/best, where nothing is"):
        default_models.find_model("runs/mine/best")
    (tmp_path / "best").mkdir()
    with pytest.raises(OSError, match="best in it"):
        default_models.find_model(str(tmp_path / "best"))
