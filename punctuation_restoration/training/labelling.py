"""A model labels text: with the probabilities of all labels, for students, or with one label, for self-training.

    python -m punctuation_restoration.training.labelling --teacher MODEL --data prepared_for_it/ --out soft/en

`prepared_for_it/` was prepared with the teacher's tokenizer. Documents that are labelled already are passed over, and a
command that was stopped goes on. `train.py --soft-labels soft/en` learns from what is written (`data.soft_labels`).
Windows and contexts are those of serving.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer

from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.prepare import explain
from punctuation_restoration.data.progress import ProgressBar
from punctuation_restoration.data.shards import (
    PackedDocument,
    ShardWriter,
    document_borders,
    open_shard,
    read_index,
    shard_documents,
    write_index,
)
from punctuation_restoration.data.soft_labels import SoftLabels, as_bytes, claim_folder, write_part
from punctuation_restoration.pipeline.onnx_export import fingerprint
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.building import check_pieces_fit, load_own_model
from punctuation_restoration.training.validation import batched_windows, decided_words, source_windows

WORDS_PER_PART = 100_000  # at most so many words are labelled twice after a kill


def open_teacher(name: str, data: Sequence[str], device: Any) -> tuple[Any, SlotEncoder, dict[str, Any]]:
    """A model that is to label, its slot encoder, and the index of the prepared folders that it labels.

    Raises:
        ValueError: if they were prepared with other pieces than the model's.
    """
    model = load_own_model(name).eval().to(device)
    index = read_index(*data)
    check_pieces_fit(model, index, name)
    return model, SlotEncoder(AutoTokenizer.from_pretrained(name), model.config), index


def label_folder_softly(
    teacher: str, data: Sequence[str], out: Path, device: Any = "cpu", only: Sequence[str] = (), minutes: float = 0.0
) -> dict[str, Any]:
    """Label the training documents of prepared folders that are not labelled yet. Gives counts.

    Args:
        teacher: a punctuation model.
        data: folders that were prepared with its tokenizer.
        out: folder to write, or to go on with.
        only: names of sources, in the order in which they are labelled; none for all, as the index has them.
        minutes: stop after so long; 0 does not.

    Raises:
        ValueError: if the data has other pieces than the teacher, a source is unknown, or `out` is another teacher's.
    """
    started = time.perf_counter()
    model, slots, index = open_teacher(teacher, data, device)
    rows = {row["name"]: row for row in index["sources"]}
    unknown = sorted(set(only) - set(rows))
    if unknown:
        raise ValueError(f"Expected sources among {sorted(rows)}, got {unknown}. Correct --sources.")
    chosen = [rows[name] for name in only] if only else list(rows.values())
    config = model.config
    about = {"model": teacher, "weights": fingerprint(model), "labels": config.label_names}
    claim_folder(out, {**about, "mark_labels": config.mark_labels})
    known = SoftLabels(out)
    n_there = sum(row["splits"]["train"]["n_words"] for row in chosen)
    n_labelled = n_new = 0
    counts = {"n_words": n_there, "n_labelled": 0, "words_per_second": 0.0}
    with ProgressBar("labelling", n_there) as bar:
        for row in chosen:
            for shard in row["splits"]["train"]["shards"]:
                for part, n_known in _parts(Path(shard["file"]), known):
                    n_labelled += n_known
                    if part:
                        arrays = _labelled(model, slots, Path(shard["file"]), part, device)
                        write_part(out, arrays)
                        n_new += len(arrays["probabilities"])
                    bar.update(n_labelled + n_new, "words", row["name"])
                    seconds = time.perf_counter() - started
                    counts.update(n_labelled=n_labelled + n_new, words_per_second=n_new / seconds)
                    if minutes and seconds > 60 * minutes:
                        return counts
    return counts


def _parts(path: Path, known: SoftLabels) -> Iterator[tuple[list[int], int]]:
    """Documents of a shard without labels, some `WORDS_PER_PART` words at a time; and words that have them already."""
    arrays = open_shard(path)
    if "word_hashes" not in arrays:
        raise ValueError(f"Expected hashes of the words in {path}, found none. Prepare the data again.")
    part: list[int] = []
    n_words = n_known = 0
    for number, (first, end) in enumerate(document_borders(arrays)):
        if (int(arrays["document_hashes"][number]), int(arrays["word_hashes"][number])) in known.places:
            n_known += end - first
            continue
        part.append(number)
        n_words += end - first
        if n_words >= WORDS_PER_PART:
            yield part, n_known
            part, n_words, n_known = [], 0, 0
    yield part, n_known


def _labelled(model: Any, slots: Any, path: Path, documents: Sequence[int], device: Any) -> dict[str, np.ndarray]:
    arrays = open_shard(path)
    borders = document_borders(arrays)
    counts = [borders[number][1] - borders[number][0] for number in documents]
    return {
        "document_hashes": np.array(arrays["document_hashes"][documents]),
        "word_hashes": np.array(arrays["word_hashes"][documents]),
        "document_starts": np.cumsum([0, *counts]).astype(np.uint32),
        "probabilities": as_bytes(predicted_probabilities(model, slots, path, device, documents)),
    }


def label_folder(model_name: str, folder: Path, out: Path, device: Any = "cpu") -> dict[str, Any]:
    """Label every training word of a prepared folder with a model; gives the index of `out`.

    Raises:
        ValueError: if the folder was prepared with other pieces than the model's.
    """
    model, slots, index = open_teacher(model_name, [str(folder)], device)
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    n_words = 0
    with ProgressBar("labelling", sum(row["splits"]["train"]["n_words"] for row in index["sources"])) as bar:
        for source_id, row in enumerate(index["sources"]):
            writer = ShardWriter(out, f"{row['name']}-train", index["languages"].index(row["language"]), source_id)
            n_labels = np.zeros(len(index["labels"]), dtype=np.int64)
            for shard in row["splits"]["train"]["shards"]:
                probabilities = predicted_probabilities(model, slots, Path(shard["file"]), device)
                labels = probabilities.argmax(-1).astype(np.uint8)
                n_labels += np.bincount(labels, minlength=len(n_labels))
                for document in relabelled(Path(shard["file"]), labels):
                    writer.add(document)
                n_words += len(labels)
                bar.update(n_words, "words", row["name"])
            writer.flush()
            train = {**writer.finish(), "n_labels": n_labels.tolist()}
            empty = {"shards": [], "n_documents": 0, "n_words": 0, "n_pieces": 0, "n_labels": []}
            splits = {"train": train, "validation": empty}
            name = f"{row['name']}-pseudo"
            rows.append({**row, "name": name, "is_labelled": True, "is_pseudo": True, "splits": splits})
    write_index(out, {**index, "sources": rows})
    return read_index(out)


def predicted_probabilities(
    model: Any, slots: Any, path: Path, device: Any, documents: Sequence[int] | None = None
) -> np.ndarray:
    """The model's probabilities (n_words, M) of the words of a shard, or of some of its documents in turn."""
    windows = source_windows(path, 0, None, model.config, slots.has_masks, documents)
    firsts = np.cumsum([0, *(scored.keep_to - scored.keep_from for scored in windows)])
    probabilities = np.zeros((firsts[-1], len(model.config.label_names)), dtype=np.float32)
    batches = batched_windows(windows)
    for number, _, logits in decided_words(model, WindowCollator(slots), windows, batches, device):
        probabilities[firsts[number] : firsts[number + 1]] = logits.softmax(-1).numpy()
    return probabilities


def relabelled(path: Path, labels: np.ndarray) -> list[PackedDocument]:
    """The documents of a shard with other labels."""
    documents = list(shard_documents(path))
    starts = np.cumsum([len(document.labels) for document in documents])[:-1]
    return [replace(document, labels=own) for document, own in zip(documents, np.split(labels, starts), strict=True)]


def main(argv: Sequence[str] | None = None) -> int:
    """Write a teacher's labels; gives 0, or 1 after a message that says what was wrong."""
    parser = argparse.ArgumentParser(prog="labelling", description="A teacher's probabilities of every label.")
    parser.add_argument("--teacher", required=True, help="a punctuation model, folder or Hub id")
    parser.add_argument("--data", required=True, nargs="+", help="folders prepared with the teacher's tokenizer")
    parser.add_argument("--out", required=True, type=Path, help="folder to write, or to go on with")
    parser.add_argument("--sources", nargs="+", default=(), help="sources to label, in this order; default: all")
    parser.add_argument("--time-limit", type=float, default=0.0, help="minutes after which to stop; 0 for none")
    parser.add_argument("--threads", type=int, help="threads that torch computes with on a CPU")
    parser.add_argument("--cpu", action="store_true", help="compute on the CPU even if there is a GPU")
    args = parser.parse_args(argv)
    if args.threads:
        torch.set_num_threads(args.threads)
    device = "cuda" if torch.cuda.is_available() and not args.cpu else "cpu"
    try:
        done = label_folder_softly(args.teacher, args.data, args.out, device, args.sources, args.time_limit)
    except (ValueError, OSError) as error:
        print(f"labelling: {explain(error)}", file=sys.stderr)
        return 1
    share = done["n_labelled"] / max(done["n_words"], 1)
    print(
        f"{done['n_labelled']:,} of {done['n_words']:,} words ({share:.0%}) are labelled; "
        f"{done['words_per_second']:,.0f} words a second."
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
