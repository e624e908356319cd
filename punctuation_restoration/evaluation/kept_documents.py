"""Prepared data with a share of documents for test -> the examples of that share.

Takes a folder that `data.prepare` wrote. The shards say which documents are kept for test, so none of them was trained
on; their text is read anew from where preparation read it, since the pipeline wants text and not pieces.
"""

from pathlib import Path

from punctuation_restoration.data.readers import SourceDocument, read_documents
from punctuation_restoration.data.shards import hash_id, open_shard, read_index
from punctuation_restoration.evaluation.examples import Example, example_from_text, example_from_tokens
from punctuation_restoration.evaluation.labels import LabelSet
from punctuation_restoration.pipeline.words import WordFinder


def kept_examples(folder: str | Path, label_set: LabelSet) -> list[Example]:
    """The documents for test of a prepared folder, in the order of its sources.

    Raises:
        ValueError: if it has none, or their texts are no longer where they were.
    """
    finder = WordFinder(label_set.mark_labels)
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
        found += [_example(document, row["name"], finder, label_set) for document in mine]
    if not found:
        raise ValueError(
            f"Expected documents kept for test in {folder}, found none. Prepare the data with --test 0.1, or with "
            "`test: 0.1` in the recipe."
        )
    return found


def _example(document: SourceDocument, source: str, finder: WordFinder, label_set: LabelSet) -> Example:
    if document.words:
        return example_from_tokens(document.words, document.labels, label_set, id=document.id, source=source)
    return example_from_text(document.text, finder, label_set, id=document.id, source=source)
