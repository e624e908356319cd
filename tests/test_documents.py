"""Every command and every block of Python in the documents.

All commands are parsed by the program that they name, and the files of the project that they name are there. A block
runs as written, with a tiny model for the default one, unless a comment in it says what it `needs`.
"""

import argparse
import ast
import importlib
import io
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from punctuation_restoration import default_models
from punctuation_restoration.cli import commands, punctuate

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(path for path in ROOT.glob("**/*.md") if not {".venv", "runs"} & set(path.relative_to(ROOT).parts))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`((?:python|punctuate|punctuation-restoration|make|pip|torchrun|accelerate) [^`\n]+)`")
FOLDERS = ("recipes/", "checkpoints/", "examples/", "tools/", "docs/", "results/", "space/")
FOREIGN = ("git", "cd", "hf", "echo", "cat", "accelerate")  # programs of which we know no more than the name


class Command(NamedTuple):
    """A line of a document, in words."""

    document: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.document}: {shlex.join(self.words)}"


def needs(block: str) -> bool:
    return bool(re.search(r"#.*\bneeds\b", block))


def split(line: str, document: str) -> list[Command]:
    """The commands of a line, those of a pipe apart."""
    words = [word for word in shlex.split(line, comments=True) if word not in ("...", "…")]
    ends = [-1, *(n for n, word in enumerate(words) if word == "|"), len(words)]
    return [Command(document, tuple(words[a + 1 : b])) for a, b in pairwise(ends) if words]


def lines(block: str) -> list[str]:
    return [line for line in block.replace("\\\n", " ").splitlines() if shlex.split(line, comments=True)]


TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in DOCUMENTS}
BLOCKS = [(document, *found) for document, text in TEXTS.items() for found in BLOCK.findall(text)]
PYTHON = [(document, code) for document, language, code in BLOCKS if language == "python"]
SHELL = [(document, code) for document, language, code in BLOCKS if language in ("sh", "bash")]
COMMANDS = [command for document, code in SHELL for line in lines(code) for command in split(line, document)]
for _document, _text in TEXTS.items():
    COMMANDS += [command for line in INLINE.findall(BLOCK.sub("", _text)) for command in split(line, _document)]


def program(words: Sequence[str]) -> tuple[Callable[[list[str]], Any], list[str]] | None:
    """The function that runs a command of ours, and its arguments."""
    name, *rest = words
    if "train.py" in rest:  # whatever starts it: python, torchrun, accelerate launch
        return commands.main, ["train", *rest[rest.index("train.py") + 1 :]]
    if "evaluate.py" in rest:
        return commands.main, ["evaluate", *rest[1:]]
    if name == "python" and rest[0] == "-m":
        return importlib.import_module(rest[1]).main, rest[2:]
    programs = {"punctuate": punctuate.main, "punctuation-restoration": commands.main}
    return (programs[name], rest) if name in programs else None


class Parsed(BaseException):
    """Ends a program once its arguments are parsed."""


@pytest.mark.parametrize("command", dict.fromkeys(COMMANDS), ids=str)
def test_a_command_is_understood_and_names_files_that_are_there(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for word in command.words:
        assert not word.startswith(FOLDERS) or (ROOT / word).exists(), word
    name, *rest = command.words
    if name == "make":
        assert f"\n{rest[0]}:" in (ROOT / "Makefile").read_text("utf-8")
    elif name == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
        asked = [extra for word in rest for extra in re.findall(r"^\.\[(.*)\]$", word)]
        assert set(",".join(asked).split(",")) - {""} <= set(extras)
        assert not [word for word in rest if word.startswith("punctuation-restoration")], "it is in no index"
    elif name == "python" and rest[0].endswith("app.py"):
        assert (ROOT / "space" / "app.py").is_file()
    elif found := program(command.words):
        for method in ("parse_args", "parse_intermixed_args"):
            parse = getattr(argparse.ArgumentParser, method)

            def parse_only(self: Any, *arguments: Any, parse: Any = parse, **more: Any) -> None:
                parse(self, *arguments, **more)
                raise Parsed

            monkeypatch.setattr(argparse.ArgumentParser, method, parse_only)
        if not found[1]:
            return  # a program's name in a sentence, or the end of a pipe
        try:
            code = found[0](found[1])
        except Parsed:
            code = 0
        except SystemExit as ended:  # --help, and what cannot be parsed
            code = ended.code
        assert code == 0
    else:
        assert name in FOREIGN


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: str) -> Path:
    """A folder with all that a clone has, in which commands may write."""
    for path in ROOT.iterdir():
        if not path.name.startswith("."):
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(default_models, "DEFAULT_MODEL", tiny_checkpoint)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize(
    ("document", "block"), [(name, code) for name, code in SHELL if not needs(code)], ids=lambda value: value[:30]
)
def test_a_block_of_commands_runs_as_written(
    document: str, block: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for line in lines(block):
        first, *_ = piped = split(line, document)
        given = b""
        if len(piped) == 2:
            given = subprocess.run(first.words, capture_output=True, check=True).stdout
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        found = program(piped[-1].words)
        assert found, f"{line}: say in a comment what it needs"
        assert not found[0](found[1]), line


@pytest.mark.parametrize("document", dict.fromkeys(document for document, _ in PYTHON))
def test_the_python_of_a_document_runs_from_top_to_bottom(document: str, here: Path, tiny_checkpoint: str) -> None:
    names: dict[str, Any] = {}
    for block in (code for name, code in PYTHON if name == document):
        tree = ast.parse(block)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("punctuation_restoration"):
                module = importlib.import_module(node.module or "")
                assert not [alias.name for alias in node.names if not hasattr(module, alias.name)]
        if needs(block):
            continue
        if "from datasets" in block:
            pytest.importorskip("datasets", reason="the example needs `pip install datasets`")
        code = block.replace('"punctuation-restoration")', f'"punctuation-restoration", model={tiny_checkpoint!r})')
        exec(compile(code, document, "exec"), names)


def test_links_between_documents_lead_to_a_file_and_a_heading() -> None:
    for document, text in TEXTS.items():
        for target in re.findall(r"\]\(([^)#:\s]*(?:#[^)\s]*)?)\)", text):
            name, _, anchor = target.partition("#")
            place = (ROOT / document).parent / name if name else ROOT / document
            assert place.exists(), f"{document}: {target}"
            if anchor:
                titles = re.findall(r"^#+ (.*)$", place.read_text(encoding="utf-8"), re.MULTILINE)
                assert anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, target


def test_every_file_that_a_document_names_is_there() -> None:
    there = [path.as_posix() for path in ROOT.glob("**/*") if path.suffix in (".py", ".yaml", ".json", ".tsv")]
    for document, text in TEXTS.items():
        for name in re.findall(r"`([\w/+-]+\.(?:py|yaml|tsv))`|`(results/[\w+-]+\.json)`", BLOCK.sub("", text)):
            assert any(path.endswith("/" + "".join(name)) for path in there), f"{document}: {name}"


def test_every_document_that_code_names_is_there_and_every_picture_is_shown() -> None:
    code = [path.read_text(encoding="utf-8") for path in ROOT.glob("*/**/*.py") if ".venv" not in path.parts]
    named = {name for text in (*code, *TEXTS.values()) for name in re.findall(r"docs/\w+\.md", text)}
    assert named
    assert not [name for name in named if not (ROOT / name).is_file()]
    shown = {name.rpartition("/")[2] for text in TEXTS.values() for name in re.findall(r"!\[[^\]]*\]\((.+?)\)", text)}
    assert shown == {path.name for path in (ROOT / "docs" / "images").glob("*.png")}


def test_the_documents_are_short_enough_to_be_read() -> None:
    limits = {"README.md": 1_050, "model_card.md": 2_000, "docs/transcripts.md": 2_250, "docs/text.md": 1_750}
    assert {name: len(TEXTS[name].split()) for name in limits if len(TEXTS[name].split()) > limits[name]} == {}
    assert len(TEXTS["README.md"].splitlines()) <= 120
    assert sum(len(text.split()) for text in TEXTS.values()) <= 22_000
