"""The benchmarks by name, and what may be scored beside them. Loads neither transformers nor torch."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from punctuation_restoration.data.readers import TEST_NAME
from punctuation_restoration.data.recipe import checked
from punctuation_restoration.default_models import ROOT

LIST = ROOT / "recipes" / "benchmarks.yaml"  # a wheel has none
NEW_ROOT = Path("bench")  # where `tools.iwslt` writes
SHARED_ROOT = Path("../shared/bench")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What is scored: files, below the folder of benchmarks unless absolute, or documents that a recipe holds out."""

    use: str  # "test", read once for a table, or "validation", on which models are chosen
    about: str
    files: Sequence[str] = ()
    held_out: Sequence[str] = ()  # the sources of the recipe, instead of files
    punctuated_only: bool = False  # skip documents that the captioner left without marks
    casing: bool = False  # score the letters of words besides the marks
    code_switched: bool = False  # score only sentences that mix Han text and English words


_rows = yaml.safe_load(LIST.read_bytes()) if LIST.is_file() else {}
BENCHMARKS = {name: checked(Benchmark, row, f"{LIST}, {name}") for name, row in _rows.items()}


def benchmark_of(name: str) -> Benchmark:
    """A benchmark by name, or a file or folder of prepared data as one; a `ValueError` says why a name is neither."""
    path = Path(name)
    if name in BENCHMARKS:
        return BENCHMARKS[name]
    for file, about in (path, "a file"), (path / TEST_NAME, "test share"):
        if file.is_file():
            return Benchmark("", about, files=[os.path.abspath(file)])
    if path.is_dir():
        raise ValueError(
            f"Expected a folder of prepared data, got {name}, which has no test share ({TEST_NAME}). Name a file "
            "in it, or prepare its texts again with --test 0.1."
        )
    if path.suffix or path.parent != Path():
        raise ValueError(f"Expected a file to score, got {name}: no such file. Check the path.")
    raise ValueError(
        f"Expected a benchmark, or the path of a JSONL, TSV or text file, got {name!r}. The benchmarks are: "
        f"{', '.join(BENCHMARKS)}."
    )


def default_root() -> Path:
    """The folder of benchmarks that is used unless another is named: `bench` where there is one."""
    return NEW_ROOT if NEW_ROOT.is_dir() else SHARED_ROOT


def file_name(benchmark: str) -> str:
    """A benchmark's name, or a path, as the name of a file."""
    return Path(benchmark).name.removesuffix(".gz").replace(".", "-")
