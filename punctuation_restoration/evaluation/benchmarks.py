"""The benchmarks by name, and which files and documents each is.

Takes names, or paths of files, gives examples. Knows nothing about models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from punctuation_restoration.evaluation.code_switching import code_switched
from punctuation_restoration.evaluation.examples import Example
from punctuation_restoration.evaluation.labels import LabelSet
from punctuation_restoration.evaluation.reference_files import Keep, read_examples
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A named benchmark.

    Attributes:
        use: `"test"`, read once for a table, or `"validation"`, on which models are chosen.
        about: what it is, in a few words.
        files: paths below the folder of benchmarks.
        punctuated_only: whether documents that the captioner left without marks are skipped.
        held_out: names of sources in a recipe, of which the held-out documents are scored; instead of files.
        code_switched: whether of these only the sentences that mix Han text and English words are scored.
    """

    use: str
    about: str
    files: tuple[str, ...] = ()
    punctuated_only: bool = False
    held_out: tuple[str, ...] = ()
    code_switched: bool = False


def _mandarin() -> dict[str, Benchmark]:
    found = {}
    for years in ("dev2010", "tst2010", "tst2011", "tst2012", "tst2011+2012"):
        files = tuple(f"zh/iwslt-{year}.jsonl" for year in years.replace("+", "+tst").split("+"))
        about = f"Mandarin TED captions, {'both years' if '+' in years else years}"
        found[f"zh-{years}"] = Benchmark("test", f"{about}, all talks", files)
        found[f"zh-{years}-punctuated"] = Benchmark("test", f"{about}, punctuated talks", files, True)
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
    "zh-english-valid": Benchmark(
        "validation",
        "sentences with English words from held-out Mandarin articles on programming",
        held_out=("goldminer_tech",),
        code_switched=True,
    ),
}
GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(BENCHMARKS),
    "test": tuple(name for name, benchmark in BENCHMARKS.items() if benchmark.use == "test"),
    "validation": tuple(name for name, benchmark in BENCHMARKS.items() if benchmark.use == "validation"),
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


def load_examples(name: str, label_set: LabelSet, bench_root: Path, recipe: Path) -> list[Example]:
    """The examples of one benchmark or file.

    Args:
        name: of a benchmark, or the path of a file.
        label_set: the labels to read.
        bench_root: the folder of benchmarks.
        recipe: the recipe file whose held-out documents are scored.

    Raises:
        ValueError: if a file is missing or wrong, or no document is left.
    """
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        return read_examples(name, label_set)
    if benchmark.held_out:
        examples = held_out(recipe, benchmark.held_out, label_set)
        return [one for one in map(code_switched, examples) if one.spans] if benchmark.code_switched else examples
    keep: Keep | None = (lambda row: bool(row["punctuated"])) if benchmark.punctuated_only else None
    examples = [one for file in benchmark.files for one in read_examples(bench_root / file, label_set, keep)]
    if not examples:
        raise ValueError(f"Expected punctuated documents in {name}, found none. Check the files.")
    return examples


def held_out(recipe: Path, names: Sequence[str], label_set: LabelSet) -> list[Example]:
    """The documents of some sources of a recipe that data preparation holds out by the hash of their id.

    Of a source with a file of hashes (`held_out`) these are the documents in it.

    Documents outside the recipe's bounds of marks per word are left out, as in training: nobody punctuated them. The
    bounds are applied to units. In Han text these are characters, so there are fewer marks for each.

    Raises:
        ValueError: if the recipe lacks a source, or holds out none of its documents.
    """
    from punctuation_restoration.data.conversion import split_of
    from punctuation_restoration.data.held_out import hash_id, read_hashes
    from punctuation_restoration.data.recipe import load_recipe  # needs PyYAML, as nothing else here

    made = load_recipe(recipe)
    sources = {source.name: source for source in made.sources}
    missing = sorted(set(names) - set(sources))
    if missing:
        raise ValueError(f"Expected the sources {missing} in recipe {made.name!r}, which has none. Choose --recipe.")
    found: list[Example] = []
    for source in (sources[name] for name in names):
        share = made.validation if source.validation is None else source.validation
        listed = read_hashes(source.held_out)

        def is_held_out(row: dict[str, Any], share: float = share, listed: frozenset[int] = listed) -> bool:
            number = hash_id(str(row["id"]))
            return number in listed if listed else split_of(number, share) == "validation"

        lowest, highest = source.filters.min_marks_per_word, source.filters.max_marks_per_word
        for example in read_examples(Path(made.root) / source.path, label_set, keep=is_held_out):
            n_marks, n_units = sum(label != NO_MARK for label in example.labels), len(example.labels)
            if lowest * n_units <= n_marks <= highest * n_units:
                found.append(example)
    if not found:
        raise ValueError(
            f"Expected held-out documents of {list(names)} in recipe {made.name!r}, found none. "
            "Raise the share that it holds out, and prepare and train again."
        )
    return found
