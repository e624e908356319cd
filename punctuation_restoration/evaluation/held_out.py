"""Documents that preparation keeps from training -> examples: of a recipe for validation, of prepared data for test.

Texts are read as preparation reads them, so that a document has the same id, which decides. Prepared data holds pieces
alone, and the pipeline wants text.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from punctuation_restoration.data.readers import SourceDocument, read_documents
from punctuation_restoration.data.recipe import held_out_shares, load_recipe
from punctuation_restoration.data.shards import hash_id, open_shard, read_index
from punctuation_restoration.data.splits import read_hashes, split_of
from punctuation_restoration.evaluation.examples import Example, example_from_text, example_from_tokens
from punctuation_restoration.evaluation.labels import LabelSet
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK
from punctuation_restoration.pipeline.words import WordFinder


def held_out_of_recipe(recipe: Path, names: Sequence[str], label_set: LabelSet) -> list[Example]:
    """The documents of some sources of a recipe that preparation holds out for validation.

    Of a source with a file of hashes (`held_out`) these are the documents in it. Documents outside the recipe's bounds
    of marks per word are left out, as in training: nobody punctuated them. The bounds are applied to units. In Han text
    these are characters, so there are fewer marks for each.

    Raises:
        ValueError: if the recipe lacks a source, or its texts cannot be read.
    """
    made = load_recipe(recipe)
    sources = {source.name: source for source in made.sources}
    missing = sorted(set(names) - set(sources))
    if missing:
        raise ValueError(f"Expected the sources {missing} in recipe {made.name!r}, which has none. Choose --recipe.")
    found: list[Example] = []
    for source in (sources[name] for name in names):
        listed, filters = read_hashes(source.held_out), source.filters
        validation, _ = held_out_shares(source, made)
        documents = [(hash_id(one.id), one) for one in read_documents(Path(made.root) / source.path, source.text_field)]
        kept = [
            document
            for number, document in documents
            if (number in listed if listed else split_of(number, validation) == "validation")
        ]
        for example in _examples(kept, source.name, label_set):
            density = sum(label != NO_MARK for label in example.labels) / len(example.labels)
            if filters.min_marks_per_word <= density <= filters.max_marks_per_word:
                found.append(example)
    return found


def held_out_of_folder(folder: str | Path, label_set: LabelSet) -> list[Example]:
    """The documents for test of a prepared folder, in the order of its sources. Its shards say which they are.

    Raises:
        ValueError: if it has none, or their texts are no longer where they were.
    """
    found: list[Example] = []
    for row in read_index(folder)["sources"]:
        shards = row["splits"].get("test", {"shards": ()})["shards"]
        kept = {hash_ for shard in shards for hash_ in open_shard(shard["file"])["document_hashes"].tolist()}
        documents = read_documents(*row["read_from"]) if kept else ()
        mine = [document for document in documents if hash_id(document.id) in kept]
        if len({document.id for document in mine}) < len(kept):
            raise ValueError(
                f"Expected {len(kept)} documents for test of {row['name']} in {row['read_from'][0]}, found "
                f"{len(mine)}. The texts have changed: prepare the data again."
            )
        found += _examples(mine, row["name"], label_set)
    if not found:
        raise ValueError(
            f"Expected documents kept for test in {folder}, found none. Prepare the data with --test 0.1, or with "
            "`test: 0.1` in the recipe."
        )
    return found


def _examples(documents: Iterable[SourceDocument], source: str, label_set: LabelSet) -> list[Example]:
    """Documents as examples of their domain, or else of their source; those without words are left out."""
    finder = WordFinder(label_set.mark_labels)
    found = []
    for document in documents:
        names = {"id": document.id, "source": document.domain or source}
        if document.words:
            found.append(example_from_tokens(document.words, document.labels, label_set, **names))
        else:
            found.append(example_from_text(document.text, finder, label_set, **names))
    return [example for example in found if example.spans]
