"""Benchmarks, files of your own, and documents that preparation keeps from training -> examples.

Takes names, or paths of files: tokens with labels (TSV), documents (JSONL, gzipped or not), or running text. Knows
nothing about models.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from punctuation_restoration.data.readers import (
    SourceDocument,
    hash_id,
    plain_stem,
    read_documents,
)
from punctuation_restoration.data.recipe import load_recipe, resolved_sources, splitter
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
        documents = list(read_documents(path, whole=True))
        if len(documents) == 1:
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
            f"Expected documents to score in {name}, found none. Check the files; held-out documents need the "
            "validation share of --recipe."
        )
    return examples


def held_out_of_recipe(recipe: Path, names: Sequence[str], label_set: LabelSet) -> list[Example]:
    """The documents of some sources of a recipe that preparation holds out for validation; their ids decide.

    Of a source with a file of hashes (`held_out`) these are the documents in it. Documents outside the recipe's bounds
    of marks per word are left out, as in training: nobody punctuated them. The bounds are applied to units. In Han text
    these are characters, so there are fewer marks for each. A `ValueError` if the recipe lacks a source, or a text
    cannot be read.
    """
    loaded = load_recipe(recipe)
    sources = {source.name: source for source in resolved_sources(loaded)}
    if missing := sorted(set(names) - set(sources)):
        raise ValueError(
            f"Expected the sources {missing} in recipe {loaded.name!r}, which has none. Choose --recipe."
        )
    examples = []
    for source in (sources[name] for name in names):
        split_of, wanted = splitter(source), "benchmark" if source.held_out else "validation"
        documents = (
            document
            for document in read_documents(source.path, source.text_field)
            if split_of(hash_id(document.id)) == wanted
        )
        bounds = source.filters
        for example in _examples(documents, label_set):
            is_mark = [label != label_set.names[0] for label in example.labels]
            density = sum(is_mark) / len(is_mark)
            if bounds.min_marks_per_word <= density <= bounds.max_marks_per_word:
                examples.append(example)
    return examples


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
