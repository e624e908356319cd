"""What the vector of a late mask does: its length, and how many decisions change when it is set to zero.

    python -m benchmarks.late_mask --output results/late_mask.json

Takes a model with `slot_style="late-mask"` and the texts in `examples/texts`. A vector of zeros makes such a model a
tagger that reads the last piece of each word; so the fewer decisions change, the more of a tagger the model is.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.writing import write_json
from punctuation_restoration.cli.models import load_pipeline
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.registration import DEFAULT_MODEL

TEXTS = Path(__file__).resolve().parents[1] / "examples" / "texts"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write what was found if a file is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--model", default=DEFAULT_MODEL, help="folder of the model (default: the default model)")
    parser.add_argument("--texts", type=Path, default=TEXTS, help="folder of .txt files")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    restore = load_pipeline(args.model, "cpu", dtype="float32")
    texts = [path.read_text(encoding="utf-8") for path in sorted(args.texts.glob("*.txt"))]
    found = measure(restore, texts)
    print(json.dumps(found, indent=1))
    if args.output:
        signed = {**found, "signature": signature(args.model, {"texts": args.texts.name}, "cpu")}
        write_json(signed, args.output)
    return 0


def measure(restore: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Length of the vector, mean length of the pieces' states where it joins, and the decisions that it changes.

    The vector is zeros afterwards.

    Raises:
        ValueError: if the model has no late mask.
    """
    model = restore.model
    if model.config.slot_style != "late-mask":
        raise ValueError(f"Expected a model with late masks, got slot_style {model.config.slot_style!r}. Name another.")
    plain = " ".join(word["word"].lower() for word in restore(texts[0])["words"])  # as the encoder is shown it
    pieces = restore.tokenizer(plain, return_tensors="pt", truncation=True, max_length=model.config.max_window_pieces)
    with torch.no_grad():
        states = model.encoder(pieces["input_ids"], output_hidden_states=True).hidden_states
        length = model.mask_state.norm().item()
        before = labels(restore, texts)
        model.mask_state.zero_()
        after = labels(restore, texts)
    return {
        "vector_length": round(length, 3),
        "state_length": round(states[-1 - model.config.mask_layers][0, 1:-1].norm(dim=-1).mean().item(), 3),
        "n_words": len(before),
        "n_changed": sum(one != other for one, other in zip(before, after, strict=True)),
    }


def labels(restore: Any, texts: Sequence[str]) -> list[str]:
    """The label of every word, the marks of the texts being taken out first."""
    return [word["label"] for text in texts for word in restore(text, existing="replace")["words"]]


if __name__ == "__main__":
    raise SystemExit(main())
