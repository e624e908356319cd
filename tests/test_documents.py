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
from pathlib import Path
from typing import Any

import pytest

from punctuation_restoration import default_models
from punctuation_restoration.cli import commands, punctuate

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [path for name in ("docs", "recipes", "space", "examples") for path in (ROOT / name).rglob("*.md")]
TEXTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted([*ROOT.glob("*.md"), *DOCUMENTS])
}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`((?:python|punctuate|punctuation-restoration|make|pip|torchrun|accelerate) [^`\n]+)`")
FOLDERS = ("recipes/", "checkpoints/", "examples/", "tools/", "docs/", "results/", "space/")
# Programs of which we know no more than the name.
FOREIGN = ("git", "cd", "hf", "echo", "cat", "accelerate", "curl", "ray")
BLOCKS = [(document, *found) for document, text in TEXTS.items() for found in BLOCK.findall(text)]


def commands_of(block: str) -> list[str]:
    return [line for line in block.replace("\\\n", " ").splitlines() if shlex.split(line, comments=True)]


def needs(block: str) -> bool:
    return bool(re.search(r"#.*\bneeds\b", block))


LINES = [(document, line) for document, language, block in BLOCKS if language == "sh" for line in commands_of(block)]
LINES += [(document, line) for document, text in TEXTS.items() for line in INLINE.findall(BLOCK.sub("", text))]
RUNNING = [(document, block) for document, language, block in BLOCKS if language == "sh" and not needs(block)]


def piped(line: str) -> list[list[str]]:
    """The commands of a line, each in words."""
    return [shlex.split(part.replace("...", ""), comments=True) for part in re.split(r" \| ", line)]


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


@pytest.mark.parametrize(("document", "line"), dict.fromkeys(LINES), ids=lambda text: text[:70])
def test_a_command_is_understood_and_names_files_that_are_there(
    document: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for method in ("parse_args", "parse_intermixed_args"):
        parse = getattr(argparse.ArgumentParser, method)

        def parse_only(self: Any, *arguments: Any, parse: Any = parse, **more: Any) -> None:
            parse(self, *arguments, **more)
            raise SystemExit(0)

        monkeypatch.setattr(argparse.ArgumentParser, method, parse_only)
    for name, *rest in piped(line):
        assert not [word for word in rest if word.startswith(FOLDERS) and not (ROOT / word).exists()]
        if name == "make":
            assert f"\n{rest[0]}:" in (ROOT / "Makefile").read_text("utf-8")
        elif name == "pip":
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
            asked = ",".join(word[2:-1] for word in rest if word.startswith(".["))
            assert set(asked.split(",")) <= {*extras, ""}
            assert not [word for word in rest if word.startswith("punctuation-restoration")], "it is in no index"
        elif name == "python" and rest[0] in ("app.py", "space/app.py"):
            continue
        elif found := program([name, *rest]):
            main, arguments = found
            if arguments:  # a program's name alone stands in a sentence, or at the end of a pipe
                try:
                    code = main(arguments)
                except SystemExit as ended:
                    code = ended.code
                assert code == 0, "it cannot be parsed"
        else:
            assert name in FOREIGN


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: str) -> None:
    """A folder with all that a clone has, in which commands may write; the default model is a tiny one."""
    for path in ROOT.iterdir():
        if not path.name.startswith("."):
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(default_models, "DEFAULT_MODEL", tiny_checkpoint)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("document", "block"), RUNNING, ids=lambda text: text[:30])
def test_a_block_of_commands_runs_as_written(document: str, block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in commands_of(block):
        *givers, last = piped(line)
        given = b"".join(subprocess.run(words, capture_output=True, check=True).stdout for words in givers)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        found = program(last)
        assert found, f"{line}: say in a comment what it needs"
        assert not found[0](found[1]), line


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("document", dict.fromkeys(name for name, language, _ in BLOCKS if language == "python"))
def test_the_python_of_a_document_runs_from_top_to_bottom(document: str, tiny_checkpoint: str) -> None:
    names: dict[str, Any] = {}
    for block in [code for name, language, code in BLOCKS if (name, language) == (document, "python")]:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("punctuation_restoration"):
                module = importlib.import_module(node.module or "")
                assert not [alias.name for alias in node.names if not hasattr(module, alias.name)]
        if "from datasets" in block:
            pytest.importorskip("datasets", reason="the example needs `pip install datasets`")
        if not needs(block):
            code = block.replace('"punctuation-restoration")', f'"punctuation-restoration", model={tiny_checkpoint!r})')
            exec(compile(code, document, "exec"), names)


def test_links_lead_to_a_file_and_a_heading_and_every_picture_is_shown() -> None:
    shown = set()
    for document, text in TEXTS.items():
        for target in re.findall(r"\]\(([^)#:\s]*(?:#[^)\s]*)?)\)", text):
            name, _, anchor = target.partition("#")
            place = (ROOT / document).parent / name if name else ROOT / document
            assert place.exists(), f"{document}: {target}"
            shown.add(place.resolve())
            titles = re.findall(r"^#+ (.*)$", place.read_text(encoding="utf-8"), re.MULTILINE) if anchor else ()
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in {*anchors, ""}, target
    assert set((ROOT / "docs" / "images").resolve().glob("*.png")) <= shown


def test_every_file_that_is_named_is_there() -> None:
    there = [path.as_posix() for path in ROOT.rglob("*") if path.suffix in (".py", ".yaml", ".json", ".tsv", ".md")]
    named = r"`([\w/+-]+\.(?:py|yaml|tsv)|results/[\w+-]+\.json)`"
    found = {(document, name) for document, text in TEXTS.items() for name in re.findall(named, BLOCK.sub("", text))}
    for folder in ("pipeline", "punctuation_restoration", "tools"):
        for path in (ROOT / folder).rglob("*.py"):
            found |= {(path.name, name) for name in re.findall(r"docs/\w+\.md", path.read_text(encoding="utf-8"))}
    assert not [(by, name) for by, name in found if not any(path.endswith(f"/{name}") for path in there)]


def test_the_documents_are_short_enough_to_be_read() -> None:
    n_words = {name: len(text.split()) for name, text in TEXTS.items()}
    limits = {"README.md": 1_050, "model_card.md": 2_200, "docs/transcripts.md": 2_500, "docs/text.md": 1_750}
    assert {name: n_words[name] for name, most in limits.items() if n_words[name] > most} == {}
    assert len(TEXTS["README.md"].splitlines()) <= 120
    assert sum(n_words.values()) <= 22_000
