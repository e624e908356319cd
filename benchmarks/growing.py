"""A trained model → the same with more layers: those that follow in its encoder as it was pretrained.

    python -m benchmarks.growing --model checkpoints/en-zh-ms --encoder ../shared/encoder --layers 12 --out runs/grown
    python train.py --recipe recipes/student.yaml --from runs/grown --data prepared --out runs/twelve

The model of more layers is worth nothing before it has gone on training: its head has never seen what they give.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from transformers import AutoModel, AutoTokenizer

from punctuation_restoration.modeling.encoder_layers import layers_of
from punctuation_restoration.training.adapters import save_plain
from punctuation_restoration.training.building import load_own_model
from punctuation_restoration.training.checkpoints import save_model_folder


def grow_model(source: str, encoder_source: str, n_layers: int, target: Path) -> None:
    """Write the model of `source` with the layers above its own from the encoder that it began as.

    Args:
        source: folder of a trained model whose encoder has the first layers of the other one.
        encoder_source: folder or Hub id of the pretrained encoder.
        n_layers: layers that the model shall have, more than now and at most those of the encoder.
        target: folder to write; a model that is there is replaced once the new one is whole. It has no thresholds.

    Raises:
        ValueError: if a model is not ours, the encoder is of another kind or width, or has not as many layers.
    """
    model = load_own_model(source)
    encoder = AutoModel.from_pretrained(encoder_source, dtype="float32")
    own, other = model.config.encoder_config, encoder.config
    if (own.model_type, own.hidden_size) != (other.model_type, other.hidden_size):
        raise ValueError(
            f"Expected an encoder like that of {source}, {own.model_type} of width {own.hidden_size}, got "
            f"{other.model_type} of width {other.hidden_size}. Name the one that the model began as."
        )
    if not own.num_hidden_layers < n_layers <= other.num_hidden_layers:
        raise ValueError(
            f"Expected more layers than the {own.num_hidden_layers} of {source} and at most the "
            f"{other.num_hidden_layers} of {encoder_source}, got {n_layers}. Correct --layers."
        )
    layers = layers_of(model.encoder)
    layers.extend(layers_of(encoder)[len(layers) : n_layers])
    own.num_hidden_layers = model.encoder.config.num_hidden_layers = n_layers
    model.config.thresholds, model.config.calibration_temperature = None, 1.0
    tokenizer = AutoTokenizer.from_pretrained(source)
    save_model_folder(target, lambda place: save_plain(model, tokenizer, place))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Give a trained model more layers of its encoder.")
    parser.add_argument("--model", required=True, help="folder of a trained model")
    parser.add_argument("--encoder", required=True, help="pretrained encoder that the model began as")
    parser.add_argument("--layers", type=int, required=True, help="layers that the model shall have")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    args = parser.parse_args(argv)
    try:
        grow_model(args.model, args.encoder, args.layers, args.out)
    except (OSError, ValueError) as error:
        parser.exit(2, f"growing: {error}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
