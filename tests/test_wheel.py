"""What an installed copy holds, where its names are found, and what happens where the clone has moved."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
import transformers

import punctuation_restoration

ROOT = Path(punctuation_restoration.__file__).resolve().parents[1]
FOLDERS = ("modeling", "pipeline")
INSIDE = ("cli", "data", "evaluation", "training", "transcripts")
BUILD = """
import sys
from setuptools import build_meta
out = sys.argv[1]  # which setuptools changes
build_meta.build_wheel(f"{out}/wheel")
build_meta.build_sdist(f"{out}/source")
build_meta.build_editable(f"{out}/editable")
"""
LEAKS = """
import importlib.util, json, sys
tops = "pipeline modeling train evaluate tools space tests examples recipes punctuate cli".split()
import punctuation_restoration as ours
from punctuation_restoration.cli import commands
inside = importlib.util.find_spec("punctuation_restoration.pipeline.conventions").origin
leaked = [name for name in tops if importlib.util.find_spec(name)]
print(json.dumps([leaked, ours.__file__, inside, ours.DEFAULT_MODEL]))
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, without weights and results, that may be moved."""
    folder = tmp_path_factory.mktemp("clone") / "project"
    for name in tracked(":!checkpoints", ":!results", ":!docs/images"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def built(clone: Path) -> Path:
    """The folder with wheel, source distribution and editable wheel, built without a network."""
    pytest.importorskip("setuptools", minversion="77", reason="pip install 'setuptools>=77'")
    out = clone.parent / "built"
    for name in ("wheel", "source", "editable"):
        (out / name).mkdir(parents=True)
    subprocess.run([sys.executable, "-c", BUILD, str(out)], cwd=clone, check=True, capture_output=True, timeout=120)
    return out


def installed(wheel: Path, folder: Path) -> Path:
    """A fresh environment without other packages that has the wheel: unpacked, which is what pip does; its Python."""
    venv.create(folder)
    (place,) = folder.glob("lib/python*/site-packages")
    shutil.unpack_archive(wheel, place, "zip")
    return folder / "bin" / "python"


def tracked(*patterns: str) -> set[str]:
    """Files of the project under version control."""
    return set(subprocess.check_output(["git", "ls-files", *patterns], cwd=ROOT, text=True).splitlines())


def output(python: Path, code: str, *arguments: str, **environment: str) -> str:
    """What a program prints that runs far from the project, in an environment that has only what is given."""
    command = [str(python), "-c", code, *arguments]
    done = subprocess.run(command, cwd=python.parent, env=environment, capture_output=True, text=True, timeout=300)
    return done.stdout or done.stderr


def test_the_wheel_holds_all_code_and_papers_and_nothing_else_and_asks_for_little(built):
    (wheel,) = built.glob("wheel/*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    modules = tracked(*(f"{folder}/*.py" for folder in FOLDERS))
    assert {f"punctuation_restoration/{name}" for name in (*modules, "py.typed")} <= names
    assert tracked("punctuation_restoration/*.py") <= names
    papers = {name.split("/")[-1] for name in names if "/licenses/" in name}
    assert papers == {"LICENSE", "model_card.md"}
    tops = {name.split("/")[0] for name in names}
    assert tops - {"punctuation_restoration"} == {top for top in tops if top.endswith(".dist-info")}
    folders = {name.split("/")[1] for name in names if name.count("/") > 1 and ".dist-info" not in name}
    assert folders == {*FOLDERS, *INSIDE}
    endings = {Path(name).suffix for name in names if ".dist-info" not in name}
    assert endings <= {".py", ".md", ".typed", ".json", ".yaml", ""}
    assert wheel.stat().st_size < 1_000_000
    required = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==)", metadata, re.MULTILINE)
    assert sorted(required) == "huggingface-hub jieba numpy regex safetensors torch tqdm transformers".split()


def test_a_clone_that_is_installed_editable_gives_our_package_alone_and_fails_clearly_once_it_has_moved(
    built, clone, tmp_path
):
    (wheel,) = built.glob("editable/*.whl")
    python = installed(wheel, tmp_path / "environment")
    leaked, ours, inside, _ = json.loads(output(python, LEAKS))
    assert leaked == []
    assert ours == str(clone / "punctuation_restoration" / "__init__.py")
    assert inside == str(clone / "pipeline" / "conventions.py")
    moved = clone.rename(clone.with_name("moved"))
    try:
        said = output(python, LEAKS)
    finally:
        moved.rename(clone)
    assert said.splitlines()[-1] == "ModuleNotFoundError: No module named 'punctuation_restoration'"


def test_the_installed_package_works_far_from_the_checkout(built, tiny_checkpoint, tiny_pipeline, tmp_path):
    (wheel,) = built.glob("wheel/*.whl")
    python = installed(wheel, tmp_path / "environment")
    leaked, ours, inside, default = json.loads(output(python, LEAKS))
    assert leaked == []
    assert Path(ours).parent == Path(inside).parents[1]
    assert ours.startswith(str(tmp_path))
    assert default == punctuation_restoration.default_models.HUB_MODEL
    code = (
        "import sys, punctuation_restoration; from transformers import pipeline\n"
        "from punctuation_restoration.export import export\n"
        "print(pipeline('punctuation-restoration', model=sys.argv[1], device='cpu')('hello are you 大家好')['text'])\n"
        "print(len(export('out', sys.argv[1])))\n"
    )
    libraries = str(Path(transformers.__file__).parents[1])
    home = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8"}
    shown = output(python, code, tiny_checkpoint, PYTHONPATH=libraries, OMP_NUM_THREADS="1", **home)
    assert shown.splitlines()[0] == tiny_pipeline("hello are you 大家好")["text"]
    assert int(shown.splitlines()[1]) > 10


def test_the_source_distribution_can_be_built_from_and_holds_no_weights(built):
    with tarfile.open(next(built.glob("source/*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    code = {name for name in tracked("*.py") if not name.startswith("docs/")}
    assert code | {"pyproject.toml", "LICENSE", "README.md", "model_card.md"} <= names
    assert not [name for name in names if name.endswith((".safetensors", ".bin", ".pt"))]
