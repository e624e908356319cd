"""What transformers knows of us after the import."""

import json
import subprocess
import sys

import pytest
from transformers import pipeline

from punctuation_restoration import registration

NO_MODEL = """
import punctuation_restoration.registration as registration
registration.DEFAULT_MODEL = registration.HUB_MODEL
from transformers import pipeline
pipeline("punctuation-restoration")
"""


def test_without_a_model_and_offline_the_error_says_how_to_get_one(tmp_path):
    environment = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", NO_MODEL], env=environment, capture_output=True, text=True, cwd=_root()
    )
    assert done.returncode == 1
    assert "hf download" in done.stderr.splitlines()[-1]


def test_registering_twice_is_harmless():
    registration.register_configuration()
    registration.register_model()
    registration.register_task()


def test_a_saved_pipeline_names_the_task_and_no_folder_of_this_machine(tiny_pipeline, tmp_path):
    tiny_pipeline.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert list(config["custom_pipelines"]) == ["punctuation-restoration"]
    assert "default" not in config["custom_pipelines"]["punctuation-restoration"]
    assert str(registration.CHECKOUT_MODEL.parent) not in (tmp_path / "config.json").read_text()


def test_without_a_tokenizer_the_error_says_so(tiny_model, tmp_path):
    tiny_model.save_pretrained(tmp_path)
    with pytest.raises((ValueError, OSError), match="okenizer"):
        pipeline("punctuation-restoration", model=str(tmp_path))


def test_importing_loads_nothing_heavy_beyond_transformers():
    code = "import sys, torch, transformers.pipelines; before = set(sys.modules); import punctuation_restoration; "
    new = _output(code + "print(*{name.split('.')[0] for name in set(sys.modules) - before})").split()
    assert not set(new) & {"jieba", "accelerate", "datasets", "gradio", "matplotlib", "openvino", "onnxruntime", "ray"}


@pytest.mark.parametrize(
    "code",
    [
        "import punctuation_restoration",
        "from punctuation_restoration import DEFAULT_MODEL",
        "import sys; sys.argv = ['punctuate', '--help']; import contextlib, io\n"
        "from punctuation_restoration.cli.punctuate import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main()",
    ],
    ids=["import", "default model", "punctuate --help"],
)
def test_neither_torch_nor_transformers_is_loaded_before_it_is_needed(code):
    loaded = _output(code + "\nimport sys; print(*sys.modules)").split()
    assert "punctuation_restoration" in loaded
    assert not {"torch", "transformers"} & set(loaded)


@pytest.mark.parametrize(
    "imports",
    [
        "from transformers.pipelines import PIPELINE_REGISTRY as R; import punctuation_restoration",
        "import punctuation_restoration.modeling.modeling_punctuation; "
        "from transformers.pipelines import PIPELINE_REGISTRY as R",
    ],
    ids=["transformers first", "our model first"],
)
def test_the_task_is_there_whatever_is_imported_first(imports):
    assert _output(f"{imports}; print('punctuation-restoration' in R.get_supported_tasks())").split() == ["True"]


def _output(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=_root()).stdout


def _root() -> str:
    return str(registration.CHECKOUT_MODEL.parents[1])
