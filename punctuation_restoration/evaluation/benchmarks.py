"""The benchmarks by name, files of your own, and documents that preparation keeps from training -> examples.

Takes names, or paths of files: tokens with labels (TSV), documents (JSONL, gzipped or not), or running text. Knows
nothing about models.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from punctuation_restoration.data import readers
from punctuation_restoration.data.readers import SourceDocument, hash_id
from punctuation_restoration.data.recipe import held_out_shares, load_recipe
from punctuation_restoration.data.shards import (
    INDEX_NAME,
    open_shard,
    read_hashes,
    read_index,
    split_of,
)
from punctuation_restoration.evaluation.examples import (
    Example,
    LabelSet,
    code_switched,
    example_from_text,
    example_from_tokens,
)
from punctuation_restoration.pipeline.words import WordFinder

NEW_ROOT = Path("bench")  # where `tools.iwslt` writes
SHARED_ROOT = Path("../shared/bench")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A named benchmark: files below the folder of benchmarks, or documents that a recipe holds out."""

    use: str  # "test", read once for a table, or "validation", on which models are chosen
    about: str
    files: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()  # the sources of the recipe, instead of files
    punctuated_only: bool = (
        False  # whether documents that the captioner left without marks are skipped
    )
    casing: bool = False  # whether the letters of words are scored besides the marks
    code_switched: bool = (
        False  # whether only sentences that mix Han text and English words are scored
    )


def _mandarin() -> dict[str, Benchmark]:
    found = {}
    for years in ("dev2010", "tst2010", "tst2011", "tst2012", "tst2011+2012"):
        files = tuple(f"zh/iwslt-{year}.jsonl" for year in years.replace("+", "+tst").split("+"))
        about = f"Mandarin TED captions, {'both years' if '+' in years else years}"
        found[f"zh-{years}"] = Benchmark("test", f"{about}, all talks", files)
        found[f"zh-{years}-punctuated"] = Benchmark(
            "test", f"{about}, punctuated talks", files, punctuated_only=True
        )
    return found


def _held_out(
    about: str, *sources: str, casing: bool = False, code_switched: bool = False
) -> Benchmark:
    return Benchmark(
        "validation", about, held_out=sources, casing=casing, code_switched=code_switched
    )


BENCHMARKS: dict[str, Benchmark] = {
    "iwslt2012-dev": Benchmark(
        "validation", "English TED, one stream (Che et al. 2016)", ("en/iwslt2012-dev.tsv",)
    ),
    "iwslt2011-test": Benchmark(
        "test",
        "English TED, reference transcript, one stream (Che et al. 2016)",
        ("en/iwslt2011-test.tsv",),
    ),
    "iwslt2011-test-asr": Benchmark(
        "test",
        "the same talks as a recogniser heard them, one stream",
        ("en/iwslt2011-test-asr.tsv",),
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


def named(names: Sequence[str]) -> list[str]:
    """Benchmarks, files and folders of prepared data, each once; a `ValueError` if a name is none of them."""
    for name in names:
        if (
            name not in BENCHMARKS
            and not Path(name).is_file()
            and not (Path(name) / INDEX_NAME).is_file()
        ):
            raise ValueError(
                f"Expected a benchmark ({', '.join(BENCHMARKS)}), the path of a JSONL, TSV or text file, or a folder "
                f"of prepared data, got {name!r}. Check the spelling."
            )
    return list(dict.fromkeys(names))


def load_examples(name: str, label_set: LabelSet, bench_root: Path, recipe: Path) -> list[Example]:
    """The examples of a benchmark, of a file, or of a folder of prepared data, of which the test share is scored.

    `recipe` is the file whose held-out documents some benchmarks are, `bench_root` the folder of the others. A
    `ValueError` says which file is missing or wrong, or that no document is left.
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
        examples += read_examples(
            path, label_set, "punctuated" if benchmark.punctuated_only else ""
        )
    if benchmark.held_out:
        examples = held_out_of_recipe(recipe, benchmark.held_out, label_set, benchmark.casing)
    if benchmark.code_switched:
        examples = [one for one in map(code_switched, examples) if one.spans]
    if not examples:
        wanted = f"{'held-out' if benchmark.held_out else 'punctuated'} documents in {name}"
        raise ValueError(
            f"Expected {wanted}, found none. Check the files, and the validation share of --recipe."
        )
    return examples


def default_root() -> Path:
    """The folder of benchmarks that is used unless another is named: `bench` where there is one."""
    return NEW_ROOT if NEW_ROOT.is_dir() else SHARED_ROOT


def read_examples(path: str | Path, label_set: LabelSet, only: str = "") -> list[Example]:
    """The examples of a file, by its ending: `.tsv`, `.jsonl` or `.json`, any other is read as text; `.gz` may follow.

    `only` names a key of JSONL: rows where it is false are left out, perhaps all. A `ValueError` says that the file is
    empty, or what in it is not in its format.
    """
    examples = list(_examples(_read_file(Path(path), only), label_set))
    if not (examples or only):
        raise ValueError(f"Expected words to score in {path}, found none. Is it the right file?")
    return examples


def _read_file(path: Path, only: str) -> Iterator[SourceDocument]:
    """The documents of a file whole, where training reads parts of long ones."""
    name, suffix = readers.plain_stem(path), readers.plain_suffix(path)
    if "json" in suffix:
        for number, row in readers.json_rows(path):
            id = str(row.get("id", f"{name}:{number}"))
            match row:
                case _ if only and not row.get(only):
                    continue
                case {"text": str(text)}:
                    yield SourceDocument(id, text, str(path))
                case {"words": [*words], "labels": [*labels]}:
                    yield SourceDocument(
                        id, "", str(path), tuple(map(str, words)), tuple(map(str, labels))
                    )
                case _:
                    wanted = f"the key text, or the keys words and labels, in {path}, {id}"
                    raise ValueError(f"Expected {wanted}, got {sorted(row)}. Rename the keys.")
    elif suffix == ".tsv":  # a blank line separates documents; a file without one is one text
        documents = list(readers.labelled_words(path))
        for number, (_, tokens, names) in enumerate(documents, 1):
            id = f"{name}:{number}" if len(documents) > 1 else name
            yield SourceDocument(id, "", str(path), tokens, names)
    else:
        for number, (_, lines) in enumerate(readers.paragraphs(path), 1):
            # Lines are joined: ends of lines would show stops.
            yield SourceDocument(f"{name}:{number}", " ".join(map(str.strip, lines)), str(path))


def held_out_of_recipe(
    recipe: Path, names: Sequence[str], label_set: LabelSet, casing: bool = False
) -> list[Example]:
    """The documents of some sources of a recipe that preparation holds out for validation; their ids decide.

    Of a source with a file of hashes (`held_out`) these are the documents in it. Documents outside the recipe's bounds
    of marks per word are left out, as in training: nobody punctuated them. The bounds are applied to units. In Han text
    these are characters, so there are fewer marks for each. With `casing` only documents whose letters tell how their
    words are written, and their units say it. A `ValueError` if the recipe lacks a source, or a text cannot be read.
    """
    made = load_recipe(recipe)
    sources = {source.name: source for source in made.sources}
    if missing := sorted(set(names) - set(sources)):
        raise ValueError(
            f"Expected the sources {missing} in recipe {made.name!r}, which has none. Choose --recipe."
        )
    found: list[Example] = []
    for source in (sources[name] for name in names):
        listed, filters = read_hashes(source.held_out), source.filters
        validation, _ = held_out_shares(source, made)
        documents = readers.read_documents(Path(made.root) / source.path, source.text_field)
        hashed = ((hash_id(one.id), one) for one in documents)
        kept = (
            one
            for n, one in hashed
            if (n in listed if listed else split_of(n, validation) == "validation")
        )
        for example in _examples(kept, label_set, casing):
            density = sum(label != label_set.names[0] for label in example.labels) / len(
                example.labels
            )
            is_usual = filters.min_marks_per_word <= density <= filters.max_marks_per_word
            if is_usual and (any(example.cased) or not casing):
                found.append(example)
    return found


def held_out_of_folder(folder: str | Path, label_set: LabelSet) -> list[Example]:
    """The documents for test of a prepared folder, in the order of its sources.

    Its shards say which they are, but hold pieces alone: the texts are read again. A `ValueError` if it has none, or
    their texts are no longer where they were.
    """
    found: list[Example] = []
    for row in read_index(folder)["sources"]:
        shards = row["splits"].get("test", {"shards": ()})["shards"]
        kept = [
            hash_
            for shard in shards
            for hash_ in open_shard(shard["file"])["document_hashes"].tolist()
        ]
        documents = readers.read_documents(*row["read_from"]) if kept else ()
        hashes = set(kept)  # ids may repeat in a folder; the same text twice was kept once
        mine = {(one.id, one.text): one for one in documents if hash_id(one.id) in hashes}
        if len(mine) < len(kept):
            wanted = f"{len(kept)} documents for test of {row['name']} in {row['read_from'][0]}"
            raise ValueError(
                f"Expected {wanted}, found {len(mine)}. The texts have changed: prepare the data again."
            )
        found += _examples(mine.values(), label_set)
    if not found:
        raise ValueError(
            f"Expected documents kept for test in {folder}, found none. Prepare the data with --test 0.1."
        )
    return found


def _examples(
    documents: Iterable[SourceDocument], label_set: LabelSet, casing: bool = False
) -> Iterator[Example]:
    """Documents as examples; those without words are left out."""
    finder = WordFinder(label_set.mark_labels)
    for document in documents:
        if document.words or document.labels:
            example = example_from_tokens(document.id, document.words, document.labels, label_set)
        else:
            example = example_from_text(document.id, document.text, finder, label_set, casing)
        if example.spans:
            yield example
