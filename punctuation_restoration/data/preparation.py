"""Prepares training data: documents of a recipe -> shards of about 30 MB, and `index.json`.

A hash of its id puts a document into train, validation or, on request, test.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm
from transformers import AutoConfig, AutoTokenizer

from punctuation_restoration.data import shards
from punctuation_restoration.data.conversion import Convert, Converter, start_workers
from punctuation_restoration.data.readers import INDEX_NAME, hash_id, read_documents
from punctuation_restoration.data.recipe import (
    LABEL_KEYS,
    Recipe,
    Source,
    recipe_for_texts,
    resolved_sources,
    text_files,
)
from punctuation_restoration.data.shards import PackedDocument
from punctuation_restoration.modeling.configuration_punctuation import (
    DEFAULT_LABELS,
    WORD_KEYS,
    PunctuationRestorationConfig,
)
from punctuation_restoration.pipeline.casing import MIXED, casing_of
from punctuation_restoration.whole_files import remove_unfinished, written_whole

OWN_FILES = re.compile(r".+-\d{4,}\.safetensors|" + re.escape(INDEX_NAME))
MOST_MIXED_CASE = 2_000  # words with capitals inside that are listed, those of most documents
# Of a source that has fewer words held out than this, more documents are held out, up to its share.
ENOUGH_HELD_OUT = 2_000
# For less text than this, starting one more process takes longer than it saves.
BYTES_PER_PROCESS = 2_000_000
Documents = list[PackedDocument]
Counts = Counter[str]
Label = Mapping[str, str]
Row = Mapping[str, Any]  # of a source in the index


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
    folders = [path for path in paths if (Path(path) / INDEX_NAME).is_file()]
    texts = [path for path in paths if path not in folders]
    if not texts:
        return folders
    recipe = recipe_for_texts(texts, **about_texts)
    try:
        index = shards.read_index(out)
    except ValueError:  # nothing yet, or damaged
        index = {}
    if not ((index and resumes) or index.get("made_from") == made_from(recipe, tokenizer)):
        prepare(recipe, out, tokenizer, trust_remote_code=trust_remote_code)
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
) -> shards.Index:
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
            **{key: getattr(config, key) for key in WORD_KEYS},
            "languages": sorted({row["language"] for row in rows}),
            "made_from": made_from(recipe, tokenizer),
            # A tokenizer may have more pieces than its encoder has rows; what counts is which ones the data use.
            "n_vocabulary": max(
                split["n_rows"] for row in rows for split in row["splits"].values()
            ),
            "sources": rows,
            "mixed_case": mixed_case_words(preparation.capitalised),
        }
        shards.write_index(beside, index)
    return shards.read_index(out)


@dataclass
class Preparation:
    """Writes the shards of one source after the other, and remembers what they had."""

    folder: Path
    texts: set[int] = field(default_factory=set)  # hashes of those that came: each is used once
    # In how many documents to train on each word with a capital is.
    capitalised: Counts = field(default_factory=Counter)

    def prepare_source(self, source: Source, convert: Convert) -> Row:
        """Write the shards of a source. Gives its row of the index: files and counts, of what was skipped too."""
        skipped = Counts()
        held_out: dict[str, Documents] = {"validation": []}
        if source.test:
            held_out["test"] = []
        # Whatever is held out is known when the documents to train on are written.
        documents = {"train": self.to_train_on(source, convert, skipped, held_out), **held_out}
        return {
            "name": source.name,
            "language": source.language,
            "weight": source.weight,
            "skipped": skipped,
            **({"read_from": [source.path, source.text_field]} if source.test else {}),
            "splits": {
                split: shards.write_split(self.folder, f"{source.name}-{split}", of_split)
                for split, of_split in documents.items()
            },
        }

    def to_train_on(
        self,
        source: Source,
        convert: Convert,
        skipped: Counts,
        held_out: Mapping[str, Documents],
    ) -> Iterator[PackedDocument]:
        """Documents to train on, until a source has `max_words`.

        The others are added to those that are `held_out`, or counted as `skipped` by the reason.
        """
        listed = shards.read_hashes(source.held_out)
        validation, test = source.validation or 0.0, source.test or 0.0
        jobs = ((document, source) for document in read_documents(source.path, source.text_field))
        n_words = n_held_out = 0
        waiting: dict[int, PackedDocument] = {}  # to train on, until enough words are held out
        # disable=None: shown on a terminal only.
        bar = tqdm(convert(jobs), source.name, unit=" documents", disable=None, leave=False)
        for document in bar:
            reason = document.reason
            if document.hash in listed:
                reason = "held out for a benchmark"
            elif document.text_hash in self.texts:
                reason = "duplicate"
            if reason:
                skipped[reason] += 1
                continue
            self.texts.add(document.text_hash)
            split = shards.split_of(document.hash, validation, test)
            if split == "train":
                self.capitalised.update(sorted(document.capitalised))
                waiting[document.text_hash] = document
            else:
                held_out[split].append(document)
            n_words += document.n_words
            n_held_out += document.n_words * (split == "validation")
            if n_held_out >= ENOUGH_HELD_OUT or not validation:
                yield from waiting.values()
                waiting.clear()
            if source.max_words and n_words >= source.max_words:
                break
        n_small = n_held_out + sum(document.n_words for document in waiting.values())
        n_wanted = min(ENOUGH_HELD_OUT, round(validation * n_small)) - n_held_out
        if waiting and n_wanted > 0:
            held_out["validation"] += hold_some_out(waiting, n_wanted)
        yield from waiting.values()


def hold_some_out(documents: dict[int, PackedDocument], n_wanted: int) -> Documents:
    """Take about `n_wanted` words out of the documents, by `text_hash`, of a source so small that too few were drawn.

    These are whole documents, in the order of their hashes. Where each is much larger, the end of the smallest one is
    taken, cut after a mark.
    """
    chosen: Documents = []
    for document in sorted(documents.values(), key=attrgetter("hash")):
        if document.n_words < 2 * n_wanted:
            chosen.append(documents.pop(document.text_hash))
            n_wanted -= document.n_words
    if chosen:
        return chosen
    smallest = min(documents.values(), key=attrgetter("n_words"))
    for mark in np.flatnonzero(smallest.words.labels[:-n_wanted])[-1:].tolist():
        del documents[smallest.text_hash]  # what is left of it comes last
        # The words of each part have another hash, the same for every tokenizer.
        documents[smallest.text_hash], last = (
            smallest._replace(
                words=smallest.words.taken(index),
                word_hash=hash_id(f"{smallest.word_hash} {len(index)}"),
            )
            for index in np.split(np.arange(smallest.n_words), [mark + 1])
        )
        chosen.append(last)
    return chosen


def check_usable(rows: Sequence[Row], labels: Sequence[Label], are_asked_for: bool) -> None:
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


def describe(row: Row, labels: Sequence[Label]) -> str:
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
    from_model: Mapping[str, Any] = recipe.model
    try:
        config = AutoConfig.from_pretrained(tokenizer, trust_remote_code=trust_remote_code)
        if isinstance(config, PunctuationRestorationConfig):
            from_model = vars(config)
    except (OSError, ValueError):  # a tokenizer without a model
        pass
    labels = recipe.model if "labels" in recipe.model else from_model
    fields = {key: from_model[key] for key in WORD_KEYS if key in from_model}
    fields |= {key: labels[key] for key in LABEL_KEYS if key in labels}
    return PunctuationRestorationConfig(**fields)
