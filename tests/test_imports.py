"""Which file may import what: the Hub gets the two folders as they are, and what is imported is declared."""

import ast
import re
import sys
import tomllib
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from transformers.models.auto import configuration_auto, modeling_auto

from punctuation_restoration.registration import OURS as REGISTERED

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted([*ROOT.glob("pipeline/*.py"), *ROOT.glob("modeling/*.py")])
OURS = sorted(path for path in ROOT.glob("**/*.py") if ".venv" not in path.parts)
LIBRARY = [*FILES, *sorted(ROOT.glob("punctuation_restoration/**/*.py"))]
BROUGHT_BY = packages_distributions()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _undeclared(path, *extras):
    """Packages that a file imports, inside functions too, and that neither the core nor an extra declares."""
    roots = {module.split(".")[0] for level, module, _ in _imports(path) if not level} - set(sys.stdlib_module_names)
    lines = [*PROJECT["dependencies"], *(line for name in extras for line in PROJECT["optional-dependencies"][name])]
    known = {re.match(r"[\w-]+", line)[0].replace("-", "_") for line in lines} | {"punctuation_restoration"}
    names = {root: {name.lower().replace("-", "_") for name in BROUGHT_BY.get(root, [root])} for root in roots}
    return {root for root in roots if not names[root] & known}


def _imports(path):
    """(level, module, names) of every import in a file, those inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.level, node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((0, alias.name, []) for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_imports_are_those_that_the_hub_can_copy(path):
    for level, module, names in _imports(path):
        if level:
            # The Hub gets the files flat, and finds them by `from .sibling import name`.
            assert level == 1, f"{path.name}: from ..{module} import {names}"
            assert module is not None, f"{path.name}: from . import {names}"
            assert (path.parent / f"{module}.py").is_file(), f"{path.name}: from .{module}"
    assert not _undeclared(path, "fast")


def test_what_the_library_imports_is_declared():
    assert not {path: found for path in LIBRARY if (found := _undeclared(path, "train", "evaluate", "fast"))}


def test_each_module_may_be_imported_first():
    """The tables of transformers import what is registered there; what that needs may not wait for the tables."""
    tables = {*dir(configuration_auto), *dir(modeling_auto)}
    registered = {name.split(".")[-1] for name in REGISTERED.values()}
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module == "transformers" and path.stem not in registered:
                assert not tables & {alias.name for alias in node.names}, f"{path.name} cannot be imported first"


@pytest.mark.parametrize("folder", ["modeling", "pipeline"])
def test_stages_import_only_stages_before_them(folder):
    paths = (ROOT / folder).glob("*.py")
    before = {path.stem: {module for level, module, _ in _imports(path) if level} for path in paths}
    assert set(TopologicalSorter(before).static_order()) == set(before)  # raises a CycleError
    assert not any("restoration_pipeline" in stages for stages in before.values())  # it alone composes


def test_no_line_of_prose_looks_like_an_import():
    # transformers looks for relative imports with a pattern, in comments and docstrings too.
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        real = {node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)}
        for number, line in enumerate(text.splitlines(), 1):
            assert number in real or not line.strip().startswith(("from .", "import .")), f"{path.name}:{number}"


def test_no_two_files_of_the_hub_have_one_name_and_our_folders_are_imported_under_one_name_only():
    names = [path.name for path in FILES if path.name != "__init__.py"]
    assert len(names) == len(set(names))
    for path in OURS:
        roots = {module.split(".")[0] for level, module, _ in _imports(path) if not level}
        assert not roots & {"modeling", "pipeline", "transcripts"}, f"{path} makes a second copy of its classes"
