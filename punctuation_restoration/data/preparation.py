"""Prepares training data: documents → shards and an index; the command is `punctuation_restoration.cli.prepare`.

Takes a recipe, or texts of one language, and a tokenizer; writes shards of at most 30 MB, `index.json`, `table.md` with
words and marks. Where a leak check is asked for the index lists the documents that share text with a benchmark, and how
much. The model is not needed. Documents are split by a hash of their id into train, validation and, on request, test.
"""

import errno
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoConfig, AutoTokenizer

from punctuation_restoration.data import recipe as recipes
from punctuation_restoration.data import shards
from punctuation_restoration.data.conversion import Converter, converted, start_workers
from punctuation_restoration.data.leaks import LeakCheck
from punctuation_restoration.data.progress import ProgressBar
from punctuation_restoration.data.readers import SourceDocument, list_files, plain_stem, read_documents
from punctuation_restoration.data.recipe import Filters, Recipe, Source, held_out_shares
from punctuation_restoration.data.shards import ShardWriter, distinct_names, hash_id, read_hashes, split_of
from punctuation_restoration.data.summary import SPLITS, describe, missing_labels, table
from punctuation_restoration.modeling.configuration_punctuation import WORD_KEYS, PunctuationRestorationConfig
from punctuation_restoration.pipeline.casing import MIXED, casing_of
from punctuation_restoration.whole_files import written_whole

OWN_FILES = (".safetensors", ".json", ".md")
MOST_MIXED_CASE = 2_000  # words with capitals inside that are listed, those of most documents
BYTES_PER_PROCESS = 2_000_000  # for less text than this, starting one more process takes longer than it saves


def recipe_for_texts(paths: Sequence[str], language: str, validation: float = 0.05) -> Recipe:
    """A recipe for texts of one language, with gentle filters: every document with a mark is used."""
    filters = Filters(min_sentences=1, min_marks_per_word=0.01)
    names = distinct_names([plain_stem(Path(path)) or "texts" for path in paths])
    sources = (Source(name, str(path), language, filters=filters) for path, name in zip(paths, names, strict=True))
    return Recipe(name=language, sources=tuple(sources), validation=validation)


def prepare(
    recipe: Recipe, out: Path, tokenizer: str, n_processes: int = 2, max_words: int | None = None
) -> dict[str, Any]:
    """Convert every source of a recipe and write shards and index to `out`. Gives the index.

    Raises:
        ValueError: if a source cannot be read, or no document of any source is usable.
        FileExistsError: if `out` holds something else.
    """
    if not tokenizer:
        raise ValueError("Expected a tokenizer, got none. Give --tokenizer, or model.encoder in the recipe.")
    if not recipe.sources:
        raise ValueError(f"Expected one source or more in recipe {recipe.name}, got none. Add a list under 'sources'.")
    clear_folder(out)
    config = slot_config(tokenizer, recipe)
    pieces = AutoTokenizer.from_pretrained(tokenizer)
    converter = Converter(pieces, config, recipe, LeakCheck(recipe.leak_check) if recipe.leak_check else None)
    rows: list[dict[str, Any]] = []
    capitalised: Counter[str] = Counter()
    seen: set[int] = set()
    leaks: list[dict[str, Any]] = []
    files = [file for source in recipe.sources for file in list_files(Path(recipe.root) / source.path)]
    n_processes = min(n_processes, 1 + sum(file.stat().st_size for file in files) // BYTES_PER_PROCESS)
    with start_workers(converter, n_processes) as pool, ProgressBar("documents") as bar:
        for source in recipe.sources:
            path, (validation, test) = str(Path(recipe.root) / source.path), held_out_shares(source, recipe)
            limit = min((n for n in (source.max_words, max_words) if n is not None), default=None)
            source = replace(source, path=path, validation=validation, test=test, max_words=limit)
            row, shared, written = prepare_source(pool, source, out, seen, bar)
            rows.append(row)
            leaks += shared
            capitalised += written
            bar.tell(describe(row))
    index = {
        "tokenizer": tokenizer,
        # A tokenizer may have more pieces than its encoder has rows; what counts is which ones the data use.
        "n_vocabulary": max((split["n_rows"] for row in rows for split in row["splits"].values()), default=0),
        "labels": config.labels,
        **{key: getattr(config, key) for key in WORD_KEYS},
        "languages": sorted({source.language for source in recipe.sources}),
        "sources": rows,
        "mixed_case": mixed_case_words(capitalised),
        "leaks": sorted(leaks, key=lambda row: -row["share"]),
    }
    if not any(row["splits"]["train"]["n_words"] for row in rows):
        why = "; ".join(describe(row) for row in rows)
        raise ValueError(f"Expected usable training words, got none ({why}). Loosen the filters, or add text.")
    lacking, warning = missing_labels(index)
    if warning:
        print(warning, file=sys.stderr)
    if lacking and "labels" in recipe.model:  # asked for by the recipe; those of a trained model stay
        leave_out(index, lacking, out)
        print(
            f"Warning: left out of the labels, since no source has them: {', '.join(lacking)}. To learn them, add text "
            "that has their marks, or say in mark_labels which signs mean them.",
            file=sys.stderr,
        )
    shards.write_index(out, index)
    (out / "table.md").write_text(table(index), encoding="utf-8")
    print(table(index))
    return shards.read_index(out)


def prepare_source(
    pool: Executor, source: Source, out: Path, seen: set[int], bar: ProgressBar
) -> tuple[dict[str, Any], list[dict[str, Any]], Counter[str]]:
    """Convert one source and write its shards. `seen` holds the hashes of texts already used, and grows.

    Gives its row of the index (files and counts, skipped ones too), the documents that share text with a benchmark, and
    in how many documents to train on each word with capitals stands.
    """
    writers = {split: ShardWriter(out, f"{source.name}-{split}") for split in SPLITS[: 3 if source.test else 2]}
    skipped, capitalised, leaks = Counter[str](), Counter[str](), list[dict[str, Any]]()
    n_words = 0
    documents = read_documents(source.path, source.text_field)
    for conversion in converted(pool, usable(documents, read_hashes(source.held_out), seen, skipped), source):
        if conversion.n_shared:
            share = round(conversion.n_shared / conversion.n_stretches, 4)
            leaks.append({"source": source.name, "id": conversion.id, "share": share})
        if conversion.packed is None:
            skipped[str(conversion.reason)] += 1
            continue
        shares = (source.validation or 0.0, source.test or 0.0)
        split = split_of(conversion.packed.hash, *shares) if source.labelled else "train"
        writers[split].add(conversion.packed)
        capitalised.update(sorted(conversion.capitalised) if split == "train" else ())
        n_words += len(conversion.packed.words.labels)
        bar.count(n_words, "words", source.name)
        if source.max_words is not None and n_words >= source.max_words:
            break
    row = {
        "name": source.name,
        "language": source.language,
        "weight": source.weight,
        "is_labelled": source.labelled,
        "filters": asdict(source.filters),
        "skipped": dict(skipped),
        **({"read_from": [source.path, source.text_field]} if source.test else {}),
        "splits": {split: writer.finish() for split, writer in writers.items()},
    }
    return row, leaks, capitalised


def leave_out(index: dict[str, Any], names: Sequence[str], out: Path) -> None:
    """Take labels that no word has out of an index, and out of the numbering of its shards in `out`."""
    kept = [number for number, label in enumerate(index["labels"]) if label["name"] not in names]
    new_ids = np.zeros(len(index["labels"]), dtype=np.uint8)
    new_ids[kept] = np.arange(len(kept))
    index["labels"] = [index["labels"][number] for number in kept]
    index["left_out"] = list(names)
    for counts in (counts for row in index["sources"] for counts in row["splits"].values()):
        counts["n_labels"] = [counts["n_labels"][number] for number in kept if number < len(counts["n_labels"])]
        for shard in counts["shards"]:
            arrays = shards.open_shard(out / shard["file"])
            with written_whole(out / shard["file"]) as beside:
                shards.save_arrays({**arrays, "labels": new_ids[arrays["labels"]]}, beside)


def mixed_case_words(capitalised: Counter[str]) -> dict[str, int]:
    """Words with capitals inside (`iPhone`), each with the number of documents, two or more, that write it this way.

    Not those that more documents write in another way: some have `dR`, most of them `Dr`.
    """
    forms: dict[str, str] = {}
    for word, _ in capitalised.most_common():
        forms.setdefault(word.lower(), word)
    mixed = [word for word in forms.values() if casing_of(word) == MIXED and capitalised[word] > 1]
    return {word: capitalised[word] for word in mixed[:MOST_MIXED_CASE]}


def usable(
    documents: Iterable[SourceDocument], held_out: frozenset[int], seen: set[int], skipped: Counter[str]
) -> Iterator[SourceDocument]:
    """Leave out, and count, held-out ids (their hashes), and texts that, but for white space and case, came before."""
    for document in documents:
        key = hash_id("".join(document.text.split()).lower())
        if hash_id(document.id) in held_out:
            skipped["held out for a benchmark"] += 1
        elif key in seen:
            skipped["duplicate"] += 1
        else:
            seen.add(key)
            yield document


def clear_folder(out: Path) -> None:
    """Make the folder `out`, or empty it if it was prepared before.

    Raises:
        FileExistsError: if it holds files that were not written here.
    """
    if out.exists() and any(path.is_dir() or path.suffix not in OWN_FILES for path in out.iterdir()):
        raise FileExistsError(
            f"Expected an empty or prepared folder at {out}, got other files. Choose another --output."
        )
    out.mkdir(parents=True, exist_ok=True)
    for path in out.iterdir():
        path.unlink()


def slot_config(tokenizer: str, recipe: Recipe) -> PunctuationRestorationConfig:
    """The labels and casing that the text is converted with: a checkpoint's own, otherwise the recipe's.

    Labels that the recipe names come before a checkpoint's: that is to learn them. Slots are made later, so the
    tokenizer need not have a mask.
    """
    try:
        config = AutoConfig.from_pretrained(tokenizer)
    except (OSError, ValueError):  # a tokenizer without a model
        config = None
    given = vars(config) if isinstance(config, PunctuationRestorationConfig) else recipe.model
    kept = {key: given[key] for key in WORD_KEYS if key in given}
    labels = recipe.model if "labels" in recipe.model else given
    kept |= {key: labels[key] for key in recipes.LABEL_KEYS if key in labels}
    return PunctuationRestorationConfig(**kept, slot_style="last-piece")


def explain(error: BaseException) -> str:
    """The message of an error; a full disk, and a worker that ended for lack of memory, are named as such."""
    if isinstance(error, MemoryError | BrokenExecutor):
        what_to_do = "Lower --processes to 1, or split documents of many megabytes."
        return f"Expected to fit into memory, did not: a worker ended. {what_to_do}"
    if is_disk_full(error):
        place = getattr(error, "filename", None) or "the output"
        return f"Expected room on the disk for {place}, it is full. Free some and start the same command again."
    return str(error)


def is_disk_full(error: BaseException) -> bool:
    """Whether an error says that the disk is full; torch and safetensors say so only in their messages."""
    signs = ("No space left on device", "StorageFull", "PytorchStreamWriter failed")
    return getattr(error, "errno", None) == errno.ENOSPC or any(sign in str(error) for sign in signs)
