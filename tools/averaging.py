"""Several trained models → one model with the mean of their weights.

    python -m tools.averaging runs/a/final runs/b/final --output runs/mean

The mean of models that went on from one checkpoint, with other seeds or for more steps, is mostly at least as good as
the best of them ("model soups", Wortsman et al. 2022, Section 3; over the steps of one run, Izmailov et al. 2018).
Score it on validation data. The mean of models that were trained apart from the start is useless. With `--labels` only
the labels named stay.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from transformers import AutoTokenizer

from punctuation_restoration.export import check_place
from punctuation_restoration.training.building import load_own_model, with_labels
from punctuation_restoration.whole_files import written_whole

# Where these differ, weights of the same shapes mean different things.
READING = ("labels", "words_alone")
HEAD = "classifier.casings."


def average_models(sources: Sequence[str], target: Path, labels: Sequence[str] = ()) -> None:
    """Write the model whose weights are the mean of those of `sources`.

    Args:
        sources: folders of trained models, at least one; the first one gives configuration and tokenizer, and its
            head of casings where others have none. Its thresholds, found for its own weights, are dropped. Models that
            lack labels of the first one get them, as they do when training goes on from them.
        target: folder to write; a model that is there is replaced once the new one is whole.
        labels: names of the labels that stay; all without it. The sign of another means its basic mark again.

    Raises:
        ValueError: if the first source lacks a label named; if another is no model of ours, reads text or labels
            differently from the first one, or has weights of other names or shapes.
    """
    model, *others = map(load_own_model, sources)
    own, states = model.config, [model.state_dict()]
    if unknown := set(labels) - set(own.label_names):
        raise ValueError(f"Expected labels among {own.label_names}, got {sorted(unknown)}. Correct them.")
    shapes = {(name, weight.shape) for name, weight in states[0].items()}
    for source, other in zip(sources[1:], others, strict=True):
        if set(other.config.label_names) < set(own.label_names):
            other = with_labels(other, own.labels, own.mark_labels)
        for field in READING:
            expected, got = getattr(own, field), getattr(other.config, field)
            if got != expected:
                wanted = f"in {source} the {field} of {sources[0]}, {expected}"
                raise ValueError(f"Expected {wanted}, got {got}. Average models that were trained from one checkpoint.")
        states.append(other.state_dict())
        there = {(name, weight.shape) for name, weight in states[-1].items()}
        odd = sorted({name for name, _ in shapes ^ there if other.config.casings or HEAD not in name})
        if odd:
            wanted, got = f"in {source} the weights that {sources[0]} has", f"other names or shapes: {odd[:3]}"
            raise ValueError(f"Expected {wanted}, got {got}. Average models of one architecture only.")
    for name, weight in states[0].items():  # which share memory with the model
        found = [state[name].double() for state in states if name in state]
        weight.copy_(sum(found) / len(found))
    own.thresholds, own.calibration_temperature = None, 1.0
    if labels:
        model = with_labels(model, [row for row in own.labels if row["name"] in labels])
    check_place(target, sources[0], True, ("config.json", "model.safetensors"))
    with written_whole(target) as beside:
        model.save_pretrained(beside)
        AutoTokenizer.from_pretrained(sources[0]).save_pretrained(beside)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Average the weights of trained models.")
    parser.add_argument("sources", nargs="+", help="folders of trained models that have a common ancestor")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    parser.add_argument("--labels", nargs="+", default=(), metavar="NAME", help="labels that stay; all without it")
    args = parser.parse_args(argv)
    try:
        average_models(args.sources, args.output, args.labels)
    except (ValueError, FileExistsError) as error:
        parser.exit(2, f"averaging: {error}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
