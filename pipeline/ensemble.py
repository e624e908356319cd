"""Several models that decide together: loads those beside the first, and says which labels and thresholds they share.

Takes pipelines and names of models. Each reads the words in its own pieces and windows, so tokenizers, encoders and
slots may differ; what is averaged is the probability of each label of each word. It knows nothing of texts.
"""

import os
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from transformers import AutoTokenizer, PreTrainedConfig


def load_others(first: Any, models: Sequence[Any]) -> list[Any]:
    """A pipeline of each further model, computed as the first one is; what is a pipeline already stays as it is.

    Raises:
        OSError: if there is no model of that name.
        ValueError: if one is no punctuation model, or has other labels than the first.
    """
    given = [models] if isinstance(models, str | os.PathLike) else models
    loaded = [_load_like(first, one) if isinstance(one, str | os.PathLike) else one for one in given]
    others = [member for one in loaded for member in (one, *one.others)]
    for other in others:
        label_columns(first.model.config, other.model.config)
    return others


def _load_like(first: Any, name: str | os.PathLike[str]) -> Any:
    """The pipeline of a model, with the class, number format, device and backend of another."""
    expected, found = first.model.config.model_type, PreTrainedConfig.get_config_dict(name)[0].get("model_type")
    if found != expected:
        raise ValueError(f"Expected a model of the type {expected!r} at {name}, got {found!r}. Leave it out.")
    model = type(first.model).from_pretrained(name, dtype=first.model.dtype)
    tokenizer = AutoTokenizer.from_pretrained(name)
    return type(first)(model, tokenizer, task=first.task, device=first.device, backend=first.backend)


def label_columns(config: Any, other: Any) -> list[int]:
    """Which label of another model each label of a model is: the one of the same name.

    Raises:
        ValueError: if one has a label that the other lacks.
    """
    names, others = config.label_names, other.label_names
    if set(names) != set(others):
        raise ValueError(
            f"Expected models with the same labels in an ensemble, {names}, got {others} in "
            f"{other._name_or_path or 'a further model'}. Leave it out, or train it with these (train.py --labels)."
        )
    return [others.index(name) for name in names]


def mean_thresholds(configs: Sequence[Any]) -> dict[str, float]:
    """The mean threshold of each label for which all models have one."""
    given = [config.thresholds or {} for config in configs]
    return {name: fmean(one[name] for one in given) for name in given[0] if all(name in one for one in given)}
