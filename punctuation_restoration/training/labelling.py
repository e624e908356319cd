"""A model labels text: with the probabilities of all labels, for students, or with one label, for self-training.

    python -m punctuation_restoration.training.labelling --teacher MODEL --data prepared_for_it/ --out soft/en

`prepared_for_it/` was prepared with the teacher's tokenizer. Documents that are labelled already are passed over, and a
command that was stopped goes on. `train.py --soft-labels soft/en` learns from what is written (`data.soft_labels`).
Windows and contexts are those of serving.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer

from punctuation_restoration.data import shards
from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.prepare import explain
from punctuation_restoration.data.progress import ProgressBar
from punctuation_restoration.data.soft_labels import SoftLabels, as_bytes, claim_folder, write_part
from punctuation_restoration.pipeline.onnx_export import fingerprint
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.building import check_pieces_fit, load_own_model
from punctuation_restoration.training.precision import choose_precision, use_fp32_attention
from punctuation_restoration.training.validation import decided_words, source_windows

WORDS_PER_PART = 100_000  # at most so many words are labelled twice after a kill


class Labeller:
    """A punctuation model, folder or Hub id, that labels folders which were prepared with its tokenizer.

    Raises:
        ValueError: if they were prepared with other pieces than the model's.
    """

    def __init__(self, name: str, data: Sequence[str], device: Any):
        self.model, self.device = load_own_model(name).eval().to(device), device
        self.is_half = choose_precision("auto", torch.device(device).type)[0] == "bf16"
        use_fp32_attention(self.model)
        self.index = shards.read_index(*data)
        check_pieces_fit(self.model, self.index, name)
        self.collator = WindowCollator(SlotEncoder(AutoTokenizer.from_pretrained(name), self.model.config))

    def probabilities(self, path: Path, documents: Sequence[int] | None = None) -> np.ndarray:
        """The model's probabilities (n_words, M) of the words of a shard, or of some of its documents in turn."""
        windows = source_windows(path, self.model.config, documents=documents)
        firsts = np.cumsum([0, *(scored.kept.stop - scored.kept.start for scored in windows)])
        probabilities = np.zeros((firsts[-1], len(self.model.config.label_names)), dtype=np.float32)
        # A byte a label is kept: half precision loses nothing of it.
        with torch.autocast(torch.device(self.device).type, torch.bfloat16, enabled=self.is_half):
            for number, _, logits, _ in decided_words(self.model, self.collator, windows, self.device):
                probabilities[firsts[number] : firsts[number + 1]] = logits.softmax(-1).numpy()
        return probabilities


def label_folder_softly(
    teacher: str, data: Sequence[str], out: Path, device: Any = "cpu", only: Sequence[str] = (), minutes: float = 0.0
) -> dict[str, Any]:
    """Label the training documents of folders, prepared with the teacher's tokenizer, that `out` lacks. Gives counts.

    Args:
        only: names of sources, in the order in which they are labelled; none for all, as the index has them.
        minutes: stop after so long; 0 does not.

    Raises:
        ValueError: if the data has other pieces than the teacher, a source is unknown, or `out` is another teacher's.
    """
    started = time.perf_counter()
    labeller = Labeller(teacher, data, device)
    rows = {row["name"]: row for row in labeller.index["sources"]}
    unknown = sorted(set(only) - set(rows))
    if unknown:
        raise ValueError(f"Expected sources among {sorted(rows)}, got {unknown}. Correct --sources.")
    chosen = [rows[name] for name in only or rows]
    config = labeller.model.config
    about = {"model": teacher, "weights": fingerprint(labeller.model), "labels": config.label_names}
    claim_folder(out, {**about, "mark_labels": config.mark_labels})
    known = SoftLabels(out)
    n_there = sum(row["splits"]["train"]["n_words"] for row in chosen)
    n_known = n_new = 0
    seconds = 0.0
    with ProgressBar("labelling", n_there) as bar:
        for path in (Path(shard["file"]) for row in chosen for shard in row["splits"]["train"]["shards"]):
            arrays = shards.open_shard(path)
            n_words = np.diff(shards.document_borders(arrays))[:, 0]
            is_new = np.array([key not in known.places for key in shards.document_keys(arrays)])
            n_known += int(n_words[~is_new].sum())
            new = np.flatnonzero(is_new)
            parts = np.cumsum(n_words[new]) // WORDS_PER_PART  # the number of the part that each document goes to
            for part in (new[parts == number].tolist() for number in np.unique(parts)):
                if minutes and seconds > 60 * minutes:
                    break
                labels = {
                    "document_hashes": arrays["document_hashes"][part],
                    "word_hashes": arrays["word_hashes"][part],
                    "document_starts": np.cumsum([0, *n_words[part]]).astype(np.uint32),
                    "probabilities": as_bytes(labeller.probabilities(path, part)),
                }
                write_part(out, labels)
                n_new += len(labels["probabilities"])
                bar.count(n_known + n_new, "words", path.stem)
                seconds = time.perf_counter() - started
    return {"n_words": n_there, "n_labelled": n_known + n_new, "words_per_second": n_new / max(seconds, 1e-9)}


def label_folder(model_name: str, folder: Path, out: Path, device: Any = "cpu") -> dict[str, Any]:
    """Label every training word of a prepared folder with a model; gives the index of `out`.

    Raises:
        ValueError: if the folder was prepared with other pieces than the model's.
    """
    labeller = Labeller(model_name, [str(folder)], device)
    index = labeller.index
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    with ProgressBar("labelling", sum(row["splits"]["train"]["n_words"] for row in index["sources"])) as bar:

        def labelled(train: Mapping[str, Any]) -> Iterator[shards.PackedDocument]:
            for path in (Path(shard["file"]) for shard in train["shards"]):
                labels = labeller.probabilities(path).argmax(-1).astype(np.uint8)
                yield from shards.shard_documents(path, labels)
                bar.count_more(len(labels), "words")

        for row in index["sources"]:
            train = shards.write_split(out, f"{row['name']}-train", labelled(row["splits"]["train"]))
            splits = {"train": train, "validation": shards.write_split(out, f"{row['name']}-validation", ())}
            about = {"name": f"{row['name']}-pseudo", "is_labelled": True, "is_pseudo": True}
            rows.append({**row, **about, "splits": splits})
    shards.write_index(out, {**index, "sources": rows})
    return shards.read_index(out)


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
