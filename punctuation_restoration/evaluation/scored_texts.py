"""Benchmarks, files of your own, and documents that preparation keeps from training -> examples.

Takes names, or paths of files: tokens with labels (TSV), documents (JSONL, gzipped or not), or running text. Knows
nothing about models.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from punctuation_restoration.data.readers import (
    SourceDocument,
    hash_id,
    plain_stem,
    read_documents,
)
from punctuation_restoration.data.recipe import load_recipe, resolved_sources
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
        examples += read_examples(path, label_set, benchmark.punctuated_only)
    if benchmark.code_switched:
        mixed = [code_switched(example, label_set) for example in examples]
        examples = [example for example in mixed if example.spans]
    if not examples:
        kind = "held-out" if benchmark.held_out else "punctuated"
        raise ValueError(
            f"Expected {kind} documents in {name}, found none. Check the files, and the validation share of --recipe."
        )
    return examples


def read_examples(
    path: str | Path, label_set: LabelSet, punctuated_only: bool = False
) -> list[Example]:
    """The examples of a file that training could read too, see `data.readers`; here long texts stay whole.

    With `punctuated_only` those of which the file says otherwise are left out, perhaps all. A `ValueError` says that
    the file has no words, or what in it is not in its format.
    """
    documents = list(read_documents(path, whole=True))
    if len(documents) == 1:
        documents = [replace(documents[0], id=plain_stem(Path(path)))]
    kept = [document for document in documents if document.punctuated or not punctuated_only]
    examples = list(_examples(kept, label_set))
    if kept and not examples:
        raise ValueError(f"Expected words to score in {path}, found none. Is it the right file?")
    return examples


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
    sources = {source.name: source for source in resolved_sources(made)}
    if missing := sorted(set(names) - set(sources)):
        raise ValueError(
            f"Expected the sources {missing} in recipe {made.name!r}, which has none. Choose --recipe."
        )
    examples: list[Example] = []
    for source in (sources[name] for name in names):
        listed = read_hashes(source.held_out)
        held_out = []
        for document in read_documents(source.path, source.text_field):
            number = hash_id(document.id)
            by_share = split_of(number, source.validation or 0) == "validation"
            if number in listed if listed else by_share:
                held_out.append(document)
        bounds = source.filters
        for example in _examples(held_out, label_set, casing):
            n_marks = len(example.labels) - example.labels.count(label_set.names[0])
            density = n_marks / len(example.labels)
            is_usual = bounds.min_marks_per_word <= density <= bounds.max_marks_per_word
            if is_usual and (any(example.cased) or not casing):
                examples.append(example)
    return examples


def held_out_of_folder(folder: str | Path, label_set: LabelSet) -> list[Example]:
    """The documents for test of a prepared folder, in the order of its sources.

    Its shards say which they are, but hold pieces only: the texts are read again. A `ValueError` if it has none, or
    their texts are no longer where they were.
    """
    examples: list[Example] = []
    for row in read_index(folder)["sources"]:
        if "test" not in row["splits"]:
            continue
        split = row["splits"]["test"]
        shards = [open_shard(shard["file"]) for shard in split["shards"]]
        hashes = {number for shard in shards for number in shard["document_hashes"].tolist()}
        # Ids may repeat in a folder; the same text twice was kept once.
        documents = {}
        for document in read_documents(*row["read_from"]):
            if hash_id(document.id) in hashes:
                documents[document.id, document.text] = document
        if len(documents) < split["n_documents"]:
            wanted = f"{split['n_documents']} documents for test of {row['name']} in {row['read_from'][0]}"
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
        if document.words:
            document.check_labels(label_set.names)
            example = example_from_tokens(document.id, document.words, document.labels, label_set)
        else:
            example = example_from_text(document.id, document.text, finder, label_set, casing)
        if example.spans:
            yield example
