"""The configuration: encoder, labels, what existing marks mean, and the windows the model was trained for.

It knows nothing about tensors or text.
"""

import contextlib
import os
import shutil
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

from transformers import AutoConfig, PreTrainedConfig
from transformers.dynamic_module_utils import get_cached_module_file, get_relative_import_files
from transformers.utils import HF_MODULES_CACHE, logging

logger = logging.get_logger(__name__)

NO_MARK = "O"

# One row a label: the signs before and after its word, and the piece that shows a label that is known to the model.
DEFAULT_LABELS = (
    {"name": NO_MARK, "before": "", "after": "", "fill": "▁"},
    {"name": "COMMA", "before": "", "after": ",", "fill": ","},
    {"name": "PERIOD", "before": "", "after": ".", "fill": "."},
    {"name": "QUESTION", "before": "", "after": "?", "fill": "?"},
)

# Every mark in running text, and the label that it means. Colons and dashes mean commas, exclamation marks and
# semicolons periods, as in the IWSLT data (Che et al. 2016, section 4.1).
DEFAULT_MARK_LABELS = {
    **dict.fromkeys(",，、،:：—–―‒", "COMMA"),
    **dict.fromkeys(".。．!！;；؛…⋯।॥۔", "PERIOD"),
    **dict.fromkeys("?？؟", "QUESTION"),
}

# How a word is written in the middle of a sentence: unchanged, `Monday`, `NASA`, `iPhone`.
CASINGS = ("as-is", "capital", "upper", "mixed")
# How words are shown to the encoder: data prepared in one way are no use to a model that reads in another.
WORD_KEYS = ("lowercase", "words_alone")

# Fields of earlier versions, with the value that is now the only one.
SETTLED = {"slot_style": "last-piece", "head": "linear", "digits_as_zero": False, "shift": 0}
# What transformers reads or writes in a configuration besides the fields of `PreTrainedConfig`.
ADDED_KEYS = {
    *(
        "model_type",
        "auto_map",
        "custom_pipelines",
        "name_or_path",
        "num_labels",
        "torch_dtype",
        "output_attentions",
    ),
    *("attn_implementation", "experts_implementation", "per_layer_config", "quantization_config"),
    "use_cache",  # which its Trainer sets
}

IS_FROM_HUB = __name__.startswith(
    "transformers_modules."
)  # this code was loaded from a model's folder
# How transformers finds the pipeline in a model's folder: a file there, and the name of the class in it.
PIPELINE_FILE = "restoration_pipeline.py"
PIPELINE = {
    "impl": "restoration_pipeline.PunctuationRestorationPipeline",
    "pt": ["AutoModelForTokenClassification"],
    "type": "text",
}


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
        lowercase: whether the encoder sees words in lower case. Default: True.
        words_alone: whether words are tokenised without the blank before them. Default: False, as in running text.
        head_width: hidden width of the head. Default: 1,568.
        head_dropout: dropout before both layers of the head, from 0 to below 1. Default: 0.1.
        casings: whether the model also predicts which of `CASINGS` each word has. Needs `lowercase`. Default: False.
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

    # None stands for the default, and is replaced by it.
    encoder_config: PreTrainedConfig = None  # type: ignore[assignment]
    labels: list[dict[str, str]] = None  # type: ignore[assignment]
    mark_labels: dict[str, str | None] = None  # type: ignore[assignment]
    calibration_temperature: float = 1.0
    thresholds: dict[str, float] | None = None
    lowercase: bool = True
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
        given = self._default_mark_labels() if self.mark_labels is None else self.mark_labels
        self.mark_labels = {**given, **self.pairs}
        self._check_labels()
        self.check_thresholds(self.thresholds or {})
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
        known = {own.name for own in fields(cls)} | ADDED_KEYS  # type: ignore[arg-type]
        return sorted(key for key in keys if key not in known and not key.startswith("_"))

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As in transformers; unknown keys are left out with a warning.

        Raises:
            ValueError: if a model was trained with an option that this version no longer has.
        """
        gone = {key for key, only in SETTLED.items() if config_dict.get(key, only) != only}
        if gone:
            raise ValueError(
                f"Expected a model of this version, got one with {sorted(gone)} of an earlier one. Use the code of "
                "commit 4cddc2c, the last that reads it, or train a model from its encoder."
            )
        config_dict = {key: value for key, value in config_dict.items() if key not in SETTLED}
        if unknown := cls.unknown_keys(config_dict):
            logger.warning(
                f"Expected a configuration of known fields, got also {unknown}, which are left out. They may be "
                "misspelt, or of another version of punctuation-restoration."
            )
        known = {key: value for key, value in config_dict.items() if key not in unknown}
        return super().from_dict(known, **kwargs)

    def to_dict(self) -> dict[str, Any]:
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
        labels = [
            label for label in self.labels if len(label["before"]) == len(label["after"]) == 1
        ]
        return {label["before"] + label["after"]: label["name"] for label in labels}

    @property
    def basic_labels(self) -> list[int]:
        """For each label that of `, . ?` which `DEFAULT_MARK_LABELS` gives its mark; 0 where there is none."""
        signs = {label["name"]: label["after"] for label in DEFAULT_LABELS}
        ids = {
            label["after"]: index for index, label in enumerate(self.labels) if not label["before"]
        }
        meanings = [DEFAULT_MARK_LABELS.get(label["after"][-1:]) for label in self.labels]
        return [
            ids.get(signs[meaning], index) if meaning else 0
            for index, meaning in enumerate(meanings)
        ]

    def get_text_config(
        self, decoder: bool | None = None, encoder: bool | None = None
    ) -> PreTrainedConfig:
        """The encoder's configuration, where transformers looks for the vocabulary and the layers."""
        return self.encoder_config

    def check_thresholds(self, thresholds: Mapping[str, float]) -> None:
        """Refuse, by a ValueError, thresholds that are no probabilities, or of labels that write nothing."""
        names = self.label_names[1:]
        if not isinstance(thresholds, Mapping) or not all(
            name in names and isinstance(limit, int | float) and 0 <= limit <= 1
            for name, limit in thresholds.items()
        ):
            raise ValueError(
                f"Expected thresholds as {{label: probability}}, labels among {names} and probabilities from 0 to 1, "
                f"got {thresholds!r}. Correct them."
            )

    def check_model(self) -> None:
        """Refuse, by a ValueError, single values that cannot be; `from_pretrained` may have changed them."""
        self._expect("head_width", self.head_width >= 1, "to be 1 or more")
        self._expect("head_dropout", 0 <= self.head_dropout < 1, "to be at least 0 and below 1")
        self._expect("calibration_temperature", self.calibration_temperature > 0, "to be above 0")
        self._expect("max_window_pieces", self.max_window_pieces >= 8, "to be 8 or more")
        self._expect(
            "stored_bits",
            self.stored_bits in (8, None),
            "to be 8 or None, which this version can read",
        )
        self._expect(
            "lowercase",
            self.lowercase or not self.casings,
            "to be true where casings is: the model must not see capitals",
        )
        for name in ("window", "left_context", "right_context"):
            size = getattr(self, name)
            self._expect(name, isinstance(size, int) and size >= 0, "as a whole number of words")
        n_context = self.left_context + self.right_context
        self._expect(
            "window",
            self.window > n_context,
            f"above left_context + right_context ({n_context} words)",
            "Raise window or lower the contexts.",
        )
        have_capitals = all(
            isinstance(word, str) and word != word.lower() for word in self.mixed_case or ()
        )
        self._expect("mixed_case", have_capitals, "to list words with capitals, or to be None")

    def _check_labels(self) -> None:
        names = self.label_names
        are_different = len(set(names)) == len(names) >= 2
        self._expect("labels", are_different, "to be two or more, with different names")
        first = self.labels[0]
        writes_nothing = not first["before"] + first["after"]
        self._expect("labels", writes_nothing, "to begin with the one that writes nothing")
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

    def _expect(self, name: str, holds: bool, expected: str, what_to_do: str = "") -> None:
        if not holds:
            value = f"{getattr(self, name)!r:.200}"
            raise ValueError(
                f"Expected {name} {expected}, got {value}. {what_to_do or f'Change {name}.'}"
            )

    def _default_mark_labels(self) -> dict[str, str | None]:
        own = {label["after"]: label["name"] for label in self.labels if not label["before"]}
        opening = {
            label["before"]: label["name"]
            for label in self.labels
            if label["before"] and not label["after"]
        }
        found: dict[str, str | None] = {}
        signs = {label["name"]: label["after"] for label in DEFAULT_LABELS}
        for mark, name in DEFAULT_MARK_LABELS.items():
            # Whatever the label is called that writes the usual sign; where there is none, the mark is only removed.
            meaning = own.get(signs[name], name if name in self.label_names else None)
            found[mark] = own.get(mark, own.get(unicodedata.normalize("NFKC", mark), meaning))
        return found | opening


def _checked(label: Mapping[str, str]) -> dict[str, str]:
    has_texts = label.keys() == DEFAULT_LABELS[0].keys() and all(
        isinstance(text, str) for text in label.values()
    )
    if not has_texts or not label["name"] or not label["fill"]:
        raise ValueError(
            f"Expected a label with the texts name, before, after and fill, got {dict(label)!r}. Only before and after "
            "may be empty."
        )
    return dict(label)


def _built(given: dict[str, Any] | PreTrainedConfig | None) -> PreTrainedConfig:
    if given is None:
        return AutoConfig.for_model("xlm-roberta")
    if isinstance(given, PreTrainedConfig):
        return given
    if "model_type" not in given:
        raise ValueError(
            "Expected encoder_config with a model_type, got one without. Take that of an encoder that AutoModel loads."
        )
    return AutoConfig.for_model(**given)
