"""The model: an encoder, and a head that is applied at the slots and nowhere else. It does not know words or text.

Letters in shapes: B texts in a batch, P pieces, W slots (one a word), M labels, C casings, H hidden width.
"""

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import TokenClassifierOutput
from transformers.utils import cached_file, can_return_tuple

from .configuration_punctuation import CASINGS, PunctuationRestorationConfig
from .encoders import (
    SCALE,
    apply_scales,
    expect_scales,
    in_8_bits,
    keep_first_layers,
    without_pooler,
)

NOT_SCORED = -100  # label of a slot that takes no part in the loss
NOTICES = ("GEMMA_TERMS_OF_USE.txt", "NOTICE")
MAY_BE_MISSING = (
    "_raise_exceptions_for_missing_entries",
    "_raise_exceptions_for_connection_errors",
)
# They change no result, and tell of the machine where an encoder was loaded.
NOT_COMPUTED = {"_name_or_path", "architectures", "dtype", "transformers_version"}
HUB_KEYWORDS = ("cache_dir", "local_files_only", "revision", "subfolder", "token")


def notices_beside(source: Any, **where: Any) -> dict[str, bytes]:
    """Gemma's terms and the notice beside weights that are, or learned from, Gemma's; `where` is for `cached_file`."""
    where |= dict.fromkeys(MAY_BE_MISSING, False)
    notices: dict[str, bytes] = {}
    for name in NOTICES:
        if not (file := cached_file(source, name, **where)):
            break  # without the terms a notice is of something else
        notices[name] = Path(file).read_bytes()
    return notices


@dataclass
class SlotClassifierOutput(TokenClassifierOutput):
    """What the model returns.

    `logits` (B, W, M) are meaningless where `slot_positions` is 0. A model with casings also returns `casing_logits`
    (B, W, C).
    """

    casing_logits: Tensor | None = None


class SlotClassifier(nn.Module):
    """The head: two linear layers, shared by all slots (MLM-Punct, section III-B), and a third one for casings.

    `casings` is None in a model without them.
    """

    def __init__(self, config: PunctuationRestorationConfig) -> None:
        super().__init__()
        hidden_size = config.get_text_config().hidden_size
        self.dropout = nn.Dropout(config.head_dropout)
        self.dense = nn.Linear(hidden_size, config.head_width)
        self.out_proj = nn.Linear(config.head_width, len(config.labels))
        self.casings = nn.Linear(hidden_size, len(CASINGS)) if config.casings else None

    def forward(self, slot_states: Tensor) -> Tensor:
        """`slot_states`: (..., H); returns logits (..., M)."""
        hidden = torch.relu(self.dense(self.dropout(slot_states)))
        return self.out_proj(self.dropout(hidden))


class PunctuationRestorationModel(PreTrainedModel):
    """Names the mark that belongs in each slot.

    Loads with `AutoModelForTokenClassification`: the tokens that it classifies are the slots.
    """

    config: PunctuationRestorationConfig
    config_class = PunctuationRestorationConfig
    base_model_prefix = "encoder"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    # The loss is a plain mean, so Trainer must divide by the accumulation steps.
    accepts_loss_kwargs = False
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True
    notices: Mapping[str, bytes] = {}  # files that are written beside the weights, by name

    def __init__(self, config: PunctuationRestorationConfig, will_be_loaded: bool = False) -> None:
        super().__init__(config)
        config.check_model()
        encoder = config.encoder_config
        self.encoder: Any = AutoModel.from_config(encoder, **without_pooler(encoder))
        # A text is read, not generated: encoders that were decoders need not keep keys and values.
        takes_it = "use_cache" in inspect.signature(self.encoder.forward).parameters
        self._no_cache = {"use_cache": False} if takes_it else {}
        self.classifier = SlotClassifier(config)
        if not will_be_loaded:
            self.config.stored_bits = None  # of a file, from which only the configuration was read
        elif config.stored_bits:
            expect_scales(self.encoder)
        self.post_init()

    @classmethod
    def from_encoder(
        cls,
        name_or_path: str,
        n_layers: int | None = None,
        revision: str | None = None,
        trust_remote_code: bool = False,
        **settings: Any,
    ) -> "PunctuationRestorationModel":
        """Start from a pretrained encoder, with a new classifier.

        Args:
            name_or_path: folder or Hub id of an encoder that `AutoModel` loads.
            n_layers: how many of the first layers are kept; None keeps all.
            revision: revision on the Hub.
            trust_remote_code: whether Python code beside the encoder may run.
            settings: fields of `PunctuationRestorationConfig`.

        Raises:
            ValueError: if this is no encoder, one that reads only to the left, or one that has fewer layers.
        """
        loading: Any = {"revision": revision, "trust_remote_code": trust_remote_code}
        config = AutoConfig.from_pretrained(name_or_path, **loading)
        if isinstance(config, PunctuationRestorationConfig):
            raise ValueError(
                f"Expected a pretrained encoder, {name_or_path} is a punctuation model already. Load it with "
                "from_pretrained; to train it further, give it to train.py as --model."
            )
        pooler = without_pooler(config)
        encoder = AutoModel.from_pretrained(name_or_path, dtype=torch.float32, **loading, **pooler)
        if any(getattr(module, "is_causal", False) is True for module in encoder.modules()):
            raise ValueError(
                f"Expected an encoder that reads both ways, {name_or_path} is a {type(encoder).__name__}, which reads "
                "only to the left. Choose a masked language model, or a decoder made bidirectional (EmbeddingGemma)."
            )
        if n_layers is not None:
            keep_first_layers(encoder, n_layers)
        encoder_config: Any = {
            key: value for key, value in encoder.config.to_dict().items() if key not in NOT_COMPUTED
        }
        model = cls(PunctuationRestorationConfig(encoder_config=encoder_config, **settings))
        model.encoder.load_state_dict(encoder.state_dict())
        model.notices = notices_beside(name_or_path, revision=revision)
        return model

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """As in transformers, but unreadable weights are an OSError, missing ones, which would be random, a ValueError.

        Weights stored in 8 bits become floats of the dtype asked for. With `casings=True` a model without casings gets
        a head for them, which needs training.
        """
        place, wants_info = pretrained_model_name_or_path, kwargs.pop("output_loading_info", False)
        try:
            loaded: Any = super().from_pretrained(
                place, *args, output_loading_info=True, will_be_loaded=True, **kwargs
            )
        except SafetensorError as error:
            raise OSError(
                f"Expected safetensors weights in {place}, could not read them: {error}. Download or copy the "
                "checkpoint again; a Git checkout without its large files holds only pointers."
            ) from error
        model, report = loaded
        has_casings = kwargs.get("casings")  # new ones may be missing
        if missing := sorted(
            name
            for name in report["missing_keys"]
            if not (has_casings and name.startswith("classifier.casings."))
        ):
            raise ValueError(
                f"Expected weights for all of this model in {place}, {len(missing)} are missing, such as "
                f"{missing[:3]}. Use a complete checkpoint, or from_encoder to start a new model from an encoder."
            )
        if any(name.endswith(SCALE) for name in report["unexpected_keys"]):
            raise ValueError(
                f"Expected weights as they are in {place}, whose configuration has no stored_bits, found scales of "
                "weights in 8 bits. Use the config.json that belongs to them."
            )
        if model.config.stored_bits:
            apply_scales(model.encoder)
            model.config.stored_bits = None
            # What was stored in floats are views of the file, which would stay in memory as a whole.
            for name, weight in model.named_parameters():
                if weight.ndim != 2 or not name.startswith("encoder."):
                    weight.data = weight.data.clone()
        # Read now: the folder may be gone when the model is saved, as checkpoints of a run go.
        if place is not None:
            where = {name: value for name, value in kwargs.items() if name in HUB_KEYWORDS}
            model.notices = notices_beside(place, **where)
        return loaded if wants_info else model

    def save_pretrained(
        self, save_directory: Any, *args: Any, stored_bits: int | None = None, **kwargs: Any
    ) -> None:
        """As in transformers; `stored_bits=8` stores the encoder's matrices in 8 bits, other numbers are a ValueError.

        Such a file has a quarter of the size. This model itself stays as it is. The notice and the terms that lay
        beside it when it was loaded are written too, as these terms ask.
        """
        self.config.stored_bits = stored_bits
        try:
            self.config.check_model()
            if stored_bits:
                weights = kwargs.get("state_dict") or self.state_dict()
                kwargs["state_dict"] = in_8_bits(weights, self.encoder)
            # First: `push_to_hub=True` sends what is there.
            for name, content in self.notices.items():
                Path(save_directory).mkdir(parents=True, exist_ok=True)
                if not (path := Path(save_directory, name)).exists():
                    path.write_bytes(content)
            super().save_pretrained(save_directory, *args, **kwargs)
        finally:
            self.config.stored_bits = None

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: Tensor | None = None,
        slot_positions: torch.LongTensor | None = None,
        labels: torch.LongTensor | None = None,
        casings: torch.LongTensor | None = None,
        **kwargs: Any,
    ) -> SlotClassifierOutput:
        """One pass over a batch of windows.

        Args:
            input_ids: (B, P) piece ids.
            attention_mask: (B, P), 1 for pieces, 0 for padding; None where nothing is padded.
            slot_positions: (B, W) index of each word's slot among the pieces; 0 is padding.
            labels: (B, W) label ids, -100 where a slot is not scored (padding, or a slot that shows its label).
            casings: (B, W) casing of each word, an index into `CASINGS`, -100 where it is not scored.
            **kwargs: for the encoder, such as `output_hidden_states`; or `inputs_embeds` (B, P, H) for `input_ids`.

        Returns:
            What `SlotClassifierOutput` describes. With `labels` the `loss` is the mean over the scored slots (0 without
            any) of the cross-entropy; with `casings` that of the casings is added.

        Raises:
            ValueError: if `slot_positions` is missing or does not fit `labels`, or the model knows no `casings`.
        """
        if slot_positions is None:
            raise ValueError(
                "Expected slot_positions of shape (texts, slots), got None. Build the inputs with "
                "punctuation_restoration.pipeline.slots.SlotEncoder.assemble, which returns them."
            )
        if labels is not None and labels.shape != slot_positions.shape:
            raise ValueError(
                f"Expected one label a slot, got labels {tuple(labels.shape)} for slots "
                f"{tuple(slot_positions.shape)}. Pad both alike, labels with {NOT_SCORED}."
            )
        casing_head = self.classifier.casings
        if casings is not None and casing_head is None:
            raise ValueError(
                "Expected no casings, the model knows none. Leave them out, or load it with casings=True."
            )
        read = self.encoder(
            input_ids=input_ids,
            attention_mask=attention_mask,
            **{**self._no_cache, **kwargs, "return_dict": True},
        )
        states = read.last_hidden_state
        # (B, W, H): the states at the slots
        slot_states = states.gather(
            1, slot_positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
        )
        logits = self.classifier(slot_states)
        casing_logits = None if casing_head is None else casing_head(slot_states)
        pairs: Any = ((logits, labels), (casing_logits, casings))
        losses = [
            cross_entropies(each, true).sum() / (true != NOT_SCORED).sum().clamp(min=1)
            for each, true in pairs
            if true is not None
        ]
        return SlotClassifierOutput(
            loss=sum(losses) if losses else None,
            logits=logits,
            hidden_states=getattr(read, "hidden_states", None),
            attentions=getattr(read, "attentions", None),
            casing_logits=casing_logits,
        )

    def fingerprint(self) -> str:
        """SHA-256 over weights and configuration: two models with the same one compute the same."""
        encoder = self.config.get_text_config().to_dict().items()
        settings = {key: value for key, value in encoder if key not in NOT_COMPUTED}
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
        for name, tensor in sorted(self.state_dict().items()):
            values = tensor.detach().cpu().contiguous()
            digest.update(f"{name} {values.dtype} {tuple(values.shape)}".encode())
            digest.update(values.reshape(-1).view(torch.uint8).numpy())
        return digest.hexdigest()

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if module is self.classifier.casings:
            init.zeros_(module.weight)


def cross_entropies(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Cross-entropy (B, W) of labels (B, W) under their logits (B, W, M), 0 where they are not scored."""
    return nn.functional.cross_entropy(
        logits.float().transpose(1, 2),
        labels,
        ignore_index=NOT_SCORED,
        reduction="none",
        label_smoothing=label_smoothing,
    )
