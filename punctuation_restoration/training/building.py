"""What a run is made of: the model to start from, its batches. Takes settings, gives objects."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoTokenizer

from punctuation_restoration.data.augmentation import Augmenter
from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.conversion import stop_label_ids
from punctuation_restoration.data.preparation import MOST_MIXED_CASE
from punctuation_restoration.data.recipe import Recipe, Sampling
from punctuation_restoration.data.sampling import WindowSampler
from punctuation_restoration.data.soft_labels import SoftLabels
from punctuation_restoration.modeling.configuration_punctuation import WORD_KEYS
from punctuation_restoration.modeling.encoder_layers import layers_of
from punctuation_restoration.modeling.lstm_encoder import PunctuationLSTM
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.windows import room_of
from punctuation_restoration.training.batches import BatchSource
from punctuation_restoration.training.label_growth import with_labels
from punctuation_restoration.training.settings import MODEL_KEYS, TrainingSettings
from punctuation_restoration.training.trained_rows import train_rows_only


def build_model(settings: TrainingSettings, recipe: Recipe, index: Mapping[str, Any], start: str) -> Any:
    """The model to train, in fp32: a checkpoint's weights, or a pretrained encoder with a new classifier.

    A checkpoint gets the labels of the recipe, where that names some. Its thresholds and temperature go: they hold for
    its old weights.

    Raises:
        ValueError: if the data were prepared with other pieces or labels, or without the casings that the model is to
            learn, or nothing to start from is named.
    """
    if start:
        model = load_own_model(start, **new_style(settings, recipe))
        model.set_head(settings.head or model.config.head)
        if "labels" in recipe.model:
            model = with_labels(model, recipe.model["labels"], recipe.model.get("mark_labels"))
        model.config.thresholds, model.config.calibration_temperature = None, 1.0
    elif settings.encoder:
        model = start_from_encoder(settings, recipe)
    else:
        raise ValueError("Expected something to start from, got neither --model nor --encoder. Give one.")
    check_data_fit(model, index, start or str(settings.encoder))
    if model.config.casings:
        learn_casings(model, index, settings.casings)
    set_dropout(model, settings.dropout)
    return model


def new_style(settings: TrainingSettings, recipe: Recipe) -> dict[str, Any]:
    """Fields of the configuration that a run changes in the checkpoint that it starts from: how slots are read, what
    is learned besides marks."""
    fields = {"open_ends": recipe.model.get("open_ends"), "slot_style": settings.slot_style}
    fields["casings"] = settings.casings or None  # a run cannot take them away
    return {key: value for key, value in fields.items() if value is not None}


def start_from_encoder(settings: TrainingSettings, recipe: Recipe) -> Any:
    """A pretrained encoder with a new classifier.

    Raises:
        ValueError: if there is no whole encoder with its tokenizer at that place.
    """
    name = str(settings.encoder)
    config, _ = read_encoder(name)
    style = settings.slot_style or "last-piece"
    fields = {key: value for key, value in recipe.model.items() if key not in MODEL_KEYS}
    fields.setdefault("max_window_pieces", longest_window(config, recipe.sampling, style))
    given = {"head": settings.head, "bidirectional_from": settings.bidirectional_from, "casings": settings.casings}
    fields.update({key: value for key, value in given.items() if value is not None})
    try:
        model: Any = PunctuationRestorationModel.from_encoder(name, settings.layers, slot_style=style, **fields)
    except OSError as error:
        raise ValueError(f"Expected the weights of an encoder at {name!r}, could not load them: {error}") from error
    return model


def read_encoder(name: str) -> tuple[Any, Any]:
    """Configuration and tokenizer of a pretrained encoder, by its folder or Hub id.

    Raises:
        ValueError: if it is no encoder, or has no tokenizer.
    """
    if name.lower().endswith(".gguf"):
        raise ValueError(
            f"Expected the folder of an encoder, got the GGUF file {name}. Write a folder from it first: AutoModel and "
            f"AutoTokenizer.from_pretrained({str(Path(name).parent)!r}, gguf_file={Path(name).name!r}), then "
            "save_pretrained."
        )
    try:
        config = AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise ValueError(f"Expected an encoder at {name!r}, could not load it: {error}") from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        if set(tokenizer.get_vocab().values()) <= set(tokenizer.all_special_ids):  # made without any file
            raise ValueError("it has special pieces only.")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"Expected a tokenizer beside the encoder in {name!r}, could not load one: {error} Copy its files there."
        ) from error
    return config, tokenizer


def longest_window(encoder_config: Any, sampling: Sampling, slot_style: str) -> int:
    """Pieces of the longest window to train on, and to serve: the recipe's longest, or what the encoder can place."""
    limits = [getattr(encoder_config, name, None) for name in ("max_position_embeddings", "sliding_window")]
    # RoBERTa's first two are not used. Where no masks stand among the pieces, known marks come on top of them.
    share = 1 + sampling.max_filled if slot_style == "last-piece" and sampling.filled_windows else 1
    return min([max(sampling.lengths), *(int((limit - 2) / share) for limit in limits if limit)])


def load_own_model(name: str, **settings: Any) -> Any:
    """A punctuation model of ours, in fp32.

    Raises:
        ValueError: if there is none of that name.
    """
    try:
        return PunctuationRestorationModel.from_pretrained(name, dtype=torch.float32, **settings)
    except OSError as error:
        raise ValueError(f"Expected a punctuation model at {name!r}, could not load it: {error}") from error


def check_data_fit(model: Any, index: Mapping[str, Any], name: str) -> None:
    """Check that data were prepared with the pieces and labels of a model.

    Raises:
        ValueError: if not, or if unlabelled text is among them.
    """
    config = model.config
    expected, got = config.label_names, [label["name"] for label in index["labels"]]
    if expected != got:
        raise ValueError(
            f"Expected data with the labels {expected}, got {got}. Train with the data's own labels (train.py --labels "
            f"FILE, or a recipe that names them), or prepare the data again with --tokenizer {name} and the labels of "
            "this run."
        )
    for key in WORD_KEYS:
        expected, got = getattr(config, key), index[key]
        if expected != got:
            raise ValueError(f"Expected data with {key}={expected}, got {got}. Prepare it with --tokenizer {name}.")
    check_pieces_fit(model, index, name)
    bare = [row["name"] for row in index["sources"] if not row.get("is_labelled", True)]
    if bare:
        raise ValueError(
            f"Expected labelled text, the sources {bare} were prepared without labels. Give them to "
            "`python -m punctuation_restoration.training.self_training --unlabelled`."
        )


def learn_casings(model: Any, index: Mapping[str, Any], is_asked: bool) -> None:
    """Prepare a model with a head of casings for some data: the words with capitals inside, the data's first.

    Data that say nothing of casings (Mandarin, Tamil, lower-case text) leave the head as it is: it gets no gradient and
    no weight decay.

    Raises:
        ValueError: if the run asks for casings and the data have none.
    """
    if not any(row["splits"]["train"].get("n_cased") for row in index["sources"]):
        if is_asked:
            raise ValueError(
                "Expected data with casings for --casings, got none. Prepare it again from texts with capitals, or "
                "leave --casings out."
            )
        model.classifier.casings.requires_grad_(False)
        return
    listed: dict[str, str] = {}
    for word in (*index["mixed_case"], *(model.config.mixed_case or ())):
        listed.setdefault(word.lower(), word)
    model.config.mixed_case = list(listed.values())[:MOST_MIXED_CASE]


def check_pieces_fit(model: Any, index: Mapping[str, Any], name: str) -> None:
    """Check that data has no piece that a model does not know.

    Raises:
        ValueError: if it may have.
    """
    n_rows = model.get_input_embeddings().num_embeddings
    if index["n_vocabulary"] > n_rows:
        raise ValueError(
            f"Expected piece ids below {n_rows}, the data were prepared with {index['n_vocabulary']} pieces. Prepare "
            f"it with --tokenizer {name}."
        )


def batch_source(
    settings: TrainingSettings,
    recipe: Recipe,
    index: Mapping[str, Any],
    slots: Any,
    config: Any,
    part: tuple[int, int],
    soft_labels: str | None = None,
) -> BatchSource:
    """The batches of a run.

    Args:
        part: the process's index and the number of processes.
        soft_labels: folder of another model's probabilities.

    Raises:
        ValueError: if the folder holds none, or those of other labels.
    """
    soft = SoftLabels(Path(soft_labels), config.label_names) if soft_labels else None
    sampler = WindowSampler(
        index,
        fitting_lengths(recipe.sampling, 2 + room_of(config)),  # no padding behind `</s>` in the samplers' lengths
        settings.pieces_per_batch * settings.accumulate * part[1],
        int(slots.has_masks),
        stop_label_ids(config.labels),
        settings.seed,
        weights={source.name: source.weight for source in recipe.sources},
        soft_labels=soft.of_shard if soft else None,
    )
    filled = recipe.sampling.filled_windows, recipe.sampling.max_filled
    collator = WindowCollator(slots, *filled, build_augmenter(recipe, index, slots), config.casings)
    return BatchSource(sampler, collator, *part, settings.accumulate)


def fitting_lengths(sampling: Sampling, longest: int) -> Sampling:
    """Sampling with no window longer than the model serves; shares of longer ones go to the longest."""
    lengths: dict[int, float] = {}
    for length, share in sampling.lengths.items():
        lengths[min(length, longest)] = lengths.get(min(length, longest), 0.0) + share
    return replace(sampling, lengths=lengths)


def build_augmenter(recipe: Recipe, index: Mapping[str, Any], slots: Any) -> Augmenter | None:
    """The recipe's augmentation, or None where it changes nothing."""
    augmentation = recipe.augmentation
    if not augmentation.rate:
        return None
    ordinary = np.setdiff1d(np.arange(index["n_vocabulary"]), slots.tokenizer.all_special_ids)
    return Augmenter(augmentation, slots.unk_id, ordinary)


def choose_trained(model: Any, slots: Any, n_frozen_layers: int, new_pieces: Sequence[int]) -> None:
    """Freeze the first layers of a model, and its word embeddings but for the rows that are new to its encoder."""
    if not isinstance(model.encoder, PunctuationLSTM):  # which was not pretrained
        # Where slots are no pieces, marks are shown as in any text: the encoder knows these pieces.
        shown = () if model.config.slot_style == "last-piece" else (slots.mask_id, *slots.fill_ids)
        train_rows_only(model, [row for row in (*shown, *new_pieces) if row is not None])
    for layer in layers_of(model.encoder)[:n_frozen_layers] if n_frozen_layers else ():
        layer.requires_grad_(False)


def set_dropout(model: Any, share: float) -> None:
    """Set the encoder's dropout of hidden states, in the modules; with 0 the head has none either.

    Attention weights get none, which is slow on a CPU. Decoders mostly have none to set.
    """
    for name, module in model.encoder.named_modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0 if name.endswith(_ATTENTION_DROPOUTS) else share
    for module in model.classifier.modules() if share == 0 else ():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0


# Dropout of attention weights, in the classes of transformers: BERT's, ModernBERT's, DistilBERT's, DeBERTa's, MPNet's.
_ATTENTION_DROPOUTS = (".self.dropout", "attn.out_drop", "attention.dropout", ".self.attn_dropout", "attn.dropout")
