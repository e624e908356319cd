"""Benchmarks, files of your own, and documents that preparation keeps from training -> examples.

Takes names, or paths of files: tokens with labels (TSV), documents (JSONL, gzipped or not), or running text. Knows
nothing about models.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.data import readers
from punctuation_restoration.data.readers import SourceDocument, hash_id
from punctuation_restoration.data.recipe import Recipe, Source, held_out_shares, load_recipe
from punctuation_restoration.data.shards import open_shard, read_hashes, read_index, split_of
from punctuation_restoration.evaluation.benchmarks import BENCHMARKS
from punctuation_restoration.evaluation.examples import (
    Example,
    LabelSet,
    code_switched,
    example_from_text,
    example_from_tokens,
)
from punctuation_restoration.pipeline.words import WordFinder


def load_examples(name: str, label_set: LabelSet, bench_root: Path, recipe: Path) -> list[Example]:
    """The examples of a benchmark, of a file, or of a folder of prepared data, of which the test share is scored.

    `recipe` is the file whose held-out documents some benchmarks are, `bench_root` the folder of the others. A
    `ValueError` says which file is missing or wrong, or that no document is left.
    """
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        read = held_out_of_folder if Path(name).is_dir() else read_examples
        return read(name, label_set)
    examples: list[Example] = []
    if benchmark.held_out:
        examples = held_out_of_recipe(recipe, benchmark.held_out, label_set, benchmark.casing)
    for file in benchmark.files:
        path = bench_root / file
        if not path.is_file():
            raise ValueError(
                f"Expected benchmark {name!r} at {path}, found none. docs/benchmarks.md says which files to download; "
                "`python -m tools.iwslt WHAT_YOU_DOWNLOADED` in a clone of this project makes it of them. Or name the "
                "folder that has it by --bench-root."
            )
        only = "punctuated" if benchmark.punctuated_only else ""
        examples += read_examples(path, label_set, only)
    if benchmark.code_switched:
        mixed = [code_switched(example, label_set) for example in examples]
        examples = [example for example in mixed if example.spans]
    if not examples:
        kind = "held-out" if benchmark.held_out else "punctuated"
        raise ValueError(
            f"Expected {kind} documents in {name}, found none. Check the files, and the validation share of --recipe."
        )
    return examples


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
    name = readers.plain_stem(path)
    suffix = readers.plain_suffix(path)
    if "json" in suffix:
        for number, row in readers.json_rows(path):
            if only and not row.get(only):
                continue
            yield _document_of(row, str(row.get("id", f"{name}:{number}")), path)
    elif suffix == ".tsv":  # a blank line separates documents; a file without one is one text
        documents = list(readers.labelled_words(path))
        for number, (_, words, labels) in enumerate(documents, 1):
            id = f"{name}:{number}" if len(documents) > 1 else name
            yield SourceDocument(id, "", str(path), words, labels)
    else:
        for number, (_, lines) in enumerate(readers.paragraphs(path), 1):
            # Lines are joined: ends of lines would show stops.
            text = " ".join(line.strip() for line in lines)
            yield SourceDocument(f"{name}:{number}", text, str(path))


def _document_of(row: Mapping[str, Any], id: str, path: Path) -> SourceDocument:
    """A row of JSON as a document."""
    match row:
        case {"text": str(text)}:
            return SourceDocument(id, text, str(path))
        case {"words": [*words], "labels": [*labels]}:
            return SourceDocument(
                id, "", str(path), tuple(map(str, words)), tuple(map(str, labels))
            )
    wanted = f"the key text, or the keys words and labels, in {path}, {id}"
    raise ValueError(f"Expected {wanted}, got {sorted(row)}. Rename the keys.")


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
    examples: list[Example] = []
    for name in names:
        source = sources[name]
        documents = _held_out_documents(source, made)
        for example in _examples(documents, label_set, casing):
            n_marks = sum(label != label_set.names[0] for label in example.labels)
            density = n_marks / len(example.labels)
            bounds = source.filters
            is_usual = bounds.min_marks_per_word <= density <= bounds.max_marks_per_word
            if is_usual and (any(example.cased) or not casing):
                examples.append(example)
    return examples


def _held_out_documents(source: Source, recipe: Recipe) -> Iterator[SourceDocument]:
    """The documents of a source that are not trained on: those that its file of hashes names, or a share by hash."""
    named_hashes = read_hashes(source.held_out)
    share, _ = held_out_shares(source, recipe)
    path = Path(recipe.root) / source.path
    for document in readers.read_documents(path, source.text_field):
        number = hash_id(document.id)
        by_share = split_of(number, share) == "validation"
        if number in named_hashes if named_hashes else by_share:
            yield document


def held_out_of_folder(folder: str | Path, label_set: LabelSet) -> list[Example]:
    """The documents for test of a prepared folder, in the order of its sources.

    Its shards say which they are, but hold pieces only: the texts are read again. A `ValueError` if it has none, or
    their texts are no longer where they were.
    """
    examples: list[Example] = []
    for row in read_index(folder)["sources"]:
        if "test" not in row["splits"]:
            continue
        kept: list[int] = []
        for shard in row["splits"]["test"]["shards"]:
            kept += open_shard(shard["file"])["document_hashes"].tolist()
        hashes = set(kept)
        # Ids may repeat in a folder; the same text twice was kept once.
        documents = {
            (document.id, document.text): document
            for document in readers.read_documents(*row["read_from"])
            if hash_id(document.id) in hashes
        }
        if len(documents) < len(kept):
            wanted = f"{len(kept)} documents for test of {row['name']} in {row['read_from'][0]}"
            raise ValueError(
                f"Expected {wanted}, found {len(documents)}. The texts have changed: prepare the data again."
            )
        examples += _examples(documents.values(), label_set)
    if not examples:
        raise ValueError(
            f"Expected documents kept for test in {folder}, found none. Prepare the data with --test 0.1."
        )
    return examples


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
