"""Prepares training data: documents of a recipe -> shards of about 30 MB, and `index.json`.

A hash of its id puts a document into train, validation or, on request, test.
"""

import json
import os
import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm
from transformers import AutoConfig, AutoTokenizer

from punctuation_restoration.data import shards
from punctuation_restoration.data.conversion import Converter, start_workers
from punctuation_restoration.data.readers import (
    INDEX_NAME,
    SourceDocument,
    hash_id,
    plain_stem,
    read_documents,
)
from punctuation_restoration.data.recipe import (
    LABEL_KEYS,
    Filters,
    Recipe,
    Source,
    held_out_shares,
    text_files,
)
from punctuation_restoration.modeling.configuration_punctuation import (
    DEFAULT_LABELS,
    WORD_KEYS,
    PunctuationRestorationConfig,
)
from punctuation_restoration.pipeline.casing import MIXED, casing_of
from punctuation_restoration.whole_files import remove_unfinished, written_whole

OWN_FILES = re.compile(r".+-\d{4,}\.safetensors|" + re.escape(INDEX_NAME))
MOST_MIXED_CASE = 2_000  # words with capitals inside that are listed, those of most documents
BYTES_PER_PROCESS = (
    2_000_000  # for less text than this, starting one more process takes longer than it saves
)


def recipe_for_texts(
    paths: Sequence[str],
    language: str,
    validation: float = 0.05,
    **fields: Any,
) -> Recipe:
    """A recipe for texts of one language. A document needs one sentence end, and one to fifty marks a hundred words."""
    filters = Filters(1, min_marks_per_word=0.01)
    names = shards.distinct_names([plain_stem(Path(path)) or "texts" for path in paths])
    sources = tuple(
        Source(name, str(path), language, filters=filters)
        for path, name in zip(paths, names, strict=True)
    )
    return Recipe(language, sources, validation=validation, **fields)


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
    folders = [str(path) for path in paths if (Path(path) / INDEX_NAME).is_file()]
    texts = [str(path) for path in paths if str(path) not in folders]
    if not texts:
        return folders
    recipe, place = recipe_for_texts(texts, **about_texts), out / INDEX_NAME
    try:
        there = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # nothing yet, or damaged
        there = {}
    if not there or not (resumes or there.get("made_from") == made_from(recipe, tokenizer)):
        prepare(recipe, out, tokenizer, trust_remote_code=trust_remote_code)
    return [*folders, str(out)]


def prepare(
    recipe: Recipe,
    out: Path,
    tokenizer: str,
    n_processes: int = 2,
    trust_remote_code: bool = False,
) -> dict[str, Any]:
    """Convert the sources of a recipe; write shards and index to `out`, which holds nothing else. Gives the index.

    With `trust_remote_code` Python code beside the tokenizer may run.
    """
    if not tokenizer:
        raise ValueError(
            "Expected a tokenizer, got none. Give --tokenizer, or model.encoder in the recipe."
        )
    if not recipe.sources:
        raise ValueError(
            f"Expected one source or more in recipe {recipe.name}, got none. Add a list under 'sources'."
        )
    config = slot_config(tokenizer, recipe, trust_remote_code)
    pieces = AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=trust_remote_code)
    converter = Converter(pieces, config, recipe)
    about = {
        "tokenizer": tokenizer,
        "pieces": shards.hash_of_pieces(pieces),
        "labels": config.labels,
        **{key: getattr(config, key) for key in WORD_KEYS},
        "languages": sorted({source.language for source in recipe.sources}),
        "made_from": made_from(recipe, tokenizer),
    }
    out = out.resolve()
    check_folder(out)
    remove_unfinished(out.parent, out.name)
    n_bytes = sum(file.stat().st_size for file in text_files(recipe))
    n_processes = min(n_processes, 1 + n_bytes // BYTES_PER_PROCESS)
    with written_whole(out) as beside:
        beside.mkdir()
        with start_workers(converter, n_processes) as convert:
            rows, capitalised = prepare_sources(convert, recipe, beside, config.labels)
        check_found(rows, config.labels, are_asked_for="labels" in recipe.model)
        splits = [split for row in rows for split in row["splits"].values()]
        # A tokenizer may have more pieces than its encoder has rows; what counts is which ones the data use.
        n_vocabulary = max(split["n_rows"] for split in splits)
        mixed_case = mixed_case_words(capitalised)
        found = {"n_vocabulary": n_vocabulary, "sources": rows, "mixed_case": mixed_case}
        shards.write_index(beside, {**about, **found})
    return shards.read_index(out)


def prepare_sources(
    convert: Callable[..., Any], recipe: Recipe, out: Path, labels: Sequence[Mapping[str, str]]
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Convert the sources of a recipe, and say what they have. Gives their rows of the index, and capitalised words."""
    rows, seen, capitalised = list[dict[str, Any]](), set[int](), Counter[str]()
    for source in recipe.sources:
        validation, test = held_out_shares(source, recipe)
        path = str(Path(recipe.root) / source.path)
        source = replace(source, path=path, validation=validation, test=test)
        rows.append(prepare_source(convert, source, out, seen, capitalised))
        print(describe(rows[-1], labels), flush=True)
    return rows, capitalised


def made_from(recipe: Recipe, tokenizer: str) -> str:
    """A hash of what prepared data are made from: recipe, tokenizer, and the names, sizes and times of the files."""
    found = [(str(file), file.stat()) for file in text_files(recipe)]
    files = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in found]
    return f"{hash_id(repr((recipe, tokenizer, files))):016x}"


def prepare_source(
    convert: Callable[..., Any],
    source: Source,
    out: Path,
    seen: set[int],
    capitalised: Counter[str],
) -> dict[str, Any]:
    """Convert one source and write its shards. Gives its row of the index: files and counts, skipped ones too.

    Two things grow: the hashes of texts `seen`, and the number of documents that have a `capitalised` word.
    """
    held_out: dict[str, list[shards.PackedDocument]] = {
        "validation": [],
        **({"test": []} if source.test else {}),
    }
    first = list[shards.PackedDocument]()  # to train on, until a document is held out
    skipped, left_out = Counter[str](), shards.read_hashes(source.held_out)
    ahead = deque[int]()  # of texts that are read, and not yet converted

    def usable() -> Iterator[tuple[SourceDocument, Source]]:
        for document in read_documents(source.path, source.text_field):
            key = hash_id(
                "".join(document.text.split()).lower()
            )  # texts that differ in blanks and case are one
            reason = "held out for a benchmark" if hash_id(document.id) in left_out else "duplicate"
            if reason == "duplicate" and key not in seen:
                seen.add(key)
                ahead.append(key)
                yield document, source
            else:
                skipped[reason] += 1

    def to_train_on() -> Iterator[shards.PackedDocument]:
        n_words, shares = 0, (source.validation or 0.0, source.test or 0.0)
        progress = {"unit": " documents", "disable": None, "leave": False}  # None: on a terminal
        for packed, reason, with_capitals in tqdm(convert(usable()), source.name, **progress):
            ahead.popleft()
            if packed is None:
                skipped[reason] += 1
                continue
            split = shards.split_of(packed.hash, *shares)
            if split != "train":
                held_out[split].append(packed)
            else:
                capitalised.update(sorted(with_capitals))
                first.append(packed)
            if held_out["validation"] or not source.validation:
                yield from first
                first.clear()
            n_words += len(packed.words.labels)
            if n_words >= (source.max_words or sys.maxsize):
                seen.difference_update(ahead)  # another source may have them
                break
        to_train, held_out["validation"][:0] = hold_some_out(first, source.validation or 0.0)
        yield from to_train

    splits = {"train": shards.write_split(out, f"{source.name}-train", to_train_on())}
    splits |= {
        split: shards.write_split(out, f"{source.name}-{split}", found)
        for split, found in held_out.items()
    }
    return {
        "name": source.name,
        "language": source.language,
        "weight": source.weight,
        "skipped": dict(skipped),
        **({"read_from": [source.path, source.text_field]} if source.test else {}),
        "splits": splits,
    }


def hold_some_out(
    documents: Sequence[shards.PackedDocument], share: float
) -> tuple[list[shards.PackedDocument], list[shards.PackedDocument]]:
    """Documents to train on and to hold out, of a source so small that no document was drawn for validation.

    Held out is the document whose size is nearest to the share of all words. One of more than a third of all words is
    split instead, after a mark: its last words are held out.
    """
    n_words = [len(document.words.labels) for document in documents]
    if not documents or not share:
        return list(documents), []
    wanted = share * sum(n_words)
    index = min(range(len(documents)), key=lambda n: abs(n_words[n] - wanted))
    others = [document for n, document in enumerate(documents) if n != index]
    chosen = documents[index]
    if n_words[index] <= sum(n_words) / 3:
        return others, [chosen]
    ends = np.flatnonzero(chosen.words.labels) + 1
    ends = ends[ends <= n_words[index] - wanted]
    if not len(ends):
        return list(documents), []
    parts = chosen.words.parted(int(ends[-1]))
    # Their words have other hashes, the same for every tokenizer.
    first, last = (
        chosen._replace(words=part, word_hash=hash_id(f"{chosen.word_hash} {len(part.labels)}"))
        for part in parts
    )
    return [*others, first], [last]


def check_found(
    rows: Sequence[Mapping[str, Any]], labels: Sequence[Mapping[str, str]], are_asked_for: bool
) -> None:
    """Check that there are words to train on, and that they have the labels; warn where that may be meant.

    Labels that the recipe asks for, besides the usual four, must be there. Those of a trained model need not: it
    learned them elsewhere.
    """
    if not any(row["splits"]["train"]["n_words"] for row in rows):
        why = "; ".join(describe(row, labels) for row in rows)
        raise ValueError(
            f"Expected usable training words, got none ({why}). Loosen the filters, or add text."
        )
    found = set[int]()
    for row in rows:
        for split in row["splits"].values():
            found.update(np.flatnonzero(split["n_labels"]).tolist())
    missing = [label for n, label in enumerate(labels) if found and n not in found]
    if not missing:
        return
    names = ", ".join(label["name"] for label in missing)
    usual = [(label["before"], label["after"]) for label in DEFAULT_LABELS]
    if are_asked_for and any((label["before"], label["after"]) not in usual for label in missing):
        raise ValueError(
            f"Expected words with each of the labels, no source has any with {names}. Add text with their marks, "
            "say in mark_labels which signs mean them, or take them out of the labels."
        )
    print(f"Warning: no source has a word with these labels: {names}.", file=sys.stderr)


def mixed_case_words(capitalised: Counter[str]) -> dict[str, int]:
    """Words with capitals inside (`iPhone`), each with the number of documents, two or more, that write it this way.

    Not those that more documents write in another way: some have `dR`, most of them `Dr`.
    """
    forms: dict[str, str] = {}
    for word, _ in capitalised.most_common():
        forms.setdefault(word.lower(), word)
    mixed = [word for word in forms.values() if casing_of(word) == MIXED and capitalised[word] > 1]
    return {word: capitalised[word] for word in mixed[:MOST_MIXED_CASE]}


def describe(row: Mapping[str, Any], labels: Sequence[Mapping[str, str]]) -> str:
    """One line about a prepared source: its words and marks, and what was skipped and why."""
    parts = [
        f"{name} {own['n_documents']:,} documents, {own['n_words']:,} words"
        for name, own in row["splits"].items()
    ]
    marks = zip(labels[1:], row["splits"]["train"]["n_labels"][1:], strict=False)
    parts[0] += "".join(f", {label['name']} {n:,}" for label, n in marks)
    if row["skipped"]:
        parts.append(
            "skipped " + ", ".join(f"{n:,} ({why})" for why, n in sorted(row["skipped"].items()))
        )
    return f"{row['name']}: {'; '.join(parts)}"


def check_folder(out: Path) -> None:
    """Check that nothing is at `out` but prepared data, perhaps, which may be replaced as a folder."""
    if os.path.ismount(out):
        raise FileExistsError(
            f"Expected a folder that can be replaced, {out} is a whole disk. Name a folder on it."
        )
    if out.exists() and any(
        path.is_dir() or not OWN_FILES.fullmatch(path.name) for path in out.iterdir()
    ):
        wanted = f"an empty or prepared folder at {out}"
        raise FileExistsError(f"Expected {wanted}, got other files. Choose another --output.")


def slot_config(
    tokenizer: str, recipe: Recipe, trust_remote_code: bool = False
) -> PunctuationRestorationConfig:
    """What text is converted with: settings of the tokenizer's model, or the recipe's, whose labels come first."""
    try:
        config = AutoConfig.from_pretrained(tokenizer, trust_remote_code=trust_remote_code)
    except (OSError, ValueError):  # a tokenizer without a model
        config = None
    given = vars(config) if isinstance(config, PunctuationRestorationConfig) else recipe.model
    labels = recipe.model if "labels" in recipe.model else given
    kept = {key: given[key] for key in WORD_KEYS if key in given}
    kept |= {key: labels[key] for key in LABEL_KEYS if key in labels}
    return PunctuationRestorationConfig(**kept)
