"""How many functions of this project a text, a file and a training document pass through.

A hop is a function or method of the project (comprehensions and lambdas count with the function that holds them) that
is entered between the public call and its result; each counts once, however often it is entered.

    python -m benchmarks.hops --name after
    python -m benchmarks.hops --name before --root CHECKOUT         the same paths in another checkout

`deepest` is the longest chain of them that wait for each other on one thread's stack. Everything runs once before it is
counted, so that what is only loaded once does not count. Writes `results/hops.json`.
"""

import argparse
import contextlib
import gzip
import importlib
import io
import json
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock

from benchmarks.writing import tell

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path("../shared")
FOLDERS_WITHOUT_HOPS = ("tests", "benchmarks", ".venv")


class GradientDone(BaseException):
    """The first gradient is there; nothing that follows is counted."""


class HopCounter:
    """Counts the hops of what runs inside `with counter.counting():`, in all threads that start there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.passed: set[str] = set()
        self.deepest: list[str] = []
        self._names: dict[CodeType, str | None] = {}

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def result(self) -> dict[str, Any]:
        return {"hops": len(self.passed), "deepest": len(self.deepest), "deepest_path": self.deepest}

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or self._name(frame.f_code) is None:
            return
        chain = []
        waiting: FrameType | None = frame
        while waiting is not None:
            chain.append(self._name(waiting.f_code))
            waiting = waiting.f_back
        path = [name for name in reversed(chain) if name]
        self.passed.add(path[-1])
        if len(path) > len(self.deepest):
            self.deepest = path

    def _name(self, code: CodeType) -> str | None:
        """The name of a function of the project as `pipeline/words.py: WordFinder.__call__`, None for any other."""
        if code not in self._names:
            path = Path(code.co_filename)
            own = path.is_relative_to(self.root) and not code.co_name.startswith("<")
            place = path.relative_to(self.root) if own else path
            own = own and place.parts[0] not in FOLDERS_WITHOUT_HOPS
            self._names[code] = f"{place.as_posix()}: {code.co_qualname}" if own else None
        return self._names[code]


def text_hops(root: Path) -> dict[str, Any]:
    """From `restore("text")` to its result."""
    from transformers import pipeline

    build: Any = pipeline
    restore = build("punctuation-restoration", device="cpu")
    restore("this is another text with other words in it")
    counter = HopCounter(root)
    with counter.counting():
        restore("hello how are you i am fine thanks")
    return counter.result()


def file_hops(root: Path) -> dict[str, Any]:
    """From `punctuate FILE` to the restored file, the loading of the model included."""
    punctuate = command(root, "punctuate")
    file = str(root / "examples" / "transcripts" / "talk.srt")
    counter = HopCounter(root)
    for watching in (contextlib.nullcontext(), counter.counting()):
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), watching:
            if punctuate([file, "--device", "cpu"]):
                raise RuntimeError(f"Expected {file} to be restored, the command failed. Its message is above.")
    return counter.result()


def document_hops(root: Path, document: Path, encoder: Path) -> dict[str, Any]:
    """From a file with one document to the first gradient: preparing it, then the first step of a run.

    What is made before the first step (settings, model, optimiser) is not counted.
    """
    import torch

    preparing: Any = importlib.import_module("punctuation_restoration.data.prepare")
    run: Any = importlib.import_module("punctuation_restoration.training.loop").TrainingRun
    counter = HopCounter(root)
    take_steps, backward = run.train, torch.Tensor.backward

    def stop(*args: Any, **keywords: Any) -> None:
        backward(*args, **keywords)
        raise GradientDone

    with tempfile.TemporaryDirectory() as folder:
        for turn, counting in (("first", contextlib.nullcontext), ("second", counter.counting)):
            prepared, out = Path(folder) / turn, Path(folder) / f"{turn}-run"
            recipe = preparing.recipe_for_texts([str(document)], "en", 0.0)
            with counting():
                preparing.prepare(recipe, prepared, str(encoder), 1)
            arguments = ["--data", prepared, "--encoder", encoder, "--layers", 1, "--max-steps", 1, "--out", out]
            with (
                mock.patch.object(run, "train", counted(take_steps, counting)),
                mock.patch.object(torch.Tensor, "backward", stop),
                contextlib.suppress(GradientDone),
            ):
                command(root, "punctuation-restoration-train")([*map(str, arguments), "--cpu"])
    return counter.result()


def counted(function: Callable[..., Any], counting: Callable[[], Any]) -> Callable[..., Any]:
    """The function, watched."""

    def call(*args: Any) -> Any:
        with counting():
            return function(*args)

    return call


def command(root: Path, name: str) -> Callable[[Sequence[str]], int]:
    """A command of the checkout, as its `pyproject.toml` names it."""
    scripts = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    module, _, function = scripts[name].partition(":")
    return getattr(importlib.import_module(module), function)


def first_document(file: Path, out: Path) -> Path:
    """A file with the first document of another."""
    with gzip.open(file, "rb") as lines:
        out.write_bytes(next(lines))
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Count, and add what was counted to the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--name", required=True, help="of this count among the results")
    parser.add_argument("--root", type=Path, default=ROOT, help="checkout whose code is counted")
    parser.add_argument("--encoder", type=Path, default=SHARED / "encoder")
    parser.add_argument("--source", type=Path, default=SHARED / "data" / "en" / "ted.jsonl.gz")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "hops.json")
    args = parser.parse_args(argv)
    root = args.root.resolve()
    sys.path[:] = [str(root), *(path for path in sys.path if path not in ("", str(ROOT)))]
    package = importlib.import_module("punctuation_restoration")
    if not Path(str(package.__file__)).is_relative_to(root):
        raise RuntimeError(f"Expected the package of {root}, got {package.__file__}. Unset PYTHONPATH.")
    signed: Any = importlib.import_module("punctuation_restoration.evaluation.signature")
    with tempfile.TemporaryDirectory() as folder:
        document = first_document(args.source, Path(folder) / "document.jsonl")
        found = {
            "commit": signed.commit(),
            "text": text_hops(root),
            "file": file_hops(root),
            "document": document_hops(root, document, args.encoder.resolve()),
        }
    before = json.loads(args.output.read_text(encoding="utf-8")) if args.output.is_file() else {}
    tell({**before, args.name: found}, args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
