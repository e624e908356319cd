"""The benchmarks by name, and which files and documents each is.

Takes names, or paths of files, gives examples. Knows nothing about models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from punctuation_restoration.data.shards import INDEX_NAME
from punctuation_restoration.evaluation.examples import Example, LabelSet, code_switched
from punctuation_restoration.evaluation.reference_files import held_out_of_folder, held_out_of_recipe, read_examples

NEW_ROOT = Path("bench")  # where `tools.iwslt` writes
SHARED_ROOT = Path("../shared/bench")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A named benchmark: files below the folder of benchmarks, or documents that a recipe holds out."""

    use: str  # "test", read once for a table, or "validation", on which models are chosen
    about: str
    files: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()  # the sources of the recipe, instead of files
    punctuated_only: bool = False  # whether documents that the captioner left without marks are skipped
    casing: bool = False  # whether the letters of words are scored besides the marks
    code_switched: bool = False  # whether only sentences that mix Han text and English words are scored


def _mandarin() -> dict[str, Benchmark]:
    found = {}
    for years in ("dev2010", "tst2010", "tst2011", "tst2012", "tst2011+2012"):
        files = tuple(f"zh/iwslt-{year}.jsonl" for year in years.replace("+", "+tst").split("+"))
        about = f"Mandarin TED captions, {'both years' if '+' in years else years}"
        found[f"zh-{years}"] = Benchmark("test", f"{about}, all talks", files)
        found[f"zh-{years}-punctuated"] = Benchmark("test", f"{about}, punctuated talks", files, punctuated_only=True)
    return found


def _held_out(about: str, *sources: str, casing: bool = False, code_switched: bool = False) -> Benchmark:
    return Benchmark("validation", about, held_out=sources, casing=casing, code_switched=code_switched)


BENCHMARKS: dict[str, Benchmark] = {
    "iwslt2012-dev": Benchmark("validation", "English TED, one stream (Che et al. 2016)", ("en/iwslt2012-dev.tsv",)),
    "iwslt2011-test": Benchmark(
        "test", "English TED, reference transcript, one stream (Che et al. 2016)", ("en/iwslt2011-test.tsv",)
    ),
    "iwslt2011-test-asr": Benchmark(
        "test", "the same talks as a recogniser heard them, one stream", ("en/iwslt2011-test-asr.tsv",)
    ),
    **_mandarin(),
    "ms-news-valid": Benchmark("validation", "Malay news", ("ms/news-valid.jsonl",)),
    "ms-news-test": Benchmark("test", "Malay news", ("ms/news-test.jsonl",)),
    "ms-spoken-valid": _held_out(
        "held-out Malay subtitles, talks and conversation", "subtitle", "talk", "conversation"
    ),
    "ms-manglish-valid": _held_out("held-out posts that mix Malay and English", "manglish"),
    "zh-spoken-valid": _held_out(
        "held-out Mandarin talks, meetings, dialogues and lectures",
        *"iwslt17_ted_tst2013-2015 vcsum_meetings kdconv_dialogues ng_lecture_notes random_cs_hans".split(),
    ),
    "zh-english-valid": _held_out(
        "sentences with English words from held-out Mandarin articles on programming",
        "goldminer_tech",
        code_switched=True,
    ),
    "en-casing-valid": _held_out("held-out TED talks, marks and capitals", "ted", casing=True),
    "ms-casing-valid": _held_out("held-out Malay news, marks and capitals", "news_ms", casing=True),
}
GROUPS: dict[str, tuple[str, ...]] = {
    group: tuple(name for name, benchmark in BENCHMARKS.items() if group in ("all", benchmark.use))
    for group in ("all", "test", "validation")
}


def named(names: Sequence[str]) -> list[str]:
    """Benchmarks and files from names, groups (`all`, `test`, `validation`) and paths, each once.

    Raises:
        ValueError: if a name is neither a benchmark, a group nor a file.
    """
    found: dict[str, None] = {}
    for name in names:
        is_path = Path(name).is_file() or (Path(name) / INDEX_NAME).is_file()
        if name not in BENCHMARKS and name not in GROUPS and not is_path:
            raise ValueError(
                f"Expected a benchmark ({', '.join(BENCHMARKS)}), a group ({', '.join(GROUPS)}), the path of a "
                f"JSONL, TSV or text file, or a folder of prepared data, got {name!r}. Check the spelling."
            )
        found.update(dict.fromkeys(GROUPS.get(name, (name,))))
    return list(found)


def load_examples(name: str, label_set: LabelSet, bench_root: Path, recipe: Path) -> list[Example]:
    """The examples of a benchmark, of a file, or of a folder of prepared data, of which the test share is scored.

    `recipe` is the file whose held-out documents some benchmarks are, `bench_root` the folder of the others.

    Raises:
        ValueError: if a file is missing or wrong, or no document is left.
    """
    if name not in BENCHMARKS:
        return (held_out_of_folder if Path(name).is_dir() else read_examples)(name, label_set)
    benchmark = BENCHMARKS[name]
    examples: list[Example] = []
    for path in (bench_root / file for file in benchmark.files):
        if not path.is_file():
            raise ValueError(
                f"Expected benchmark {name!r} at {path}, found none. docs/benchmarks.md says which files to download; "
                "`python -m tools.iwslt WHAT_YOU_DOWNLOADED` in a clone of this project makes it of them. Or name the "
                "folder that has it by --bench-root."
            )
        examples += read_examples(path, label_set, "punctuated" if benchmark.punctuated_only else "")
    if benchmark.held_out:
        examples = held_out_of_recipe(recipe, benchmark.held_out, label_set, benchmark.casing)
    if benchmark.code_switched:
        examples = [one for one in map(code_switched, examples) if one.spans]
    if not examples:
        wanted = "held-out" if benchmark.held_out else "punctuated"
        raise ValueError(
            f"Expected {wanted} documents in {name}, found none. Check the files, and the validation share of --recipe."
        )
    return examples


def default_root() -> Path:
    """The folder of benchmarks that is used unless another is named: `bench` where there is one."""
    return NEW_ROOT if NEW_ROOT.is_dir() else SHARED_ROOT
