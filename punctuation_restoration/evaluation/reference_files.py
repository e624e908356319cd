"""Files -> examples: tokens with labels (TSV), documents (JSONL, gzipped or not), running text, and what preparation
keeps from training: of a recipe for validation, of prepared data for test.

Takes a path, gives examples. Knows nothing about models or about which benchmark a file belongs to.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from punctuation_restoration.data import readers
from punctuation_restoration.data.readers import SourceDocument
from punctuation_restoration.data.recipe import held_out_shares, load_recipe
from punctuation_restoration.data.shards import hash_id, open_shard, read_hashes, read_index, split_of
from punctuation_restoration.evaluation.examples import Example, LabelSet, example_from_text, example_from_tokens
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK
from punctuation_restoration.pipeline.words import WordFinder


def read_examples(path: str | Path, label_set: LabelSet, only: str = "") -> list[Example]:
    """The examples of a file, by its ending: `.tsv`, `.jsonl`, any other is read as text; `.gz` may follow.

    `only` names a key of JSONL: rows where it is false are left out, perhaps all.

    Raises:
        ValueError: if the file is empty or not in its format.
    """
    examples = list(_examples(_read_file(Path(path), only), label_set))
    if not (examples or only):
        raise ValueError(f"Expected words to score in {path}, found none. Is it the right file?")
    return examples


def _read_file(path: Path, only: str) -> Iterator[SourceDocument]:
    """The documents of a file whole, where training reads parts of long ones."""
    name, suffix = readers.plain_stem(path), readers.plain_suffix(path)
    if suffix == ".jsonl":
        for number, row in readers.json_rows(path):
            id = str(row.get("id", f"{name}:{number}"))
            match row:
                case _ if only and not row.get(only):
                    continue
                case {"text": str(text)}:
                    yield SourceDocument(id, text, str(path))
                case {"words": [*words], "labels": [*labels]}:
                    yield SourceDocument(id, "", str(path), tuple(map(str, words)), tuple(map(str, labels)))
                case _:
                    raise ValueError(
                        f"Expected the key text, or the keys words and labels, in {path}, {id}, got {sorted(row)}. "
                        "Rename the keys."
                    )
    elif suffix == ".tsv":  # a blank line separates documents; a file without one is one text
        documents = list(readers.labelled_words(path))
        for number, (_, words, labels) in enumerate(documents, 1):
            id = f"{name}:{number}" if len(documents) > 1 else name
            yield SourceDocument(id, "", str(path), words, labels)
    else:
        for number, (_, lines) in enumerate(readers.paragraphs(path), 1):
            # Lines are joined: ends of lines would show stops.
            yield SourceDocument(f"{name}:{number}", " ".join(map(str.strip, lines)), str(path))


def held_out_of_recipe(recipe: Path, names: Sequence[str], label_set: LabelSet, casing: bool = False) -> list[Example]:
    """The documents of some sources of a recipe that preparation holds out for validation; their ids decide.

    Of a source with a file of hashes (`held_out`) these are the documents in it. Documents outside the recipe's bounds
    of marks per word are left out, as in training: nobody punctuated them. The bounds are applied to units. In Han text
    these are characters, so there are fewer marks for each. With `casing` only documents whose letters tell how their
    words are written, and their units say it.

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
        documents = readers.read_documents(Path(made.root) / source.path, source.text_field)
        hashed = ((hash_id(one.id), one) for one in documents)
        kept = (one for n, one in hashed if (n in listed if listed else split_of(n, validation) == "validation"))
        for example in _examples(kept, label_set, source.casing if casing else False):
            density = sum(label != NO_MARK for label in example.labels) / len(example.labels)
            is_usual = filters.min_marks_per_word <= density <= filters.max_marks_per_word
            if is_usual and (any(example.cased) or not casing):
                found.append(example)
    return found


def held_out_of_folder(folder: str | Path, label_set: LabelSet) -> list[Example]:
    """The documents for test of a prepared folder, in the order of its sources.

    Its shards say which they are, but hold pieces alone: the texts are read again.

    Raises:
        ValueError: if it has none, or their texts are no longer where they were.
    """
    found: list[Example] = []
    for row in read_index(folder)["sources"]:
        shards = row["splits"].get("test", {"shards": ()})["shards"]
        kept = {hash_ for shard in shards for hash_ in open_shard(shard["file"])["document_hashes"].tolist()}
        documents = readers.read_documents(*row["read_from"]) if kept else ()
        mine = {document.id: document for document in documents if hash_id(document.id) in kept}
        if len(mine) < len(kept):
            raise ValueError(
                f"Expected {len(kept)} documents for test of {row['name']} in {row['read_from'][0]}, found "
                f"{len(mine)}. The texts have changed: prepare the data again."
            )
        found += _examples(mine.values(), label_set)
    if not found:
        raise ValueError(f"Expected documents kept for test in {folder}, found none. Prepare the data with --test 0.1.")
    return found


def digest_of(examples: Sequence[Example]) -> str:
    """SHA-256 over texts, units and labels: two results with the same digest were scored on the same words."""
    digest = hashlib.sha256()
    for example in examples:
        row = [example.id, example.text, example.spans, example.labels, example.ends_text]
        row += [example.cased] if example.cased else []
        digest.update(json.dumps(row, ensure_ascii=False).encode("utf-8"))
    return digest.hexdigest()


def _examples(
    documents: Iterable[SourceDocument], label_set: LabelSet, has_casing: bool | None = False
) -> Iterator[Example]:
    """Documents as examples; those without words are left out."""
    finder = WordFinder(label_set.mark_labels)
    for document in documents:
        if document.words or document.labels:
            example = example_from_tokens(document.id, document.words, document.labels, label_set)
        else:
            example = example_from_text(document.id, document.text, finder, label_set, has_casing)
        if example.spans:
            yield example
