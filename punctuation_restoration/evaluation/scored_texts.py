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
from punctuation_restoration.evaluation.benchmarks import benchmark_of
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
    `ValueError` says which file is missing or wrong, or that nothing is left to score.
    """
    benchmark = benchmark_of(name)
    held_out = benchmark.held_out
    examples = held_out_of_recipe(recipe, held_out, label_set) if held_out else []
    for file in benchmark.files:
        path = bench_root / file
        if not path.exists():
            raise ValueError(
                f"Expected benchmark {name!r} at {path}, found none. docs/benchmarks.md says which files to download; "
                "`python -m tools.iwslt WHAT_YOU_DOWNLOADED` in a clone of this project makes it of them. Or name the "
                "folder that has it by --bench-root."
            )
        documents = list(
            _kept_for_test(path) if path.is_dir() else read_documents(path, whole=True)
        )
        if path.is_file() and len(documents) == 1:
            documents = [replace(documents[0], id=plain_stem(path))]
        if benchmark.punctuated_only:
            documents = [document for document in documents if document.punctuated]
        examples += _examples(documents, label_set)
    if benchmark.casing:  # the letters of some documents tell nothing
        examples = [example for example in examples if any(unit.cased for unit in example.units)]
    if benchmark.code_switched:
        mixed = [code_switched(example, label_set) for example in examples]
        examples = [example for example in mixed if example.units]
    if not examples:
        raise ValueError(
            f"Expected documents to score in {name}, found none. Check the files; prepared data need `prepare --test "
            "0.1`, and held-out documents the validation share of --recipe."
        )
    return examples


def held_out_of_recipe(recipe: Path, names: Sequence[str], label_set: LabelSet) -> list[Example]:
    """The documents of some sources of a recipe that preparation holds out for validation; their ids decide.

    Of a source with a file of hashes (`held_out`) these are the documents in it. Documents outside the recipe's bounds
    of marks per word are left out, as in training: nobody punctuated them. The bounds are applied to units. In Han text
    these are characters, so there are fewer marks for each. A `ValueError` if the recipe lacks a source, or a text
    cannot be read.
    """
    made = load_recipe(recipe)
    sources = {source.name: source for source in resolved_sources(made)}
    if missing := sorted(set(names) - set(sources)):
        raise ValueError(
            f"Expected the sources {missing} in recipe {made.name!r}, which has none. Choose --recipe."
        )
    examples = []
    for source in (sources[name] for name in names):
        listed = read_hashes(source.held_out)
        documents = []
        for document in read_documents(source.path, source.text_field):
            number = hash_id(document.id)
            by_share = split_of(number, source.validation or 0) == "validation"
            if number in listed if listed else by_share:
                documents.append(document)
        bounds = source.filters
        for example in _examples(documents, label_set):
            is_mark = [label != label_set.names[0] for label in example.labels]
            density = sum(is_mark) / len(is_mark)
            if bounds.min_marks_per_word <= density <= bounds.max_marks_per_word:
                examples.append(example)
    return examples


def _kept_for_test(folder: Path) -> Iterator[SourceDocument]:
    """The documents for test of a prepared folder, in the order of its sources.

    Its shards say which they are, but hold pieces only: the texts are read again. A `ValueError` if they are no longer
    where they were.
    """
    for row in read_index(folder)["sources"]:
        if "test" not in row["splits"]:
            continue
        split = row["splits"]["test"]
        shards = [open_shard(shard["file"]) for shard in split["shards"]]
        hashes = {number for shard in shards for number in shard["document_hashes"].tolist()}
        # Ids may repeat in a folder; the same text twice was kept once.
        documents = {
            (document.id, document.text): document
            for document in read_documents(*row["read_from"])
            if hash_id(document.id) in hashes
        }
        if len(documents) < split["n_documents"]:
            raise ValueError(
                f"Expected {split['n_documents']} documents for test of {row['name']} in {row['read_from'][0]}, found "
                f"{len(documents)}. The texts have changed: prepare the data again."
            )
        yield from documents.values()


def _examples(documents: Iterable[SourceDocument], label_set: LabelSet) -> list[Example]:
    """Documents as examples; those without words are left out."""
    finder = WordFinder(label_set.mark_labels)
    examples = []
    for document in documents:
        document.check_labels(label_set.names)
        if document.words:
            example = example_from_tokens(document.id, document.words, document.labels, label_set)
        else:
            example = example_from_text(document.id, document.text, finder, label_set)
        if example.units:
            examples.append(example)
    return examples
