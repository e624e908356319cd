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
        encoder_config: the configuration of any encoder that `AutoModel` builds; a dictionary needs its `model_type`.
        labels: one dictionary a label with the keys `name`, `before`, `after` (written around the word) and `fill`
            (the piece that stands in a slot whose label is known). The first label must write nothing.
        mark_labels: for every mark known in running text the name of the label that it means, or None for a mark
            that is only removed. By default what `DEFAULT_MARK_LABELS` says, but that a sign of it, in any width,
            means the label that writes it, and a sign before a word (`¿`) the label that writes that alone. Two signs
            are those around one word (`¿?`); they are added where a label writes both.
        slot_style: `"mask"` puts a `<mask>` after every word and reads the label there (slot filling); `"last-piece"`
            reads it off the last piece of each word (tagging).
        calibration_temperature: by what the logits are divided before they become probabilities (Guo et al. 2017,
            section 4.2), found on validation data, so that of the marks with 0.8 eight in ten are right; the pipeline
            does it. More than 1 makes them less sure.
        thresholds: for some labels the probability, from logits so divided, from which they are chosen, found on
            validation data; without one a label must be the most probable.
        bidirectional_from: the first layer of a causal encoder that reads to the right as well (Dukić & Šnajder 2024,
            "Looking Right is Sometimes Right", section 3); 0 unmasks all layers, None leaves each as it was trained.
        lowercase: whether the encoder sees words in lower case, as recognisers write them.
        words_alone: whether words are split into pieces one by one, a lone `▁` before others dropped, as the first
            models were trained; otherwise they have the pieces of running text.
        digits_as_zero: whether the encoder sees every digit as `0` (Li & Lin 2020, section 4.1).
        shift: so many pieces behind its word a slot is read: all that an encoder that reads to the right only knows of
            what follows (Li & Lin 2020, section 3.2).
        open_ends: whether the model was taught what a missing `</s>` means: the text goes on behind what is seen.
        head: what labels the slots. `"linear"`: two linear layers, each slot for itself; `"bilstm"`: an LSTM over the
            slots both ways and a linear layer (Alam et al. 2020); `"crf"` and `"bilstm-crf"` let the label of a slot
            depend on that before it (Makhija et al. 2019), and give marginal probabilities, which all else reads as
            before.
        head_width: width of the hidden layer of the heads without LSTM (1,568 in the MLM-Punct paper, section III-B).
        head_dropout: dropout before both layers of the head.
        casings: whether the model also says for each word which of `CASINGS` it has, from the same states. Words must
            then be shown in lower case.
        mixed_case: words with capitals inside (`iPhone`), which `"mixed"` is looked up in; those of the training text.
        window, left_context, right_context: words that one forward pass sees at most, and how many of them at each
            side are context only. Chen et al. (2021, section 3.3) use 120, 35 to 40, and 15; narrower contexts lose
            nothing here and spare a third of the time (`docs/speed.md`).
        max_window_pieces: pieces in one window at most, `<s>` and `</s>` included. No longer than in training:
            positions that were never trained cost accuracy.

    Raises:
        ValueError: if one of these does not fit the others, or a key is neither one of these nor transformers' own. In
            a file such a key is left out, with a warning.
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

    def __post_init__(self, **kwargs: Any) -> None:
        unknown = self.unknown_keys(kwargs)
        _expect(not unknown, f"fields of {type(self).__name__}, got also {unknown}. Correct their names.")
        if self.encoder_config is None:
            self.encoder_config = AutoConfig.for_model("xlm-roberta")
        elif not isinstance(self.encoder_config, PreTrainedConfig):
            what = "encoder_config with a model_type, got one without. Take that of an encoder that AutoModel loads."
            _expect("model_type" in self.encoder_config, what)
            is_ours = self.encoder_config["model_type"] == PunctuationLSTMConfig.model_type  # unknown to transformers
            build: Any = PunctuationLSTMConfig if is_ours else AutoConfig.for_model
            self.encoder_config = build(**self.encoder_config)
        self.labels = [dict(label) for label in (self.labels or DEFAULT_LABELS)]
        self._check_labels()
        self.mark_labels = self._default_mark_labels() if self.mark_labels is None else dict(self.mark_labels)
        self._check_mark_labels()
        temperature, most = self.calibration_temperature, self.max_window_pieces
        _expect(temperature > 0, f"a calibration_temperature above 0, got {temperature}. Use 1 for none.")
        self.check_thresholds(self.thresholds or {})
        self.mark_labels |= self.pairs
        self.check_model()
        self.window_sizes()
        _expect(most >= 8, f"max_window_pieces of 8 or more, got {most}. Raise it.")
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
                "checkpoint further with train.py --from FOLDER --slot-style last-piece."
            )
        elif style == "mask-stream":
            kept["slot_style"] = kwargs["slot_style"]
        return super().from_dict({key: value for key, value in kept.items() if key not in unknown}, **kwargs)

    def to_dict(self) -> dict[str, Any]:
        """All fields as they are saved, with the name of the pipeline's class for the Hub."""
        return {**super().to_dict(), "custom_pipelines": {self.model_type: PIPELINE}}

    def save_pretrained(self, save_directory: str | os.PathLike[str], **kwargs: Any) -> None:
        """As in transformers, which copies the code of the model; that of the pipeline is copied beside it.

        So the folder loads where this package is not installed, whoever writes it: a model, a Trainer or a pipeline.
        """
        os.makedirs(save_directory, exist_ok=True)
        for path in self._pipeline_code():
            shutil.copy(path, save_directory)
        super().save_pretrained(save_directory, **kwargs)

    def _pipeline_code(self) -> list[str]:
        """Files of the pipeline: this package's, or those beside the model if this code came from the Hub."""
        entry = Path(__file__).parents[1] / "pipeline" / PIPELINE_FILE
        if IS_FROM_HUB:
            try:
                entry = Path(HF_MODULES_CACHE, get_cached_module_file(self.name_or_path, PIPELINE_FILE))
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
        _expect(
            all(isinstance(size, int) and size >= 0 for size in (window, left, right)) and window > left + right,
            f"whole numbers of words with window greater than left_context plus right_context, got window {window!r}, "
            f"left_context {left!r} and right_context {right!r}. Widen the window or narrow the contexts.",
        )
        return window, left, right

    def _check_labels(self) -> None:
        wanted, labels, names = {"name", "before", "after", "fill"}, self.labels or [], []
        for index, label in enumerate(labels):
            _expect(
                set(label) == wanted and all(isinstance(value, str) for value in label.values()),
                f"label {index} to have the text keys {sorted(wanted)}, got {label!r}. Give all four; `before` and "
                "`after` may be empty.",
            )
            is_named = label["name"] and label["fill"]
            _expect(is_named, f"label {index} to have a name and a fill piece, got {label!r}. Name both.")
            names.append(label["name"])
        is_table = len(names) == len(set(names)) > 1
        _expect(is_table, f"two or more labels with different names, got {names}. Rename or add labels.")
        is_nothing = not labels[0]["before"] + labels[0]["after"]
        _expect(is_nothing, f"the first label to write nothing, got {labels[0]!r}. Put the no-mark label first.")

    def _check_mark_labels(self) -> None:
        marks, names = self.mark_labels or {}, self.label_names
        for mark, name in marks.items():
            is_sign = mark in self.pairs or (len(mark) == 1 and not mark.isalnum() and not mark.isspace())
            _expect(is_sign, f"each mark to be one sign, got {mark!r}. Take it out of mark_labels.")
            is_label = name in (None, *names)
            _expect(is_label, f"mark {mark!r} to mean one of {names} or None, got {name!r}. Change mark_labels.")
        unknown = {sign for label in self.labels or () for sign in label["after"] + label["before"]} - set(marks)
        _expect(
            not unknown,
            f"every sign that a label writes among mark_labels, {sorted(unknown)} are missing. Add them, so that "
            "restored text is read back as it was written.",
        )

    def check_thresholds(self, thresholds: Mapping[str, float]) -> None:
        """Raises a ValueError if one is not a probability, or for no label that writes something."""
        names = self.label_names[1:]
        is_table = isinstance(thresholds, Mapping)
        _expect(is_table, f"thresholds as {{label: probability}}, got {thresholds!r}. Name the labels, among {names}.")
        for name, limit in thresholds.items():
            is_limit = name in names and isinstance(limit, int | float) and 0 <= limit <= 1
            what = f"thresholds for labels among {names}, each from 0 to 1, got {name!r}: {limit!r}. Correct them."
            _expect(is_limit, what)

    def check_model(self) -> None:
        """Raises a ValueError if slots or head cannot be so; `from_pretrained` may change their fields."""
        style, shift, first = self.slot_style, self.shift, self.bidirectional_from
        _expect(style in SLOT_STYLES, f"slot_style to be one of {SLOT_STYLES}, got {style!r}. Choose one.")
        _expect(shift >= 0, f"a shift of 0 or more, got {shift}. Correct it.")
        n_layers = getattr(self.get_text_config(), "num_hidden_layers", None)
        _expect(
            first is None or 0 <= first <= (n_layers or 0),
            f"bidirectional_from between 0 and the encoder's {n_layers} layers, or None, got {first}. Correct it.",
        )
        _expect(self.head in HEADS, f"head to be one of {HEADS}, got {self.head!r}. Choose one.")
        _expect(
            self.head_width >= 1 and 0 <= self.head_dropout < 1,
            f"head_width of 1 or more and head_dropout from 0 to below 1, got {self.head_width} and "
            f"{self.head_dropout}. Correct them.",
        )
        _expect(
            self.lowercase or not self.casings,
            "lowercase=True beside casings, got False: the model would see the capitals that it is to write. Set one "
            "of them to the other value.",
        )
        _expect(
            all(isinstance(word, str) and word != word.lower() for word in self.mixed_case or ()),
            f"mixed_case as words with capitals, or None, got {self.mixed_case!r:.80}. Correct it.",
        )


def _expect(holds: Any, what: str) -> None:
    """Raises a ValueError unless that holds; `what` says what was expected, what came, and what to do."""
    if not holds:
        raise ValueError(f"Expected {what}")
