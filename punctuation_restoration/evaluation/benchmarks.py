"""The benchmarks by name, and which files and documents each is.

Takes names, or paths of files, gives examples. Knows nothing about models.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from punctuation_restoration.evaluation.counts import NO_MARK
from punctuation_restoration.evaluation.examples import Example
from punctuation_restoration.evaluation.reference_files import Keep, Reader, documents_in, stem

if TYPE_CHECKING:
    from punctuation_restoration.data.recipe import Recipe, Source


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A named benchmark.

    Attributes:
        use: `"test"`, read once for a table, or `"validation"`, on which models are chosen.
        about: what it is, in a few words.
        files: paths below the folder of benchmarks.
        punctuated_only: whether documents that the captioner left without marks are skipped.
        held_out: names of sources in a recipe, of which the held-out documents are scored; instead of files.
    """

    use: str
    about: str
    files: tuple[str, ...] = ()
    punctuated_only: bool = False
    held_out: tuple[str, ...] = ()


def _mandarin() -> dict[str, Benchmark]:
    found = {}
    for year in ("dev2010", "tst2010", "tst2011", "tst2012"):
        files = (f"zh/iwslt-{year}.jsonl",)
        found[f"zh-{year}"] = Benchmark("test", f"Mandarin TED captions, {year}, all talks", files)
        found[f"zh-{year}-punctuated"] = Benchmark(
            "test", f"Mandarin TED captions, {year}, punctuated talks", files, True
        )
    joined = ("zh/iwslt-tst2011.jsonl", "zh/iwslt-tst2012.jsonl")
    found["zh-tst2011+2012"] = Benchmark("test", "Mandarin TED captions, both years, all talks", joined)
    found["zh-tst2011+2012-punctuated"] = Benchmark(
        "test", "Mandarin TED captions, both years, punctuated talks", joined, True
    )
    return found


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
    "ms-spoken-valid": Benchmark(
        "validation", "held-out Malay subtitles, talks and conversation", held_out=("subtitle", "talk", "conversation")
    ),
    "ms-manglish-valid": Benchmark("validation", "held-out posts that mix Malay and English", held_out=("manglish",)),
    "zh-spoken-valid": Benchmark(
        "validation",
        "held-out Mandarin talks, meetings, dialogues and lectures",
        held_out=(
            "iwslt17_ted_tst2013-2015",
            "vcsum_meetings",
            "kdconv_dialogues",
            "ng_lecture_notes",
            "random_cs_hans",
        ),
    ),
}
GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(BENCHMARKS),
    **{
        use: tuple(name for name, benchmark in BENCHMARKS.items() if benchmark.use == use)
        for use in ("test", "validation")
    },
}


def named(names: Sequence[str]) -> list[str]:
    """Benchmarks and files from names, groups (`all`, `test`, `validation`) and paths, each once.

    Raises:
        ValueError: if a name is neither a benchmark, a group nor a file.
    """
    found: dict[str, None] = {}
    for name in names:
        if name not in BENCHMARKS and name not in GROUPS and not Path(name).is_file():
            raise ValueError(
                f"Expected a benchmark ({', '.join(BENCHMARKS)}), a group ({', '.join(GROUPS)}) or the path of a "
                f"JSONL, TSV or text file, got {name!r}. Check the spelling."
            )
        found.update(dict.fromkeys(GROUPS.get(name, (name,))))
    return list(found)


@dataclass(frozen=True)
class Loader:
    """Gives the examples of a benchmark or file.

    Args:
        reader_for: the reader for a named benchmark (True), or for a file of the user's (False).
        bench_root: the folder of benchmarks.
        recipe: path of the recipe whose held-out documents are scored.
        documents: ids of the documents to score; all if None.
    """

    reader_for: Callable[[bool], Reader]
    bench_root: Path
    recipe: Path
    documents: frozenset[str] | None = None

    def __call__(self, name: str) -> list[Example]:
        """The examples of one benchmark or file.

        Raises:
            ValueError: if a file is missing or wrong, or no document is left.
        """
        benchmark = BENCHMARKS.get(name)
        reader = self.reader_for(benchmark is not None)
        chosen = documents_in(self.documents) if self.documents is not None else None
        if benchmark is None:
            return _some(reader.read(name, chosen), name)
        if benchmark.held_out:
            from punctuation_restoration.data.recipe import load_recipe  # imported here: only this needs a YAML reader

            return held_out(load_recipe(self.recipe), benchmark.held_out, reader, chosen)
        punctuated: Keep | None = (lambda row: bool(row["punctuated"])) if benchmark.punctuated_only else None
        keep = _both(punctuated, chosen)
        return _some([one for file in benchmark.files for one in reader.read(self.bench_root / file, keep)], name)


def held_out(recipe: "Recipe", names: Sequence[str], reader: Reader, keep: Keep | None = None) -> list[Example]:
    """The documents of these sources that data preparation holds out by the hash of their id.

    Documents outside the recipe's bounds of marks per word are left out, as in training: nobody punctuated them. The
    bounds are applied to units. In Han text these are characters, so there are fewer marks for each.

    Raises:
        ValueError: if the recipe lacks a source, or holds out none of its documents.
    """
    from punctuation_restoration.data.conversion import hash_id, split_of

    sources = {source.name: source for source in recipe.sources}
    sources.update({stem(Path(source.path)): source for source in recipe.sources})
    missing = sorted(set(names) - set(sources))
    if missing:
        raise ValueError(f"Expected the sources {missing} in recipe {recipe.name!r}, which has none. Choose --recipe.")
    found: list[Example] = []
    for name in names:
        source = sources[name]
        share = recipe.validation if source.validation is None else source.validation
        rows = _both(lambda row, share=share: split_of(hash_id(str(row["id"])), share) == "validation", keep)  # type: ignore[misc]
        found += [
            example for example in reader.read(Path(recipe.root) / source.path, rows) if _is_punctuated(example, source)
        ]
    if not found:
        raise ValueError(
            f"Expected held-out documents of {list(names)} in recipe {recipe.name!r}, found none. "
            "Raise the share that it holds out, and prepare and train again."
        )
    return found


def _some(examples: list[Example], name: str) -> list[Example]:
    if not examples:
        raise ValueError(f"Expected documents to score in {name}, none was chosen. Check --documents.")
    return examples


def _is_punctuated(example: Example, source: "Source") -> bool:
    n_marks = sum(label != NO_MARK for label in example.labels)
    lowest = source.filters.min_marks_per_word
    return lowest * len(example.labels) <= n_marks <= source.filters.max_marks_per_word * len(example.labels)


def _both(first: Keep | None, second: Keep | None) -> Keep | None:
    if first is None or second is None:
        return first or second
    return lambda row: first(row) and second(row)
