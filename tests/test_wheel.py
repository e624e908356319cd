"""What an installed copy holds: every folder of code, the papers, and neither weights nor tests."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import punctuation_restoration

ROOT = Path(punctuation_restoration.__file__).resolve().parents[1]
FOLDERS = ("modeling", "pipeline")
INSIDE = ("cli", "data", "evaluation", "training", "transcripts")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with wheel and source distribution, built without a network."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: pip install hatchling")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)],
        cwd=ROOT, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return folder


def tracked(*patterns: str) -> set[str]:
    """Files of the project under version control."""
    return set(subprocess.check_output(["git", "ls-files", *patterns], cwd=ROOT, text=True).splitlines())


def test_the_wheel_holds_all_code_and_papers_and_nothing_else_and_asks_for_little(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    modules = tracked(*(f"{folder}/*.py" for folder in FOLDERS))
    papers = {f"punctuation_restoration/{name}" for name in ("py.typed", "LICENSE", "model_card.md")}
    assert {f"punctuation_restoration/{name}" for name in modules} | papers <= names
    assert tracked("punctuation_restoration/*.py") <= names
    tops = {name.split("/")[0] for name in names}
    assert tops - {"punctuation_restoration"} == {top for top in tops if top.endswith(".dist-info")}
    folders = {name.split("/")[1] for name in names if name.count("/") > 1 and ".dist-info" not in name}
    assert folders == {*FOLDERS, *INSIDE}
    endings = {Path(name).suffix for name in names if ".dist-info" not in name}
    assert endings <= {".py", ".md", ".typed", ".json", ".yaml", ""}
    assert wheel.stat().st_size < 1_000_000
    required = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==)", metadata, re.MULTILINE)
    assert sorted(required) == "huggingface-hub jieba numpy regex safetensors torch tqdm transformers".split()


def test_the_installed_package_works_far_from_the_checkout(built, tiny_checkpoint, tiny_pipeline, tmp_path):
    """As installed: unpacked where Python looks, which is all that installing a wheel of plain Python does."""
    shutil.unpack_archive(*built.glob("*.whl"), tmp_path / "site", "zip")
    code = (
        "import sys, punctuation_restoration; from transformers import pipeline\n"
        "from punctuation_restoration.export import export\n"
        "print(punctuation_restoration.__file__, punctuation_restoration.DEFAULT_MODEL)\n"
        "print(pipeline('punctuation-restoration', model=sys.argv[1], device='cpu')('hello are you 大家好')['text'])\n"
        "print(len(export('out', sys.argv[1])))\n"
    )
    here = {"PYTHONPATH": str(tmp_path / "site"), "HF_HOME": str(tmp_path / "home"), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", code, tiny_checkpoint],
        cwd=tmp_path, env={**os.environ, **here}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    place, text, n_files = done.stdout.splitlines()
    assert place.split()[0].startswith(str(tmp_path / "site"))
    assert place.split()[1] == punctuation_restoration.default_models.HUB_MODEL
    assert text == tiny_pipeline("hello are you 大家好")["text"]
    assert int(n_files) > 10


def test_the_source_distribution_can_be_built_from_and_holds_no_weights(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    code = {name for name in tracked("*.py") if not name.startswith("docs/")}
    assert code | {"pyproject.toml", "LICENSE", "README.md", "model_card.md"} <= names
    assert not [name for name in names if name.endswith((".safetensors", ".bin", ".pt"))]
