"""The configuration: encoder, labels, what existing marks mean, and the windows the model was trained for.

It knows nothing about tensors or text.
"""

import contextlib
import os
import shutil
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

from transformers import AutoConfig, PreTrainedConfig
from transformers.dynamic_module_utils import get_cached_module_file, get_relative_import_files
from transformers.utils import HF_MODULES_CACHE, logging

logger = logging.get_logger(__name__)

NO_MARK = "O"

Fields = dict[str, Any]  # of a configuration
# One row a label: the signs before and after its word.
DEFAULT_LABELS = (
    {"name": NO_MARK, "before": "", "after": ""},
    {"name": "COMMA", "before": "", "after": ","},
    {"name": "PERIOD", "before": "", "after": "."},
    {"name": "QUESTION", "before": "", "after": "?"},
)

# Every mark in running text, and the label that it means. Colons and dashes mean commas, exclamation marks and
# semicolons periods, as in the IWSLT data (Che et al. 2016, section 4.1).
DEFAULT_MARK_LABELS = {
    **dict.fromkeys(",，、،:：—–―‒", "COMMA"),
    **dict.fromkeys(".。．!！;；؛…⋯।॥۔", "PERIOD"),
    **dict.fromkeys("?？؟", "QUESTION"),
}
# For each of these marks the sign of `, . ?` that its label writes.
USUAL_SIGNS = {
    mark: next(label["after"] for label in DEFAULT_LABELS if label["name"] == name)
    for mark, name in DEFAULT_MARK_LABELS.items()
}

# How a word is written in the middle of a sentence: unchanged, `Monday`, `NASA`, `iPhone`.
CASINGS = ("as-is", "capital", "upper", "mixed")

# What transformers reads or writes in a configuration besides the fields of `PreTrainedConfig`.
ADDED_KEYS = set(
    "model_type auto_map custom_pipelines name_or_path num_labels torch_dtype output_attentions attn_implementation "
    "experts_implementation per_layer_config quantization_config use_cache".split()
)

# Whether this code was loaded from a model's folder.
IS_FROM_HUB = __name__.startswith("transformers_modules.")
# How transformers finds the pipeline in a model's folder: a file there, and the name of the class in it.
PIPELINE_FILE = "restoration_pipeline.py"
PIPELINE = {
    "impl": "restoration_pipeline.PunctuationRestorationPipeline",
    "pt": ["AutoModelForTokenClassification"],
    "type": "text",
}


# Each field, what must hold of its value, and what is said if it does not.
RULES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    (
        "labels",
        lambda labels: 2 <= len(labels) == len({label["name"] for label in labels}),
        "Expected labels to be two or more, with different names, got {}. Add or rename one.",
    ),
    (
        "labels",
        lambda labels: not labels[0]["before"] + labels[0]["after"],
        "Expected labels to begin with the one that writes nothing, got {}. Put it first.",
    ),
    (
        "head_width",
        range(1, 1_000_000).__contains__,
        "Expected head_width to be a whole number of 1 or more, got {}. Correct it.",
    ),
    (
        "head_dropout",
        lambda dropout: 0 <= dropout < 1,
        "Expected head_dropout to be at least 0 and below 1, got {}. Change it.",
    ),
    (
        "calibration_temperature",
        lambda temperature: temperature > 0,
        "Expected calibration_temperature to be above 0, got {}. Raise it.",
    ),
    (
        "max_window_pieces",
        range(8, 1_000_000).__contains__,
        "Expected max_window_pieces to be a whole number of 8 or more, got {}. Correct it.",
    ),
    (
        "stored_bits",
        (8, None).__contains__,
        "Expected stored_bits to be 8 or None, which this version can read, got {}. Change it.",
    ),
    (
        "mixed_case",
        lambda words: all(str(word) != str(word).lower() for word in words or ()),
        "Expected mixed_case to list words with capitals, or to be None, got {}. Correct the list.",
    ),
    *(
        (
            name,
            range(1_000_000).__contains__,
            f"Expected {name} as a whole number of words, got {{}}. Correct it.",
        )
        for name in ("window", "left_context", "right_context")
    ),
)


class PunctuationRestorationConfig(PreTrainedConfig):
    """Configuration of a `PunctuationRestorationModel`.

    Args:
        encoder_config: configuration of any encoder that `AutoModel` builds, or its dictionary. Default: XLM-R base.
        labels: one dictionary a label, as in `DEFAULT_LABELS`, the default. The first label writes nothing.
        mark_labels: each mark, or pair around one word (`¿?`), of a text: its label, or None if it is only removed.
            Default: `DEFAULT_MARK_LABELS`, except for the marks that one of your labels writes, in any width.
        calibration_temperature: what the pipeline divides the logits by. Default: 1.
        thresholds: for some labels the probability, 0 to 1, from which they are chosen; others must be the most
            probable. Default: none.
        words_alone: whether words are tokenised without the blank before them. Default: False, as in running text.
        head_width: hidden width of the head. Default: 1,568.
        head_dropout: dropout before both layers of the head, from 0 to below 1. Default: 0.1.
        casings: whether the model also predicts which of `CASINGS` each word has. Default: False.
        mixed_case: how words of casing `"mixed"` are written, such as `iPhone`. Default: none.
        window: words in one forward pass at most. Default: 120.
        left_context, right_context: words at each side of a window that are read but not labelled. Defaults: 16 and 8.
        max_window_pieces: pieces in one window at most, `<s>` and `</s>` included; 8 or more. Default: 256.
        stored_bits: 8 in a file written by `save_pretrained(folder, stored_bits=8)`; None (default) elsewhere.

    Raises:
        ValueError: if a value is impossible or does not fit the others, or a key is unknown. In a file an unknown key
            is left out with a warning.
    """

    model_type = "punctuation-restoration"
    sub_configs: ClassVar[dict[str, type]] = {"encoder_config": AutoConfig}

    # None means the default, and is replaced by it.
    encoder_config: PreTrainedConfig = None  # type: ignore[assignment]
    labels: list[dict[str, str]] = None  # type: ignore[assignment]
    mark_labels: dict[str, str | None] = None  # type: ignore[assignment]
    calibration_temperature: float = 1.0
    thresholds: dict[str, float] | None = None
    words_alone: bool = False
    head_width: int = 1568
    head_dropout: float = 0.1
    casings: bool = False
    mixed_case: list[str] | None = None
    window: int = 120
    left_context: int = 16
    right_context: int = 8
    max_window_pieces: int = 256
    stored_bits: int | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        if unknown := self.unknown_keys(kwargs):
            raise ValueError(
                f"Expected fields of {type(self).__name__}, got also {unknown}. Correct their names."
            )
        self.encoder_config = _built(self.encoder_config)
        self.labels = [_checked(label) for label in self.labels or DEFAULT_LABELS]
        if self.mark_labels is None:
            self.mark_labels = self._default_mark_labels()
        self.mark_labels = {**self.mark_labels, **self.pairs}
        self.check_model()
        # transformers derives num_labels from id2label; the table of labels is the only source of both.
        kwargs.pop("num_labels", None)
        self.id2label = dict(enumerate(self.label_names))
        self.label2id = {name: index for index, name in enumerate(self.label_names)}
        # `pipeline()` demands trust_remote_code as soon as it sees `custom_pipelines`, even where this package has
        # registered the task. Only code that itself came from the Hub may show the field.
        if not IS_FROM_HUB:
            kwargs.pop("custom_pipelines", None)
        super().__post_init__(**kwargs)

    @classmethod
    def unknown_keys(cls, keys: Iterable[str]) -> list[str]:
        """Those of `keys` that are neither fields nor keys of transformers."""
        known = {field.name for field in fields(cls)} | ADDED_KEYS  # type: ignore[arg-type]
        return sorted(key for key in keys if key not in known and not key.startswith("_"))

    @classmethod
    def from_dict(cls, config_dict: Fields, **kwargs: Any) -> Any:
        """As in transformers; unknown keys are left out with a warning."""
        if unknown := cls.unknown_keys(config_dict):
            logger.warning(
                f"Expected a configuration of known fields, got also {unknown}, which are left out. They may be "
                "misspelt, or of another version of punctuation-restoration."
            )
        known = {key: value for key, value in config_dict.items() if key not in unknown}
        return super().from_dict(known, **kwargs)

    def to_dict(self) -> Fields:
        """All fields as they are saved, with the name of the pipeline's class for the Hub."""
        return {**super().to_dict(), "custom_pipelines": {self.model_type: PIPELINE}}

    def save_pretrained(
        self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any
    ) -> None:
        """As in transformers, which copies the code of the model; that of the pipeline is copied beside it.

        So the folder loads where this package is not installed, whoever writes it: a model, a Trainer or a pipeline.
        """
        os.makedirs(save_directory, exist_ok=True)
        entry = Path(__file__).parents[1] / "pipeline" / PIPELINE_FILE
        if IS_FROM_HUB:  # where it is beside the model, unless that is new or its folder is gone
            with contextlib.suppress(OSError):
                entry = Path(
                    HF_MODULES_CACHE, get_cached_module_file(str(self.name_or_path), PIPELINE_FILE)
                )
        for path in (str(entry), *get_relative_import_files(entry)) if entry.is_file() else ():
            shutil.copy(path, save_directory)
        super().save_pretrained(save_directory, *args, **kwargs)

    @property
    def label_names(self) -> list[str]:
        """Names of the labels, in the order of their ids."""
        return [label["name"] for label in self.labels]

    @property
    def pairs(self) -> dict[str, str | None]:
        """Two signs around one word (`¿?`) -> the label that writes both."""
        return {
            label["before"] + label["after"]: label["name"]
            for label in self.labels
            if len(label["before"]) == len(label["after"]) == 1
        }

    @property
    def basic_labels(self) -> list[int]:
        """For each label that of `, . ?` which `DEFAULT_MARK_LABELS` gives its mark; 0 where there is none."""
        ids = {
            label["after"]: index for index, label in enumerate(self.labels) if not label["before"]
        }
        usual = [USUAL_SIGNS.get(label["after"][-1:]) for label in self.labels]
        return [ids.get(sign, index) if sign else 0 for index, sign in enumerate(usual)]

    def get_text_config(
        self, decoder: bool | None = None, encoder: bool | None = None
    ) -> PreTrainedConfig:
        """The encoder's configuration, where transformers looks for the vocabulary and the layers."""
        return self.encoder_config

    def check_thresholds(self, thresholds: Mapping[str, float]) -> None:
        """Refuse, by a ValueError, thresholds that are no probabilities, or of labels that write nothing."""
        names = self.label_names[1:]
        known = {name.lower() for name in names}
        if not isinstance(thresholds, Mapping) or not all(
            str(name).lower() in known and isinstance(limit, Real) and 0 <= limit <= 1
            for name, limit in thresholds.items()
        ):
            raise ValueError(
                f"Expected thresholds as {{label: probability}}, labels among {names} and probabilities from 0 to 1, "
                f"got {thresholds!r}. Correct them."
            )

    def check_model(self) -> None:
        """Refuse, by a ValueError, values that cannot be; `from_pretrained` may have changed them."""
        for field, holds, message in RULES:
            if not holds(value := getattr(self, field)):
                raise ValueError(message.format(f"{value!r:.200}"))
        if self.window <= self.left_context + self.right_context:
            raise ValueError(
                f"Expected window to be above left_context + right_context, got {self.window}. Raise it, or lower the "
                "contexts."
            )
        self.check_thresholds(self.thresholds or {})
        names = self.label_names
        for mark, name in self.mark_labels.items():
            is_sign = len(mark) == 1 and not mark.isalnum() and not mark.isspace()
            if not (is_sign or mark in self.pairs) or name not in (*names, None):
                raise ValueError(
                    f"Expected in mark_labels single signs, each with one of {names} or None, "
                    f"got {mark!r}: {name!r}. Correct that row."
                )
        written = {sign for label in self.labels for sign in label["after"] + label["before"]}
        if missing := sorted(written - self.mark_labels.keys()):
            raise ValueError(
                "Expected in mark_labels a row for each sign that a label writes, "
                f"got none for {missing}. Add these rows."
            )

    def _default_mark_labels(self) -> dict[str, str | None]:
        """Whatever the label is called that writes a sign, or else the usual one; None where there is none."""
        after = {
            _plain(label["after"]): label["name"] for label in self.labels if not label["before"]
        }
        meanings = {
            mark: after.get(_plain(mark), after.get(sign)) for mark, sign in USUAL_SIGNS.items()
        }
        before = {label["before"]: label["name"] for label in self.labels[1:] if not label["after"]}
        return meanings | before


def _plain(mark: str) -> str:
    """The mark in its usual width."""
    return unicodedata.normalize("NFKC", mark)


def _checked(label: Mapping[str, str]) -> dict[str, str]:
    row = dict(label) if isinstance(label, Mapping) else {}
    has_texts = row.keys() == DEFAULT_LABELS[0].keys() and all(
        isinstance(text, str) for text in row.values()
    )
    if not has_texts or not row["name"]:
        raise ValueError(
            f"Expected a label with the texts name, before and after, got {label!r}. Only before and after may be "
            "empty."
        )
    return row


def _built(config: Fields | PreTrainedConfig | None) -> PreTrainedConfig:
    if config is None:
        return AutoConfig.for_model("xlm-roberta")
    if isinstance(config, PreTrainedConfig):
        return config
    if "model_type" not in config:
        raise ValueError(
            "Expected encoder_config with a model_type, got one without. Take that of an encoder that AutoModel loads."
        )
    return AutoConfig.for_model(**config)
