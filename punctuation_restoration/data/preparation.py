"""Prepares training data: documents of a recipe -> shards of about 30 MB, and `index.json`.

A hash of its id puts a document into train, validation or, on request, test, whose texts are kept in a file too. The
words of one source are in memory at once.
"""

import itertools
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm
from transformers import AutoConfig, AutoTokenizer

from punctuation_restoration.data import shards
from punctuation_restoration.data.conversion import Convert, Converter, start_workers
from punctuation_restoration.data.readers import (
    INDEX_NAME,
    TEST_NAME,
    SourceDocument,
    hash_id,
    read_documents,
)
from punctuation_restoration.data.recipe import (
    LABEL_KEYS,
    Recipe,
    Source,
    recipe_for_texts,
    resolved_sources,
    splitter,
    text_files,
)
from punctuation_restoration.data.shards import Index, PackedDocument
from punctuation_restoration.modeling.configuration_punctuation import (
    DEFAULT_LABELS,
    PunctuationRestorationConfig,
)
from punctuation_restoration.pipeline.casing import MIXED, casing_of
from punctuation_restoration.whole_files import remove_unfinished, written_whole

OWN_FILES = re.compile(rf".+-\d{{4,}}\.safetensors|{re.escape(INDEX_NAME)}|{re.escape(TEST_NAME)}")
MOST_MIXED_CASE = 2_000  # words with capitals inside that are listed, those of most documents
# Of a source that has fewer words held out than this, more documents are held out, up to its share.
ENOUGH_HELD_OUT = 2_000
# For less text than this, starting one more process takes longer than it saves.
BYTES_PER_PROCESS = 2_000_000
Documents = dict[int, PackedDocument]  # by `text_hash`
Counts = Counter[str]
Label = Mapping[str, str]


def is_prepared(path: str) -> bool:
    """Whether it is a folder that `prepare` has written."""
    return (Path(path) / INDEX_NAME).is_file()


def prepared_folders(
    paths: Sequence[str],
    out: Path,
    tokenizer: str,
    resumes: bool = False,
    trust_remote_code: bool = False,
    **about_texts: Any,
) -> list[str]:
    """Folders of prepared data; texts among `paths` are prepared into `out` as `recipe_for_texts` says.

    What is there stays if it was made from the same, and always for a run that `resumes`, which has begun with it.
    """
    folders = list(filter(is_prepared, paths))
    texts = [path for path in paths if path not in folders]
    if not texts:
        return folders
    recipe = recipe_for_texts(texts, **about_texts)
    try:
        index = shards.read_index(out)
    except ValueError:  # nothing yet, or damaged
        index = {}
    if not ((index and resumes) or index.get("made_from") == made_from(recipe, tokenizer)):
        # In this process alone: others would run the script again that called `train`.
        prepare(recipe, out, tokenizer, 1, trust_remote_code)
    return [*folders, str(out)]


def made_from(recipe: Recipe, tokenizer: str) -> str:
    """A hash of what prepared data are made from: recipe, tokenizer, and the names, sizes and times of the files."""
    files = []
    for file in text_files(recipe):
        stat = file.stat()
        files.append((str(file), stat.st_size, stat.st_mtime_ns))
    return f"{hash_id(repr((recipe, tokenizer, files))):016x}"


def prepare(
    recipe: Recipe,
    out: Path,
    tokenizer: str,
    n_processes: int = 2,
    trust_remote_code: bool = False,
) -> Index:
    """Convert the sources of a recipe; write shards and index to `out`, which holds nothing else. Gives the index.

    With `trust_remote_code` Python code beside the tokenizer may run.
    """
    if not tokenizer:
        raise ValueError(
            "Expected a tokenizer, got none. Give --tokenizer, or model.encoder in the recipe."
        )
    config = slot_config(tokenizer, recipe, trust_remote_code)
    pieces = AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=trust_remote_code)
    out = out.resolve()
    check_folder(out)
    remove_unfinished(out.parent, out.name)
    n_bytes = sum(file.stat().st_size for file in text_files(recipe))
    n_processes = min(n_processes, 1 + n_bytes // BYTES_PER_PROCESS)
    with written_whole(out) as beside:
        beside.mkdir()
        preparation = Preparation(beside)
        rows = []
        with start_workers(Converter(pieces, config, recipe), n_processes) as convert:
            for source in resolved_sources(recipe):
                rows.append(preparation.prepare_source(source, convert))
                print(describe(rows[-1], config.labels), flush=True)
        check_usable(rows, config.labels, are_asked_for="labels" in recipe.model)
        index = {
            "tokenizer": tokenizer,
            "pieces": shards.hash_of_pieces(pieces),
            "labels": config.labels,
            "words_alone": config.words_alone,
            "made_from": made_from(recipe, tokenizer),
            # A tokenizer may have more pieces than its encoder has rows; what counts is which ones the data use.
            "n_vocabulary": max(
                split["n_rows"] for row in rows for split in row["splits"].values()
            ),
            "sources": rows,
            "mixed_case": mixed_case_words(preparation.capitalised),
        }
        if preparation.for_test:
            lines = map(_json_line, preparation.for_test)
            (beside / TEST_NAME).write_text("".join(lines), encoding="utf-8")
        shards.write_index(beside, index)
    return shards.read_index(out)


@dataclass
class Preparation:
    """Writes the shards of one source after the other, and remembers what they had."""

    folder: Path
    texts: set[int] = field(default_factory=set)  # hashes of those that came: each is used once
    for_test: list[SourceDocument] = field(default_factory=list)
    # In how many documents to train on each word with a capital is.
    capitalised: Counts = field(default_factory=Counter)

    def prepare_source(self, source: Source, convert: Convert) -> Index:
        """Write the shards of a source. Gives its row of the index: files and counts, of what was skipped too."""
        skipped = Counts()
        splits: dict[str, Documents] = {"train": {}, "validation": {}}
        if source.test:
            splits["test"] = {}
        split_of = splitter(source)
        read, texts = itertools.tee(read_documents(source.path, source.text_field))
        converted = convert((document, source) for document in read)
        # disable=None: shown on a terminal only.
        bar = tqdm(converted, source.name, unit=" documents", disable=None, leave=False)
        n_words = 0
        for text, document in zip(texts, bar, strict=True):
            split, reason = split_of(document.hash), document.reason
            if split == "benchmark":
                reason = "held out for a benchmark"
            elif document.text_hash in self.texts:
                reason = "duplicate"
            if reason:
                skipped[reason] += 1
                continue
            self.texts.add(document.text_hash)
            splits[split][document.text_hash] = document._replace(capitalised=frozenset())
            if split == "train":
                self.capitalised.update(sorted(document.capitalised))
            elif split == "test":
                self.for_test.append(text)
            n_words += document.n_words
            if source.max_words and n_words >= source.max_words:
                break
        hold_enough_out(splits["train"], splits["validation"], source.validation or 0.0)
        return {
            "name": source.name,
            "language": source.language,
            "weight": source.weight,
            "skipped": skipped,
            "splits": {
                split: shards.write_split(
                    self.folder, f"{source.name}-{split}", list(documents.values())
                )
                for split, documents in splits.items()
            },
        }


def hold_enough_out(to_train: Documents, held_out: Documents, share: float) -> None:
    """Move documents of a source so small that its hashes drew too few words, until about a share is held out.

    These are whole documents, in the order of their hashes. Where each is much larger, the end of the smallest one is
    taken, cut after a mark.
    """
    if not to_train:  # the hashes drew all of it
        to_train.update(held_out)
        held_out.clear()
    n_held_out, n_left = (
        sum(document.n_words for document in part.values()) for part in (held_out, to_train)
    )
    n_wanted = min(ENOUGH_HELD_OUT, round(share * (n_held_out + n_left))) - n_held_out
    n_before = len(held_out)
    for document in sorted(to_train.values(), key=attrgetter("hash")):
        if document.n_words < 2 * n_wanted:
            held_out[document.text_hash] = to_train.pop(document.text_hash)
            n_wanted -= document.n_words
    if n_wanted <= 0 or len(held_out) > n_before:
        return
    smallest = min(to_train.values(), key=attrgetter("n_words"))
    for mark in np.flatnonzero(smallest.words.labels[:-n_wanted])[-1:].tolist():
        # The words of each part have another hash, the same for every tokenizer.
        first, last = (
            smallest._replace(
                words=smallest.words.taken(index),
                word_hash=hash_id(f"{smallest.word_hash} {len(index)}"),
            )
            for index in np.split(np.arange(smallest.n_words), [mark + 1])
        )
        del to_train[smallest.text_hash]  # what is left of it comes last
        to_train[smallest.text_hash], held_out[smallest.text_hash] = first, last


def _json_line(document: SourceDocument) -> str:
    """A document as `read_documents` reads it."""
    fields = {"words": document.words, "labels": document.labels}
    content = fields if document.words else {"text": document.text}
    return json.dumps({"id": document.id, **content}) + "\n"


def check_usable(rows: Sequence[Index], labels: Sequence[Label], are_asked_for: bool) -> None:
    """Check that there are words to train on, and that they have the labels; warn where that may be meant.

    Labels that the recipe asks for, besides the usual four, must be there. Those of a trained model need not: it
    learned them elsewhere.
    """
    if not any(row["splits"]["train"]["n_words"] for row in rows):
        why = "; ".join(describe(row, labels) for row in rows)
        raise ValueError(
            f"Expected usable training words, got none ({why}). Add text or sources, or loosen the filters."
        )
    splits = [split for row in rows for split in row["splits"].values()]
    used = {index for split in splits for index in np.flatnonzero(split["n_labels"]).tolist()}
    missing = [label for index, label in enumerate(labels) if index not in used]
    if not missing:
        return
    names = ", ".join(label["name"] for label in missing)
    usual = [label["after"] for label in DEFAULT_LABELS]
    if are_asked_for and any(label["before"] or label["after"] not in usual for label in missing):
        raise ValueError(
            f"Expected words with each of the labels, no source has any with {names}. Add text with their marks, "
            "say in mark_labels which signs mean them, or take them out of the labels."
        )
    print(f"Warning: no source has a word with these labels: {names}.", file=sys.stderr)


def mixed_case_words(capitalised: Counts) -> dict[str, int]:
    """Words with capitals inside (`iPhone`), each with the number of documents, two or more, that write it this way.

    Not those that more documents write in another way: some have `dR`, most of them `Dr`.
    """
    forms: dict[str, str] = {}
    for word, _ in capitalised.most_common():
        forms.setdefault(word.lower(), word)
    mixed = [word for word in forms.values() if casing_of(word) == MIXED and capitalised[word] > 1]
    return {word: capitalised[word] for word in mixed[:MOST_MIXED_CASE]}


def describe(row: Index, labels: Sequence[Label]) -> str:
    """One line about a prepared source: its words and marks, and what was skipped and why."""
    parts = []
    for name, split in row["splits"].items():
        part = f"{name} {split['n_documents']:,} documents, {split['n_words']:,} words"
        marks = zip(labels[1:], split["n_labels"][1:], strict=False)
        parts.append(part + "".join(f", {label['name']} {n:,}" for label, n in marks))
    skipped = ", ".join(f"{n:,} ({reason})" for reason, n in sorted(row["skipped"].items()))
    if skipped:
        parts.append(f"skipped {skipped}")
    return f"{row['name']}: {'; '.join(parts)}"


def check_folder(out: Path) -> None:
    """Check that nothing is at `out` but prepared data, perhaps, which may be replaced as a folder."""
    if os.path.ismount(out):
        raise FileExistsError(
            f"Expected a folder that can be replaced, {out} is a whole disk. Name a folder on it."
        )
    files = out.iterdir() if out.exists() else ()
    if any(path.is_dir() or not OWN_FILES.fullmatch(path.name) for path in files):
        raise FileExistsError(
            f"Expected an empty or prepared folder at {out}, got other files. Choose another --output."
        )


def slot_config(
    tokenizer: str, recipe: Recipe, trust_remote_code: bool = False
) -> PunctuationRestorationConfig:
    """What text is converted with: settings of the tokenizer's model, or the recipe's, whose labels come first."""
    from_model = recipe.model
    try:
        config = AutoConfig.from_pretrained(tokenizer, trust_remote_code=trust_remote_code)
        if isinstance(config, PunctuationRestorationConfig):
            from_model = vars(config)
    except (OSError, ValueError):  # a tokenizer without a model
        pass
    fields = {key: from_model[key] for key in ("words_alone", *LABEL_KEYS) if key in from_model}
    if "labels" in recipe.model:
        fields |= {key: recipe.model.get(key) for key in LABEL_KEYS}
    return PunctuationRestorationConfig(**fields)
