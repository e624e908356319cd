"""The model that a run starts from: a punctuation model, perhaps with other labels, or a pretrained encoder."""

import copy
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer

from punctuation_restoration.data.preparation import MOST_MIXED_CASE
from punctuation_restoration.data.recipe import Recipe, Sampling
from punctuation_restoration.data.shards import Index, check_same_words
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.training.settings import MODEL_KEYS, TrainingSettings

# How likely a new mark is at first, beside the one that it starts from: rare, so that the likeliest label stays that.
FIRST_ODDS = 0.1
# What a checkpoint gets from the recipe too.
SERVED = ("window", "left_context", "right_context", "max_window_pieces")
DROPOUT = 0.1  # of hidden states, where none is asked for
# Dropout of attention weights, by its path in transformers' classes; BERT's `attention.output` has that of states.
ATTENTION = re.compile(r"\.self\.|attn|attention(?!\.output)")


def build_model(
    settings: TrainingSettings,
    recipe: Recipe,
    index: Index,
    start: str,
    trust_remote_code: bool = False,
) -> Any:
    """The model to train, in fp32: a checkpoint's weights, or a pretrained encoder with a new classifier.

    A checkpoint gets the labels and windows of the recipe; its thresholds and temperature hold for old weights, and go.
    A `ValueError` if the data do not fit the model.
    """
    keys = recipe.model.keys() - set(MODEL_KEYS)
    if unknown := PunctuationRestorationConfig.unknown_keys(keys):
        raise ValueError(
            f"Expected known fields under 'model' in the recipe, got {unknown}. Remove them."
        )
    if start:
        fields = {key: recipe.model[key] for key in SERVED if recipe.model.get(key) is not None}
        if settings.casings:  # no run takes casings away
            fields["casings"] = True
        model = load_own_model(start, **fields)
        if "labels" in recipe.model:
            model = with_labels(model, recipe.model["labels"], recipe.model.get("mark_labels"))
        model.config.thresholds, model.config.calibration_temperature = None, 1.0
    else:
        model = start_from_encoder(settings, recipe, trust_remote_code)
    check_same_words(index, model.config, start or str(settings.encoder))
    if model.config.casings:
        learn_casings(model, index, settings.casings)
    set_dropout(model, settings.dropout)
    return model


def load_own_model(name: str, **settings: Any) -> Any:
    """A punctuation model of ours, folder or Hub id, in fp32."""
    try:
        kind = PunctuationRestorationConfig.get_config_dict(name)[0].get("model_type")
        if kind != PunctuationRestorationConfig.model_type:
            raise ValueError(
                f"Expected a punctuation model at {name!r}, got a model of type {kind!r}. Give an encoder to start "
                "from as --encoder."
            )
        return PunctuationRestorationModel.from_pretrained(name, dtype=torch.float32, **settings)
    except OSError as error:
        raise ValueError(
            f"Expected a punctuation model at {name!r}, could not load it: {error}"
        ) from error


def with_labels(
    model: Any,
    labels: Sequence[Mapping[str, str]],
    mark_labels: Mapping[str, str | None] | None = None,
) -> Any:
    """The model with these labels, in their order; itself where they are its own. A `ValueError` if they do not fit.

    The classifier's rows are copied by name. A new label starts from the one that its sign has meant so far (`!` from
    the period, `、` from the comma), or from "no mark": at a tenth of its odds, unless it writes the same.
    """
    old = model.config
    fields = {**old.to_dict(), "labels": labels, "mark_labels": mark_labels}
    fields |= {"thresholds": None, "calibration_temperature": 1.0}  # they hold for the old labels
    config: Any = PunctuationRestorationConfig.from_dict(fields)
    if (config.labels, config.mark_labels) == (old.labels, old.mark_labels):
        return model
    rows, shifts = [], []
    for label in config.labels:
        name, written = label["name"], (label["before"], label["after"])
        meant = old.mark_labels.get("".join(written)[-1:]) or old.label_names[0]
        rows.append(old.label2id[name if name in old.label2id else meant])
        source = old.labels[rows[-1]]
        is_old = name == source["name"] or written == (source["before"], source["after"])
        shifts.append(0.0 if is_old else math.log(FIRST_ODDS))
    grown = copy.deepcopy(model)
    grown.config, config.encoder_config = config, grown.encoder.config
    layer = grown.classifier.out_proj
    layer.out_features = len(rows)
    layer.weight = torch.nn.Parameter(layer.weight.detach()[rows])
    layer.bias = torch.nn.Parameter(layer.bias.detach()[rows] + torch.tensor(shifts))
    return grown


def start_from_encoder(settings: TrainingSettings, recipe: Recipe, trust_remote_code: bool) -> Any:
    """A pretrained encoder, folder or Hub id, with a new classifier."""
    name = str(settings.encoder)
    fields = {key: value for key, value in recipe.model.items() if key not in MODEL_KEYS}
    fields["casings"] = settings.casings
    try:
        config = AutoConfig.from_pretrained(name, trust_remote_code=trust_remote_code)
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=trust_remote_code)
        # transformers makes such a tokenizer where there is no file of one.
        if set(tokenizer.get_vocab().values()) <= set(tokenizer.all_special_ids):
            raise ValueError("its tokenizer has special pieces only.")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"Expected an encoder with its tokenizer beside it at {name!r}, could not load them: {error} Of a GGUF "
            "file write a folder first: from_pretrained(FOLDER, gguf_file=FILE), then save_pretrained."
        ) from error
    fields.setdefault("max_window_pieces", longest_window(config, recipe.sampling))
    try:
        return PunctuationRestorationModel.from_encoder(
            name,
            settings.layers,
            trust_remote_code=trust_remote_code,
            **fields,
        )
    except OSError as error:
        raise ValueError(
            f"Expected the weights of an encoder at {name!r}, could not load them: {error}"
        ) from error


def longest_window(encoder_config: Any, sampling: Sampling) -> int:
    """Pieces of the longest window to train on, and to serve: the recipe's longest, or what the encoder can place."""
    limits = [
        getattr(encoder_config, name, None)
        for name in ("max_position_embeddings", "sliding_window")
    ]
    # RoBERTa's first two are not used.
    return min([max(sampling.lengths), *(limit - 2 for limit in limits if limit)])


def learn_casings(model: Any, index: Index, is_asked: bool) -> None:
    """Give a model with a head of casings the data's words with capitals inside; without any it is not trained."""
    if any(row["splits"]["train"].get("n_cased") for row in index["sources"]):
        listed: dict[str, str] = {}
        for word in (*index["mixed_case"], *(model.config.mixed_case or ())):
            listed.setdefault(word.lower(), word)
        model.config.mixed_case = list(listed.values())[:MOST_MIXED_CASE]
    elif is_asked:
        raise ValueError(
            "Expected data with casings for --casings, got none. Prepare it again from texts with capitals, or leave "
            "--casings out."
        )
    else:
        model.classifier.casings.requires_grad_(False)


def set_dropout(model: Any, share: float | None) -> None:
    """Set the encoder's dropout of hidden states, and none of attention weights, where it is slow on a CPU.

    None is 0.1 where the encoder has any dropout. Elsewhere a share above 0 is a `ValueError`: it would do nothing.
    With 0 the head has none either.
    """
    has_any = False
    # Some encoders call the function, with a share of their own or of their configuration.
    for name, holder in (*model.encoder.named_modules(), ("", model.encoder.config)):
        for key, value in vars(holder).items():
            if isinstance(value, float) and (key == "p" or "dropout" in key):
                is_attention = ATTENTION.search(f"{name}.{key}")
                has_any |= key == "p" and not is_attention
                hidden = DROPOUT if share is None else share
                setattr(holder, key, 0.0 if is_attention else hidden)
    if share and not has_any:
        kind = type(model.encoder).__name__
        raise ValueError(
            f"Expected an encoder with dropout for dropout {share}, {kind} has none. Leave it out, and regularise by "
            "label smoothing or a recipe's augmentation."
        )
    if share == 0:
        model.classifier.dropout.p = 0.0
