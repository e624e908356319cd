"""Prepare training data: documents → shards and an index.

    python -m punctuation_restoration.data.prepare --recipe recipes/en-zh-ms.yaml --out prepared/

Takes a recipe and a tokenizer, writes shards of at most 30 MB, `index.json` and a table of words and marks. The model
is not needed. Documents are split into train and validation by a hash of their id.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoConfig, AutoTokenizer

from punctuation_restoration.data.conversion import Converter, Skipped, hash_id, split_of
from punctuation_restoration.data.readers import Document, read_documents
from punctuation_restoration.data.recipe import Filters, Recipe, Source, load_recipe
from punctuation_restoration.data.shards import PackedDocument, ShardWriter, write_index
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig

SPLITS = ("train", "validation")
BATCH_CHARACTERS = 100_000  # text sent to a worker at a time: about a second of its work

_converter: Converter | None = None  # one a worker process


def main(argv: Sequence[str] | None = None) -> int:
    """Prepare the data of a recipe. Gives 0, or 1 after an error message."""
    args = parse_args(argv)
    try:
        recipe = load_recipe(args.recipe)
        prepare(
            recipe,
            Path(args.out),
            args.tokenizer or str(recipe.model.get("encoder", "")),
            n_processes=args.processes,
            max_words=args.max_words,
        )
    except (ValueError, OSError) as error:
        print(f"prepare: {error}", file=sys.stderr)
        return 1
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line of `prepare`."""
    parser = argparse.ArgumentParser(prog="prepare", description="Documents to training shards.")
    parser.add_argument("--recipe", required=True, help="recipe file (YAML)")
    parser.add_argument("--out", required=True, help="folder to write")
    parser.add_argument("--tokenizer", help="tokenizer or model, folder or Hub id; default: the recipe's encoder")
    parser.add_argument("--processes", type=int, default=2, help="worker processes")
    parser.add_argument("--max-words", type=int, help="stop each source after so many words")
    return parser.parse_args(argv)


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
    if out.exists() and any(path.suffix not in (".safetensors", ".json", ".md") for path in out.iterdir()):
        raise FileExistsError(f"Expected an empty or prepared folder at {out}, got other files. Choose another --out.")
    out.mkdir(parents=True, exist_ok=True)
    for path in out.iterdir():
        path.unlink()
    config = slot_config(tokenizer, recipe)
    languages = sorted({source.language for source in recipe.sources})
    seen: set[bytes] = set()
    rows, start = [], time.perf_counter()
    with worker_pool(n_processes, tokenizer, config) as pool:
        for source_id, source in enumerate(recipe.sources):
            row = prepare_source(pool, recipe, source, out, (languages.index(source.language), source_id), seen, max_words)
            rows.append(row)
            seconds = time.perf_counter() - start
            print(f"{source.name}: {describe(row)} ({seconds:.0f} s)", flush=True)
    index = {
        "tokenizer": tokenizer,
        "n_vocabulary": len(AutoTokenizer.from_pretrained(tokenizer)),
        "labels": config.labels,
        "lowercase": config.lowercase,
        "languages": languages,
        "sources": rows,
    }
    if not any(row["splits"]["train"]["n_words"] for row in rows):
        raise ValueError("Expected usable training words, got none. The lines above say why documents were skipped.")
    write_index(out, index)
    (out / "table.md").write_text(table(index), encoding="utf-8")
    print(table(index))
    return index


def slot_config(tokenizer: str, recipe: Recipe) -> PunctuationRestorationConfig:
    """The labels and casing that the text is converted with: a checkpoint's own, otherwise the recipe's."""
    try:
        config = AutoConfig.from_pretrained(tokenizer)
    except (OSError, ValueError):
        config = None
    if isinstance(config, PunctuationRestorationConfig):
        return config
    kept = {key: recipe.model[key] for key in ("labels", "mark_labels", "lowercase") if key in recipe.model}
    return PunctuationRestorationConfig(**kept)


def worker_pool(n_processes: int, tokenizer: str, config: PunctuationRestorationConfig) -> Executor:
    """Processes that each hold a converter. Spawned: a forked tokenizer with threads can hang."""
    fields = {"labels": config.labels, "mark_labels": config.mark_labels, "lowercase": config.lowercase}
    return ProcessPoolExecutor(
        n_processes, mp_context=get_context("spawn"), initializer=start_worker, initargs=(tokenizer, fields)
    )


def start_worker(tokenizer: str, fields: dict[str, Any]) -> None:
    """Make this process's converter."""
    global _converter
    _converter = Converter(AutoTokenizer.from_pretrained(tokenizer), PunctuationRestorationConfig(**fields))


def convert_batch(documents: list[Document], filters: Filters) -> list[PackedDocument | Skipped]:
    """Convert documents in a worker."""
    assert _converter is not None
    return [_converter.convert(document, filters) for document in documents]


def prepare_source(
    pool: Executor,
    recipe: Recipe,
    source: Source,
    out: Path,
    ids: tuple[int, int],
    seen: set[bytes],
    max_words: int | None = None,
) -> dict[str, Any]:
    """Convert one source and write its shards. Gives its row of the index: files and counts, skipped ones too.

    `ids` are those of language and source; `seen` holds the hashes of texts already used, and grows.
    """
    limit = min((n for n in (source.max_words, max_words) if n is not None), default=None)
    validation = recipe.validation if source.validation is None else source.validation
    writers = {split: ShardWriter(out, f"{source.name}-{split}", *ids) for split in SPLITS}
    n_labels = {split: np.zeros(256, dtype=np.int64) for split in SPLITS}
    skipped: Counter[str] = Counter()
    n_words = 0
    documents = drop_duplicates(read_documents(Path(recipe.root) / source.path, source.text_field), seen, skipped)
    for packed in converted(pool, documents, source.filters):
        if isinstance(packed, Skipped):
            skipped[packed.reason] += 1
            continue
        split = split_of(packed.hash, validation)
        writers[split].add(packed)
        n_labels[split] += np.bincount(packed.labels, minlength=256)
        n_words += len(packed.labels)
        if limit is not None and n_words >= limit:
            break
    splits = {}
    for split, writer in writers.items():
        writer.flush()
        splits[split] = {
            "shards": writer.written,
            **{key: sum(shard[key] for shard in writer.written) for key in ("n_documents", "n_words", "n_pieces")},
            "n_labels": np.trim_zeros(n_labels[split], "b").tolist(),
        }
    return {
        "name": source.name,
        "language": source.language,
        "weight": source.weight,
        "filters": asdict(source.filters),
        "skipped": dict(skipped),
        "splits": splits,
    }


def drop_duplicates(documents: Iterable[Document], seen: set[bytes], skipped: Counter[str]) -> Iterator[Document]:
    """Leave out documents whose text, but for white space and case, came before."""
    for document in documents:
        key = hashlib.blake2b("".join(document.text.split()).lower().encode("utf-8"), digest_size=16).digest()
        if key in seen:
            skipped["duplicate"] += 1
        else:
            seen.add(key)
            yield document


def converted(
    pool: Executor, documents: Iterable[Document], filters: Filters, ahead: int = 6
) -> Iterator[PackedDocument | Skipped]:
    """Convert a stream of documents in the pool's workers; order kept, at most `ahead` batches in memory."""
    batches = in_batches(documents)
    running: deque[Future[list[PackedDocument | Skipped]]] = deque(
        pool.submit(convert_batch, batch, filters) for batch in itertools.islice(batches, ahead)
    )
    try:
        while running:
            packed = running.popleft().result()
            running.extend(pool.submit(convert_batch, batch, filters) for batch in itertools.islice(batches, 1))
            yield from packed
    finally:  # the reader may have had enough words
        for future in running:
            future.cancel()


def in_batches(documents: Iterable[Document], n_characters: int = BATCH_CHARACTERS) -> Iterator[list[Document]]:
    """Group documents into batches of about `n_characters` characters."""
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if size >= n_characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def describe(row: dict[str, Any]) -> str:
    """One line about a prepared source."""
    train, validation = row["splits"]["train"], row["splits"]["validation"]
    line = f"{train['n_documents']:,} documents, {train['n_words']:,} words, validation {validation['n_words']:,} words"
    if row["skipped"]:
        line += ", skipped " + ", ".join(f"{n:,} ({why})" for why, n in sorted(row["skipped"].items()))
    return line


def table(index: dict[str, Any]) -> str:
    """Words and marks per source and split as a Markdown table, after the MLM-Punct paper's Table I."""
    names = [label["name"] for label in index["labels"][1:]]
    head = ["language", "source", "split", "documents", "words", *names, "marks per 100 words"]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    totals: dict[tuple[str, str], list[int]] = {}
    for row in index["sources"]:
        for split in SPLITS:
            counts = row["splits"][split]
            n_labels = (counts["n_labels"] + [0] * len(names) + [0])[1 : len(names) + 1]
            cells = [counts["n_documents"], counts["n_words"], *n_labels]
            sums = totals.setdefault((row["language"], split), [0] * len(cells))
            totals[row["language"], split] = [a + b for a, b in zip(sums, cells)]
            lines.append(_table_line(row["language"], row["name"], split, cells))
    lines += [_table_line(language, "**all**", split, cells) for (language, split), cells in sorted(totals.items())]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def _table_line(language: str, source: str, split: str, cells: list[int]) -> str:
    density = f"{100 * sum(cells[2:]) / max(cells[1], 1):.1f}"
    return " | ".join([language, source, split, *(f"{cell:,}" for cell in cells), density])


if __name__ == "__main__":
    raise SystemExit(main())
