"""Low-rank adapters over a frozen encoder: what a run has learned, kept apart from the pretrained weights.

    python -m punctuation_restoration.training.adapters checkpoints/teachers/en --base ENCODER --out runs/teacher

makes the whole model out of the adapters and the encoder that they were trained on (LoRA: Hu et al. 2022). The adapters
are peft's. A folder of adapters holds what was trained and nothing else:

    adapters.safetensors   low-rank matrices, classifier, trained rows of the word embeddings
    adapters.json          the encoder, and where the adapters stand in it
    config.json            of the whole model
"""

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional
from transformers import AutoConfig, AutoTokenizer

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.encoder_layers import layers_of
from punctuation_restoration.modeling.lstm_encoder import PunctuationLSTM
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.training.building import load_own_model
from punctuation_restoration.training.checkpoints import save_model_folder
from punctuation_restoration.training.settings import TrainingSettings

NOT_FIELDS = ("model_type", "sub_configs", "encoder_config")
CONFIG_FIELDS = [name for name in PunctuationRestorationConfig.__annotations__ if name not in NOT_FIELDS]
WEIGHTS_FILE, DESCRIPTION_FILE = "adapters.safetensors", "adapters.json"


@dataclass(frozen=True, slots=True)
class Adapters:
    """Where adapters stand, and in what."""

    base: str  # folder or Hub id of the pretrained encoder, or of a punctuation model
    base_hash: str  # of the encoder's weights, as far as the model uses them
    layers: int | None  # how many of its layers are used; None for all
    rank: int  # inner width of each adapter
    first_layer: int  # the first layer that has adapters
    rows: list[int]  # ids of pieces whose word embeddings were trained


def choose_trained(model: Any, settings: TrainingSettings, rows: Sequence[int], base: str) -> Adapters | None:
    """Freeze what is not trained: word embeddings but for some rows, and the layers that the settings leave out.

    Gives the adapters, where there are any; `base` is what they stand in.
    """
    rank, n_frozen = settings.adapter_rank, settings.frozen_layers
    base_hash = weights_hash(model.encoder) if rank else ""
    if not isinstance(model.encoder, PunctuationLSTM):  # which was not pretrained
        train_rows_only(model, rows)
    if rank:
        add_adapters(model, rank, n_frozen, settings.dropout)
        return Adapters(base, base_hash, settings.layers, rank, n_frozen, sorted({*rows}))
    for layer in layers_of(model.encoder)[:n_frozen] if n_frozen else ():
        layer.requires_grad_(False)
    return None


class RowTrainedEmbedding(nn.Module):
    """An embedding of which only some rows are trained.

    Autograd would build a gradient of the whole matrix, 78 MB for 50,625 pieces, at every step.

    Args:
        embedding: the embedding to stand in for; its weight is shared, not copied.
        rows: ids whose rows are trained.
    """

    ids: torch.Tensor  # (n_rows,) the trained rows
    place: torch.Tensor  # (n_vocabulary,) 1 + the place among the trained rows, 0 where a row is frozen

    def __init__(self, embedding: nn.Embedding, rows: Sequence[int]):
        super().__init__()
        self.embedding = embedding.requires_grad_(False)
        ids = torch.tensor(sorted(set(rows)), dtype=torch.long)
        place = torch.zeros(embedding.num_embeddings, dtype=torch.long)
        place[ids] = torch.arange(1, len(ids) + 1)
        self.register_buffer("ids", ids, persistent=False)
        self.register_buffer("place", place, persistent=False)
        self.rows = nn.Parameter(embedding.weight.detach()[ids].clone())  # (n_rows, H)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """`input_ids` (B, P) → (B, P, H)."""
        frozen = self.embedding(input_ids)
        place = self.place[input_ids]
        rows = functional.embedding((place - 1).clamp(min=0), self.rows)
        scale = getattr(self.embedding, "embed_scale", 1.0)  # of Gemma's, which multiplies what it looks up
        return torch.where((place > 0).unsqueeze(-1), rows * scale, frozen)


def train_rows_only(model: Any, rows: Sequence[int]) -> None:
    """Freeze the word embeddings of a model except `rows`, which may be empty."""
    embedding = model.get_input_embeddings()
    embedding.weight.requires_grad_(False)
    if rows:
        model.set_input_embeddings(RowTrainedEmbedding(embedding, rows))


def add_adapters(model: Any, rank: int, first_layer: int = 0, dropout: float = 0.0) -> None:
    """Freeze the encoder of a `PunctuationRestorationModel`, in place, and put adapters beside its matrix products.

    Args:
        rank: inner width of each adapter. They start as nothing: the model computes what it did.
        first_layer: layers before this one get none.
        dropout: of what the adapters read.

    Raises:
        ImportError: if peft is missing.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise ImportError("Expected peft, which trains adapters; it is missing. Run `pip install peft`.") from error
    layers = layers_of(model.encoder)[first_layer:]
    adapted = {module for layer in layers for module in layer.modules() if isinstance(module, nn.Linear)}
    names = [name for name, module in model.encoder.named_modules() if module in adapted]
    config = LoraConfig(r=rank, lora_alpha=rank, lora_dropout=dropout, target_modules=names)
    inject_adapter_in_model(config, model.encoder)
    for name, weight in model.encoder.named_parameters():  # the rows are of the word embeddings
        weight.requires_grad_("lora_" in name or name.endswith(".rows"))


@torch.no_grad()
def merged_weights(model: Any) -> dict[str, torch.Tensor]:
    """The weights of the plain model that computes what a model with adapters and trained rows does."""
    weights = {name: weight for name, weight in model.state_dict().items() if "lora_" not in name}
    for name, module in model.named_modules():
        if hasattr(module, "get_delta_weight"):
            weights[f"{name}.base_layer.weight"] = module.weight + module.get_delta_weight("default")
        elif isinstance(module, RowTrainedEmbedding):
            rows = weights.pop(f"{name}.rows")
            weights[f"{name}.weight"] = weights.pop(f"{name}.embedding.weight").index_copy(0, module.ids, rows)
    return {name.replace(".base_layer.", "."): weight for name, weight in weights.items()}


def save_adapters(model: Any, description: Adapters, place: Path, dtype: torch.dtype = torch.float32) -> None:
    """Write what was trained of a model: all of it or, where files are to be small, in half precision."""
    trained = {name: weight.detach() for name, weight in model.named_parameters() if weight.requires_grad}
    place.mkdir(parents=True, exist_ok=True)
    save_file({name: weight.to(dtype).contiguous() for name, weight in trained.items()}, place / WEIGHTS_FILE)
    (place / DESCRIPTION_FILE).write_text(json.dumps(asdict(description), indent=1) + "\n", encoding="utf-8")
    model.config.save_pretrained(place)


def load_adapters(model: Any, place: Path) -> None:
    """Put trained weights into a model that was given adapters in the same places.

    Raises:
        ValueError: if the file holds others.
    """
    try:
        weights = load_file(place / WEIGHTS_FILE)
    except Exception as error:
        raise ValueError(f"Expected adapters in {place}, could not read them: {error}") from error
    wanted = {name for name, weight in model.named_parameters() if weight.requires_grad}
    if wanted != set(weights):
        odd = sorted(wanted ^ set(weights))
        raise ValueError(
            f"Expected in {place} the weights that this run trains, {len(odd)} differ, such as {odd[:3]}. Use the "
            "settings that the adapters were trained with."
        )
    model.load_state_dict(weights, strict=False)


def go_on_from_adapters(model: Any, adapters: Adapters | None, place: Path) -> None:
    """Start a run, whose model was given new `adapters`, from those that an earlier one has left at `place`.

    Raises:
        ValueError: if these stand elsewhere, or in another encoder.
    """
    there = read_description(place)
    labels = PunctuationRestorationConfig.from_pretrained(place).label_names
    if labels != model.config.label_names:
        raise ValueError(
            f"Expected a run with the labels of {place}, {labels}, got {model.config.label_names}. To change them, "
            "make a whole model first (`python -m punctuation_restoration.training.adapters`), and give that to --from."
        )
    for name in ("rank", "first_layer", "layers", "base_hash"):
        expected, got = getattr(there, name), getattr(adapters, name, None)
        if expected != got:
            raise ValueError(
                f"Expected a run with the {name} of {place}, {expected}, got {got}. Give --encoder, --layers, "
                "--adapter-rank and --frozen-layers as the adapters were trained with."
            )
    load_adapters(model, place)


def read_description(place: Path) -> Adapters:
    """Where the adapters of a folder stand.

    Raises:
        ValueError: if it holds none.
    """
    try:
        return Adapters(**json.loads((place / DESCRIPTION_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"Expected a folder of adapters at {place}, could not read it: {error}") from error


def weights_hash(encoder: Any) -> str:
    """SHA-256 over the weights of an encoder, as they would be stored in half precision."""
    digest = hashlib.sha256()
    for name, weight in sorted(encoder.state_dict().items()):
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        digest.update(weight.detach().half().contiguous().view(torch.uint8).numpy())
    return digest.hexdigest()


def rebuild(folder: Path, base: str | None, out: Path) -> None:
    """Write the whole model that adapters and their encoder make; the encoder is where they say, or at `base`.

    Raises:
        ValueError: if the folder holds no adapters, or the encoder is not the one that they were trained on.
    """
    description, config = read_description(folder), PunctuationRestorationConfig.from_pretrained(folder)
    base = base or description.base
    try:
        if isinstance(AutoConfig.from_pretrained(base), PunctuationRestorationConfig):
            model = load_own_model(base, config=config, ignore_mismatched_sizes=True)  # of labels that are new
        else:
            fields = {name: getattr(config, name) for name in CONFIG_FIELDS}
            model = PunctuationRestorationModel.from_encoder(base, description.layers, **fields)
        tokenizer = AutoTokenizer.from_pretrained(base)
    except OSError as error:
        raise ValueError(f"Expected the encoder of these adapters at {base!r}: {error}") from error
    if weights_hash(model.encoder) != description.base_hash:
        raise ValueError(
            f"Expected at {base} the encoder of the adapters, {description.base}; its weights differ. Name another."
        )
    train_rows_only(model, description.rows)
    add_adapters(model, description.rank, description.first_layer)
    load_adapters(model, folder)
    save_model_folder(out, lambda place: save_plain(model, tokenizer, place))


def save_plain(model: Any, tokenizer: Any, place: Path) -> None:
    """Save a model as any other, its adapters and trained rows merged in."""
    model.save_pretrained(place, state_dict=merged_weights(model))
    tokenizer.save_pretrained(place)


def main(argv: Sequence[str] | None = None) -> int:
    """Make a whole model out of adapters; gives 0, or 2 after a message that says what was wrong."""
    parser = argparse.ArgumentParser(description="Make a whole model out of adapters and their encoder.")
    parser.add_argument("adapters", type=Path, help="folder of adapters")
    parser.add_argument("--base", help="where the encoder is; default: where it was in training")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    args = parser.parse_args(argv)
    try:
        rebuild(args.adapters, args.base, args.out)
    except ValueError as error:
        parser.exit(2, f"adapters: {error}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
