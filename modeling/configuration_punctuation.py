"""The configuration: encoder, labels, what existing marks mean, and the windows the model was trained for.

Takes what `config.json` holds, gives validated fields. Knows nothing about tensors or text.
"""

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

from .lstm_configuration import PunctuationLSTMConfig

logger = logging.get_logger(__name__)

NO_MARK = "O"

# One row a label: what it writes before and after its word, and the piece that stands in a slot whose label is known.
DEFAULT_LABELS = (
    {"name": NO_MARK, "before": "", "after": "", "fill": "▁"},
    {"name": "COMMA", "before": "", "after": ",", "fill": ","},
    {"name": "PERIOD", "before": "", "after": ".", "fill": "."},
    {"name": "QUESTION", "before": "", "after": "?", "fill": "?"},
)

# Every mark that we know in running text, and the label that it means. The mapping of colons and dashes to commas,
# and of exclamation marks and semicolons to periods, is that of the IWSLT data (Che et al. 2016, section 4.1).
DEFAULT_MARK_LABELS = {
    **dict.fromkeys(",，、،:：—–―‒", "COMMA"),
    **dict.fromkeys(".。．!！;；؛…⋯।॥۔", "PERIOD"),
    **dict.fromkeys("?？؟", "QUESTION"),
}

SLOT_STYLES = ("mask", "last-piece")
REMOVED_FIELDS = {"mask_layers", "mask_token_id", "pause_edges"}  # in older checkpoints; nothing reads them any more
# How words are shown to the encoder: data prepared in one way are no use to a model that reads in another.
WORD_KEYS = ("lowercase", "words_alone", "digits_as_zero")
STORED_BITS = (8, None)
HEADS = ("linear", "bilstm", "crf", "bilstm-crf")
# How a word is written in the middle of a sentence: as it came, `Monday`, `NASA`, `iPhone`.
CASINGS = ("as-is", "capital", "upper", "mixed")

# What transformers reads or writes in a configuration besides the fields of `PreTrainedConfig`.
ADDED_KEYS = {
    *("model_type", "auto_map", "custom_pipelines", "name_or_path", "num_labels", "torch_dtype", "output_attentions"),
    *("attn_implementation", "experts_implementation", "per_layer_config", "quantization_config"),
    "use_cache",  # which its Trainer sets
}

IS_FROM_HUB = __name__.startswith("transformers_modules.")  # this code was loaded from a model's folder
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
        encoder_config: configuration of any encoder that `AutoModel` builds. A dictionary needs a `model_type`.
            Default: that of XLM-R base.
        labels: one dictionary per label with the keys `name`, `before`, `after` (the signs written around the word) and
            `fill` (the piece that shows the label to the model). The first label must write nothing. Default: `O`,
            comma, period and question mark.
        mark_labels: for each mark that may stand in a text, the name of the label it means; None for a mark that has no
            label and is only removed. A key of two signs (`¿?`) stands for the pair around one word; pairs that a
            label writes are added. Default: `DEFAULT_MARK_LABELS`, except that a character which one of your labels
            writes, in any width, maps to that label; an opening sign such as `¿` maps to the label that writes only it.
        slot_style: where the label of a word is read. `"mask"` (default): at a `<mask>` inserted after the word (slot
            filling). `"last-piece"`: at the last piece of the word (tagging).
        bidirectional_from: index of the first layer of a causal encoder that also reads to the right (Dukić & Šnajder
            2024, "Looking Right is Sometimes Right", section 3). 0: all layers. Default: None, no layer is changed.
        calibration_temperature: temperature that calibrates the scores (Guo et al. 2017, section 4.2). The pipeline
            divides the logits by it; values above 1 lower the confidence. Default: 1.
        thresholds: for some labels the probability, 0 to 1, from which they are chosen. Labels without one are chosen
            when they are the most probable. Default: none.
        lowercase: whether the encoder sees words in lower case. Default: True.
        words_alone: whether each word is tokenised by itself, without the blank before it, as in the first models of
            this project. Default: False, words get the pieces that they have in running text.
        digits_as_zero: whether the encoder sees every digit as `0` (Li & Lin 2020, section 4.1). Default: False.
        shift: look-ahead of a left-to-right encoder, in pieces: the label of a word is read this many pieces after it
            (Li & Lin 2020, section 3.2). Default: 0.
        open_ends: whether a missing `</s>` tells the model that the text goes on. Default: False.
        head: what labels the slots. `"linear"` (default): two linear layers, for each slot alone. `"bilstm"`: an LSTM
            over the slots in both directions and a linear layer (Alam et al. 2020). `"crf"`, `"bilstm-crf"`: with a CRF
            behind (Makhija et al. 2019); the logits are then the logarithms of its marginal probabilities.
        head_width: hidden width of the heads without an LSTM. Default: 1,568 (MLM-Punct, section III-B).
        head_dropout: dropout before both layers of the head, from 0 to below 1. Default: 0.1.
        casings: whether the model also predicts for each word which of `CASINGS` it has. Needs `lowercase=True`.
            Default: False.
        mixed_case: words with capitals inside, such as `iPhone`. A word of casing `"mixed"` is written as it is here.
        window: words in one forward pass at most. Default: 120 (Chen et al. 2021, section 3.3).
        left_context, right_context: words at each side of a window that are read but not labelled. Defaults: 16 and 8;
            Chen et al. use 35 to 40 and 15, which gains nothing here and costs a third of the time (`docs/speed.md`).
        max_window_pieces: pieces in one window at most, `<s>` and `</s>` included; 8 or more. Use no more than in
            training: positions that were never trained cost accuracy. Default: 256.
        stored_bits: 8 in the file of a model whose encoder is stored as whole numbers of 8 bits with scales (see
            `eight_bits.py`); None where weights are stored as they are, and in a model that is loaded. Written by
            `save_pretrained(folder, stored_bits=8)`. Default: None.

    Raises:
        ValueError: if a value is impossible or does not fit the others, or a key is unknown. In a file an unknown key
            is left out with a warning.
    """

    model_type = "punctuation-restoration"
    sub_configs: ClassVar[dict[str, type]] = {"encoder_config": AutoConfig}

    encoder_config: dict[str, Any] | PreTrainedConfig | None = None
    labels: list[dict[str, str]] | None = None
    mark_labels: dict[str, str | None] | None = None
    slot_style: str = "mask"
    bidirectional_from: int | None = None
    calibration_temperature: float = 1.0
    thresholds: dict[str, float] | None = None
    lowercase: bool = True
    words_alone: bool = False
    digits_as_zero: bool = False
    shift: int = 0
    open_ends: bool = False
    head: str = "linear"
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
            raise ValueError(f"Expected fields of {type(self).__name__}, got also {unknown}. Correct their names.")
        self.encoder_config = _built_encoder_config(self.encoder_config)
        self.labels = [dict(label) for label in (self.labels or DEFAULT_LABELS)]
        self._check_labels(self.labels)
        self.mark_labels = self._default_mark_labels() if self.mark_labels is None else dict(self.mark_labels)
        self._check_mark_labels(self.mark_labels)
        self.mark_labels |= self.pairs
        if not self.calibration_temperature > 0:
            got = self.calibration_temperature
            raise ValueError(f"Expected a calibration_temperature above 0, got {got}. Use 1 for none.")
        self.check_thresholds(self.thresholds or {})
        self.check_model()
        self.window_sizes()
        if self.max_window_pieces < 8:
            raise ValueError(f"Expected max_window_pieces of 8 or more, got {self.max_window_pieces}. Raise it.")
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
        """Those of `keys` that are neither fields nor what transformers adds of itself."""
        known = {own.name for own in fields(cls)} | ADDED_KEYS  # type: ignore[arg-type]
        return sorted(key for key in keys if key not in known and not key.startswith("_"))

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As in transformers; unknown keys are left out with a warning.

        The removed slot style `"late-mask"` is read as `"last-piece"`.

        Raises:
            ValueError: for the removed slot style `"mask-stream"`, unless `slot_style` is given.
        """
        kept = {key: value for key, value in config_dict.items() if key not in REMOVED_FIELDS}
        if unknown := cls.unknown_keys(kept):
            logger.warning(
                f"Expected a configuration of known fields, got also {unknown}, which are left out. They may be "
                "misspelt, or of a later version of punctuation-restoration."
            )
        style = kept.get("slot_style")
        if style == "late-mask":
            kept["slot_style"] = "last-piece"
        elif style == "mask-stream" and "slot_style" not in kwargs:
            raise ValueError(
                f"Expected slot_style to be one of {SLOT_STYLES}, got 'mask-stream', which was removed. Train the "
                "checkpoint further with train.py --model FOLDER --slot-style last-piece."
            )
        elif style == "mask-stream":
            kept["slot_style"] = kwargs["slot_style"]
        return super().from_dict({key: value for key, value in kept.items() if key not in unknown}, **kwargs)

    def to_dict(self) -> dict[str, Any]:
        """All fields as they are saved, with the name of the pipeline's class for the Hub."""
        return {**super().to_dict(), "custom_pipelines": {self.model_type: PIPELINE}}

    def save_pretrained(self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        """As in transformers, which copies the code of the model; that of the pipeline is copied beside it.

        So the folder loads where this package is not installed, whoever writes it: a model, a Trainer or a pipeline.
        """
        os.makedirs(save_directory, exist_ok=True)
        for path in self._pipeline_code():
            shutil.copy(path, save_directory)
        super().save_pretrained(save_directory, *args, **kwargs)

    def _pipeline_code(self) -> list[str]:
        """Files of the pipeline: this package's, or those beside the model if this code came from the Hub."""
        entry = Path(__file__).parents[1] / "pipeline" / PIPELINE_FILE
        if IS_FROM_HUB:
            try:
                entry = Path(HF_MODULES_CACHE, get_cached_module_file(str(self.name_or_path), PIPELINE_FILE))
            except OSError:  # a new model, or its folder is gone
                return []
        return [str(entry), *get_relative_import_files(entry)]

    def _default_mark_labels(self) -> dict[str, str | None]:
        labels = self.labels or ()
        own = {label["after"]: label["name"] for label in labels if not label["before"] and len(label["after"]) == 1}
        found: dict[str, str | None] = {}
        for mark, name in DEFAULT_MARK_LABELS.items():
            meaning = name if name in self.label_names else None  # where the label is missing, it is only removed
            found[mark] = own.get(mark, own.get(unicodedata.normalize("NFKC", mark), meaning))
        return found | {label["before"]: label["name"] for label in labels if label["before"] and not label["after"]}

    @property
    def label_names(self) -> list[str]:
        """Names of the labels, in the order of their ids."""
        return [label["name"] for label in self.labels or ()]

    @property
    def pairs(self) -> dict[str, str | None]:
        """Two signs around one word (`¿?`) -> the label that writes both."""
        labels = [label for label in self.labels or () if len(label["before"]) == len(label["after"]) == 1]
        return {label["before"] + label["after"]: label["name"] for label in labels}

    @property
    def basic_labels(self) -> list[int]:
        """For each label that of `, . ?` which stands for it where nothing else may be written; 0 where none does.

        What a mark means is what `DEFAULT_MARK_LABELS` says, whatever labels this model has for it.
        """
        signs = {label["name"]: label["after"] for label in DEFAULT_LABELS}
        places = {label["after"]: index for index, label in enumerate(self.labels or ()) if not label["before"]}
        meanings = [DEFAULT_MARK_LABELS.get(label["after"][-1:]) for label in self.labels or ()]
        return [places.get(signs[meaning], index) if meaning else 0 for index, meaning in enumerate(meanings)]

    def get_text_config(self, decoder: bool | None = None, encoder: bool | None = None) -> PreTrainedConfig:
        """The encoder's configuration, where transformers looks for the vocabulary and the layers."""
        return self.encoder_config if isinstance(self.encoder_config, PreTrainedConfig) else self

    def window_sizes(
        self, window: int | None = None, left_context: int | None = None, right_context: int | None = None
    ) -> tuple[int, int, int]:
        """Words in a window and in its contexts, where None stands for this configuration's own; checked.

        Raises:
            ValueError: where they do not fit together.
        """
        given = ((window, self.window), (left_context, self.left_context), (right_context, self.right_context))
        window, left, right = (own if size is None else size for size, own in given)
        are_sizes = all(isinstance(size, int) and size >= 0 for size in (window, left, right))
        if not are_sizes or window <= left + right:
            raise ValueError(
                f"Expected whole numbers of words with window greater than left_context plus right_context, got window "
                f"{window!r}, left_context {left!r} and right_context {right!r}. Widen the window or narrow the "
                "contexts."
            )
        return window, left, right

    @staticmethod
    def _check_labels(labels: list[dict[str, str]]) -> None:
        wanted = {"name", "before", "after", "fill"}
        for index, label in enumerate(labels):
            if set(label) != wanted or not all(isinstance(value, str) for value in label.values()):
                raise ValueError(
                    f"Expected label {index} to have the text keys {sorted(wanted)}, got {label!r}. Give all four; "
                    "`before` and `after` may be empty."
                )
            if not label["name"] or not label["fill"]:
                raise ValueError(f"Expected label {index} to have a name and a fill piece, got {label!r}. Name both.")
        names = [label["name"] for label in labels]
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(f"Expected two or more labels with different names, got {names}. Rename or add labels.")
        if labels[0]["before"] or labels[0]["after"]:
            raise ValueError(
                f"Expected the first label to write nothing, got {labels[0]!r}. Put the no-mark label first."
            )

    def _check_mark_labels(self, mark_labels: dict[str, str | None]) -> None:
        names = self.label_names
        for mark, name in mark_labels.items():
            if mark not in self.pairs and (len(mark) != 1 or mark.isalnum() or mark.isspace()):
                raise ValueError(f"Expected each mark to be one sign, got {mark!r}. Take it out of mark_labels.")
            if name is not None and name not in names:
                raise ValueError(
                    f"Expected mark {mark!r} to mean one of {names} or None, got {name!r}. Change mark_labels."
                )
        written = {sign for label in self.labels or () for sign in label["after"] + label["before"]}
        if missing := sorted(written - set(mark_labels)):
            raise ValueError(
                f"Expected every sign that a label writes among mark_labels, {missing} are missing. Add them, so that "
                "restored text is read back as it was written."
            )

    def check_thresholds(self, thresholds: Mapping[str, float]) -> None:
        """Check thresholds for this model's labels.

        Raises:
            ValueError: if one is not a probability, or is for no label that writes something.
        """
        names = self.label_names[1:]
        if not isinstance(thresholds, Mapping):
            raise ValueError(
                f"Expected thresholds as {{label: probability}}, got {thresholds!r}. Name the labels, among {names}."
            )
        for name, limit in thresholds.items():
            if name not in names or not isinstance(limit, int | float) or not 0 <= limit <= 1:
                raise ValueError(
                    f"Expected thresholds for labels among {names}, each from 0 to 1, got {name!r}: {limit!r}. Correct "
                    "them."
                )

    def check_model(self) -> None:
        """Check the fields that decide how the model is built; `from_pretrained` may change them.

        Raises:
            ValueError: if one is impossible or does not fit the others.
        """
        n_layers, first = getattr(self.get_text_config(), "num_hidden_layers", None), self.bidirectional_from
        if self.slot_style not in SLOT_STYLES:
            raise ValueError(f"Expected slot_style to be one of {SLOT_STYLES}, got {self.slot_style!r}. Choose one.")
        if self.shift < 0:
            raise ValueError(f"Expected a shift of 0 or more, got {self.shift}. Correct it.")
        if first is not None and not 0 <= first <= (n_layers or 0):
            raise ValueError(
                f"Expected bidirectional_from between 0 and the encoder's {n_layers} layers, or None, got {first}. "
                "Correct it."
            )
        if self.stored_bits not in STORED_BITS:
            raise ValueError(
                f"Expected stored_bits of {STORED_BITS}, got {self.stored_bits}. The weights are stored in a way that "
                "this version cannot read: update punctuation-restoration."
            )
        if self.head not in HEADS:
            raise ValueError(f"Expected head to be one of {HEADS}, got {self.head!r}. Choose one.")
        if self.head_width < 1:
            raise ValueError(f"Expected head_width of 1 or more, got {self.head_width}. Correct it.")
        if not 0 <= self.head_dropout < 1:
            raise ValueError(f"Expected head_dropout from 0 to below 1, got {self.head_dropout}. Correct it.")
        if self.casings and not self.lowercase:
            raise ValueError(
                "Expected lowercase=True beside casings, got False: the model would see the capitals that it is to "
                "write. Set one of them to the other value."
            )
        if not all(isinstance(word, str) and word != word.lower() for word in self.mixed_case or ()):
            raise ValueError(
                f"Expected mixed_case as words with capitals, or None, got {self.mixed_case!r:.80}. Correct it."
            )


def _built_encoder_config(given: dict[str, Any] | PreTrainedConfig | None) -> PreTrainedConfig:
    if isinstance(given, PreTrainedConfig):
        return given
    if given is None:
        return AutoConfig.for_model("xlm-roberta")
    if "model_type" not in given:
        raise ValueError(
            "Expected encoder_config with a model_type, got one without. Take that of an encoder that AutoModel loads."
        )
    is_ours = given["model_type"] == PunctuationLSTMConfig.model_type  # unknown to transformers
    return PunctuationLSTMConfig(**given) if is_ours else AutoConfig.for_model(**given)
