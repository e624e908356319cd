"""Which file may import which: stages import only stages before them, and the two folders stand on their own."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# The pipeline in the order of its stages: a file imports only files above it. One that composes imports what it likes.
ORDER = [
    "conventions",
    "simplified",
    "segmentation",
    "word_patterns",
    "casing",
    "words",
    "spoken_forms",
    "marks",
    "slots",
    "windows",
    "batching",
    "onnx_export",
    "backends",
    "decoding",
    "ensemble",
    "pairs",
    "edits",
    "speech",
    "placed_values",
    "recognisers",
    "items",
    "timing",
    "results",
    "deciding",
    "completing",
    "memory",
    "streamer",
    "restoration_pipeline",
]
NEEDED = {
    "huggingface_hub",
    "jieba",
    "numpy",
    "onnx",  # only where one of its backends is asked for, and not looked for by transformers
    "onnxruntime",
    "onnxscript",
    "regex",
    "safetensors",
    "torch",
    "transformers",
}  # what the Hub's users have
FILES = sorted([*ROOT.glob("pipeline/*.py"), *ROOT.glob("modeling/*.py")])


def _imports(path):
    """(level, module, names) of every import in a file, those inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.level, node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((0, alias.name, []) for alias in node.names)


def test_every_file_of_the_pipeline_has_its_place():
    assert {path.stem for path in ROOT.glob("pipeline/*.py")} - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_imports_are_those_that_the_hub_can_copy(path):
    for level, module, names in _imports(path):
        if level:
            # The Hub gets the files flat, and finds them by `from .sibling import name`.
            assert level == 1, f"{path.name}: from ..{module} import {names}"
            assert module is not None, f"{path.name}: from . import {names}"
            assert (path.parent / f"{module}.py").is_file(), f"{path.name}: from .{module}"
        else:
            root = module.split(".")[0]
            assert root in sys.stdlib_module_names | NEEDED, f"{path.name}: import {module}"


@pytest.mark.parametrize("name", ORDER)
def test_a_stage_imports_only_stages_before_it(name):
    for level, module, _ in _imports(ROOT / "pipeline" / f"{name}.py"):
        if level:
            assert ORDER.index(module) < ORDER.index(name), f"{name} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_line_of_prose_looks_like_an_import(path):
    # transformers looks for relative imports with a pattern, in comments and docstrings too.
    tree = ast.parse(path.read_text(encoding="utf-8"))
    real = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip().startswith(("from .", "import .")):
            assert number in real, f"{path.name}:{number}: {line.strip()}"


def test_no_two_files_of_the_hub_have_one_name():
    names = [path.name for path in FILES if path.name != "__init__.py"]
    assert len(names) == len(set(names))


OURS = sorted(path for path in ROOT.glob("**/*.py") if ".venv" not in path.parts)


@pytest.mark.parametrize("path", OURS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_our_folders_are_imported_under_one_name_only(path):
    ours = {"modeling", "pipeline", "transcripts"}
    for level, module, _ in _imports(path):
        if not level:
            assert module.split(".")[0] not in ours, f"{path}: import {module} makes a second copy of its classes"
