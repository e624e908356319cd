"""The model: an encoder, and a classifier that is applied at the slots and nowhere else.

Takes piece ids and the positions of the slots, gives one row of label logits a slot. It does not know words, text or
languages. Letters in shapes: B texts in a batch, P pieces, W slots (one a word), M labels, C casings, H hidden width.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import AutoConfig, AutoModel, PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutput, TokenClassifierOutput
from transformers.utils import can_return_tuple

from .configuration_punctuation import LATE_STYLES, PunctuationRestorationConfig
from .encoder_layers import LAYERED_ENCODERS, attend, is_causal, keep_first_layers, unmask_layers, without_pooler
from .heads import NOT_SCORED, build_head, cross_entropies, mean_loss
from .lstm_configuration import PunctuationLSTMConfig
from .lstm_encoder import PunctuationLSTM

WHOLE_OUTPUTS = ("output_hidden_states", "output_attentions")  # what is asked for of all pieces
TOLERANCE, HALF_TOLERANCE = 1e-4, 5e-2  # between states, relative to the largest: sums are in another order


@dataclass
class SlotClassifierOutput(TokenClassifierOutput):
    """What the model gives; a CRF with labels adds `nll` (B, W), the negative log-likelihood of each scored slot.

    A model with casings adds `casing_logits` (B, W, C).
    """

    nll: torch.Tensor | None = None
    casing_logits: torch.Tensor | None = None


class PunctuationRestorationModel(PreTrainedModel):
    """Names the mark that belongs in each slot.

    Loads with `AutoModelForTokenClassification`: the tokens that it classifies are the slots.
    """

    config_class = PunctuationRestorationConfig
    base_model_prefix = "encoder"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    accepts_loss_kwargs = False  # the loss is a plain mean, so Trainer must divide by the accumulation steps
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True

    def __init__(self, config: PunctuationRestorationConfig) -> None:
        super().__init__(config)
        config.check_model()
        encoder: Any = config.encoder_config
        is_ours = encoder.model_type == PunctuationLSTMConfig.model_type  # code from the Hub is not registered
        built = PunctuationLSTM(encoder) if is_ours else AutoModel.from_config(encoder, **without_pooler(encoder))
        self.encoder: Any = built
        hidden_size = config.get_text_config().hidden_size
        self.classifier: Any = build_head(config, hidden_size)
        if self.n_slot_layers and not self.is_layered:
            raise ValueError(
                f"Expected an encoder out of {sorted(LAYERED_ENCODERS)} for slot_style {config.slot_style!r}, got "
                f"{type(self.encoder).__name__}. Use slot_style 'mask', which works with any encoder."
            )
        if config.slot_style == "late-mask":
            self.mask_state = nn.Parameter(torch.zeros(hidden_size))  # what tells a mask from the word before it
        if config.bidirectional_from is not None:
            unmask_layers(self.encoder, config.bidirectional_from)
        self.post_init()

    @classmethod
    def from_encoder(
        cls, name_or_path: str, n_layers: int | None = None, revision: str | None = None, **settings: Any
    ) -> "PunctuationRestorationModel":
        """Start from a pretrained encoder, with a new classifier.

        Args:
            name_or_path: folder or Hub id of an encoder that `AutoModel` loads.
            n_layers: keep only so many of the first layers; None keeps all.
            revision: revision on the Hub.
            settings: fields of `PunctuationRestorationConfig`. A causal encoder gets the upper half of its layers
                unmasked where `bidirectional_from` is not among them.

        Raises:
            ValueError: if the encoder has fewer layers than asked for, or no list of layers to cut.
        """
        config = AutoConfig.from_pretrained(name_or_path, revision=revision)
        if isinstance(config, PunctuationRestorationConfig):
            raise ValueError(
                f"Expected a pretrained encoder, {name_or_path} is a punctuation model already. Load it with "
                "from_pretrained; to train it further, give it to train.py as --from."
            )
        pooler = without_pooler(config)
        encoder = AutoModel.from_pretrained(name_or_path, revision=revision, dtype=torch.float32, **pooler)
        if n_layers is not None:
            keep_first_layers(encoder, n_layers)
        local = ("_name_or_path", "dtype")  # a path of this machine, and how the weights were stored
        encoder_config = {key: value for key, value in encoder.config.to_dict().items() if key not in local}
        if is_causal(encoder):
            settings.setdefault("bidirectional_from", encoder.config.num_hidden_layers // 2)
        model = cls(PunctuationRestorationConfig(encoder_config=encoder_config, **settings))
        model.encoder.load_state_dict(encoder.state_dict())
        return model

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """As in transformers, but weights that are missing or unreadable are an error, not a warning.

        A checkpoint of another slot style may be loaded with `slot_style="late-mask"`: its masks then start as copies
        of the words' last pieces, which is what tagging reads. With `slot_style="mask-stream"` and the tokenizer's
        `mask_token_id` it needs training first: its masks were never read as a stream. With `pause_edges` a checkpoint
        that knows no pauses may learn them, and with `casings=True` one that knows no casings: until then they change
        nothing.

        Raises:
            OSError: if there is no checkpoint, or its weights cannot be read.
            ValueError: if the checkpoint lacks weights of this model; new ones would be random.
        """
        wants_info = kwargs.pop("output_loading_info", False)
        new = {"mask_state"} if kwargs.get("slot_style") == "late-mask" else set()  # zeros where the style is changed
        new |= {"classifier.pauses.weight"} if kwargs.get("pause_edges") else set()
        if kwargs.get("casings") or kwargs.get("ignore_mismatched_sizes"):  # with these, weights are put in afterwards
            new |= {"classifier.casings.weight", "classifier.casings.bias"}
        place = pretrained_model_name_or_path
        try:
            loaded: Any = super().from_pretrained(place, *args, output_loading_info=True, **kwargs)
        except SafetensorError as error:
            raise OSError(
                f"Expected safetensors weights in {place}, could not read them: {error}. Download or copy the "
                "checkpoint again; a Git checkout without its large files holds only pointers."
            ) from error
        model, report = loaded
        missing = sorted(set(report["missing_keys"]) - new)
        if missing:
            raise ValueError(
                f"Expected weights for all of this model in {place}, {len(missing)} are missing, such as "
                f"{missing[:3]}. Use a complete checkpoint, or from_encoder to start a new model from an encoder."
            )
        return (model, report) if wants_info else model

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        slot_positions: torch.LongTensor | None = None,
        labels: torch.LongTensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        pauses: torch.LongTensor | None = None,
        casings: torch.LongTensor | None = None,
        **kwargs: Any,
    ) -> SlotClassifierOutput:
        """One pass over a batch of windows.

        Where the encoder allows it, the last layer is computed at the slots alone: of the other pieces only keys and
        values are needed there. `output_hidden_states=True` and `output_attentions=True` compute it whole.

        Args:
            input_ids: (B, P) piece ids.
            attention_mask: (B, P), 1 for pieces, 0 for padding; None where nothing is padded.
            slot_positions: (B, W) index of each word's slot among the pieces; 0, where no slot ever stands, pads. In
                a stream of masks it is that of the word's last piece, which is never the last of all.
            labels: (B, W) label ids, -100 where a slot is not scored (padding, or a slot that was filled).
            inputs_embeds: (B, P, H) in place of `input_ids`.
            pauses: (B, W) bucket of the pause after each word, from 1 on, 0 where it is unknown; None where all are.
            casings: (B, W) casing of each word, a place in `CASINGS`, -100 where it is unknown; for training.

        Returns:
            `logits` (B, W, M), meaningless where `slot_positions` is 0; with a CRF they are the logarithms of its
            marginals. With `labels` the mean over the scored slots (0 where none is scored) of the cross-entropy, or of
            the negative log-likelihood of a CRF, which then stands in `nll`; with `casings` that of these is added.

        Raises:
            ValueError: if `slot_positions` is missing or does not fit `labels`, or there are pauses or casings that the
                model does not know.
        """
        slot_positions = self._checked(slot_positions, labels, pauses, casings)
        pieces = {"input_ids": input_ids, "inputs_embeds": inputs_embeds}
        asked = {name: kwargs.get(name, getattr(self.encoder.config, name, False)) for name in WHOLE_OUTPUTS}
        outputs, slot_states = self._read(pieces, attention_mask, slot_positions, asked)
        slot_states = slot_states if pauses is None else slot_states + self.classifier.pauses(pauses)
        is_slot = slot_positions != 0
        logits, nll, losses = self.classifier(slot_states, is_slot), None, []  # (B, W, M)
        if self.classifier.crf is not None:
            nll = None if labels is None else self.classifier.crf.losses(logits, is_slot, labels)
            logits = self.classifier.crf(logits, is_slot)
        casing_logits = None if self.classifier.casings is None else self.classifier.casings(slot_states)  # (B, W, C)
        if labels is not None:
            losses.append(mean_loss(cross_entropies(logits, labels) if nll is None else nll, labels))
        if casings is not None and casing_logits is not None:
            losses.append(mean_loss(cross_entropies(casing_logits, casings), casings))
        loss: Any = sum(losses) if losses else None
        return SlotClassifierOutput(loss, logits, outputs.hidden_states, outputs.attentions, nll, casing_logits)

    def _checked(self, slot_positions: Any, labels: Any, pauses: Any, casings: Any) -> torch.LongTensor:
        """The slots, which the others fit."""
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
        if pauses is not None and self.classifier.pauses is None:
            raise ValueError("Expected no pauses, the model has no pause_edges. Leave them out, or train it with them.")
        if casings is not None and self.classifier.casings is None:
            raise ValueError("Expected no casings, the model knows none. Leave them out, or load it with casings=True.")
        return slot_positions

    def set_head(self, kind: str) -> None:
        """Give the model another head; weights that the old one has too are kept, the others are new.

        Raises:
            ValueError: for a head that is none of `HEADS`.
        """
        if kind == self.config.head:
            return
        self.config.head, old = kind, self.classifier
        self.config.check_model()
        self.classifier = build_head(self.config, self.config.get_text_config().hidden_size)
        self.classifier.apply(self._init_weights).load_state_dict(old.state_dict(), strict=False)
        self.classifier.to(device=self.device, dtype=self.dtype).train(self.training)

    @property
    def reads_short(self) -> bool:
        """Whether `forward` computes the last layer at the slots alone.

        Not where layers do what `attend` leaves out (dropout of attention weights, checkpoints of gradients, attention
        of flash or flex), or where it gives other states than the encoder, whose parts may be rebuilt in transformers.
        """
        attention = self.config.get_text_config()._attn_implementation or "sdpa"
        if not (self.is_layered and attention.endswith(("sdpa", "eager")) and self._attend_agrees):
            return False
        layers = self.encoder.encoder.layer if self.training else ()
        return not any(layer.gradient_checkpointing or layer.attention.self.dropout.p for layer in layers)

    @property
    def is_layered(self) -> bool:
        """Whether `attend` can compute the encoder's layers one by one."""
        return type(self.encoder).__name__ in LAYERED_ENCODERS

    @property
    def n_slot_layers(self) -> int:
        """How many of the last layers compute the slots apart from the pieces; 0 where the slots are pieces."""
        return self.config.mask_layers if self.config.slot_style in LATE_STYLES else 0

    def slot_states(self, states: torch.Tensor, slot_positions: torch.Tensor) -> torch.Tensor:
        """The states (B, W, H) of the slots, out of those of all pieces (B, P, H).

        A mask that joins now has no state of its own yet. That of a stream is the embedding of `<mask>` one position
        after its word; a late mask starts from the last piece of its word.
        """
        style = self.config.slot_style
        if style == "mask-stream":  # one at every place, whichever way the encoder counts places
            mask_ids = torch.full(states.shape[:2], self.config.mask_token_id, device=states.device)
            states, slot_positions = self.encoder.embeddings(input_ids=mask_ids), slot_positions + 1
        found = states.gather(1, slot_positions.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
        return found + self.mask_state if style == "late-mask" else found

    def _read(
        self, pieces: dict[str, Any], attention_mask: torch.Tensor | None, slot_positions: torch.Tensor, asked: Any
    ) -> tuple[Any, torch.Tensor]:
        """What was asked for of all pieces, and the states (B, W, H) of the slots."""
        n_layers, is_piece = self.n_slot_layers, _is_piece(attention_mask)
        if self.reads_short and not any(asked.values()):
            seen = self._layer_by_layer(pieces, is_piece)
            return BaseModelOutput(), self._through_last_layers(n_layers or 1, seen, slot_positions, is_piece)
        options = {"output_hidden_states": asked["output_hidden_states"] or n_layers > 0, "return_dict": True}
        outputs = self.encoder(**pieces, attention_mask=attention_mask, **{**asked, **options})
        if not n_layers:
            return outputs, self.slot_states(outputs.last_hidden_state, slot_positions)
        states = self._through_last_layers(n_layers, outputs.hidden_states, slot_positions, is_piece)
        return outputs if asked["output_hidden_states"] else BaseModelOutput(attentions=outputs.attentions), states

    def _layer_by_layer(self, pieces: dict[str, Any], is_piece: torch.Tensor | None) -> Iterator[torch.Tensor]:
        """The states (B, P, H) that each layer reads, and those behind the last one; each computed when it is taken."""
        states = self.encoder.embeddings(**pieces)
        for layer in self.encoder.encoder.layer:
            yield states
            states = attend(layer, states, states, is_piece)
        yield states

    def _through_last_layers(
        self, n_layers: int, seen: Iterable[torch.Tensor], slot_positions: torch.Tensor, is_piece: torch.Tensor | None
    ) -> torch.Tensor:
        """The states (B, W, H) of the slots behind the last layers; `seen` are those of the pieces that layers read."""
        layers = self.encoder.encoder.layer
        first = len(layers) - n_layers
        slot_states: Any = None
        # In this order nothing is taken from `seen`, and so computed, after the last layer.
        for layer, states in zip(layers[first:], itertools.islice(seen, first, None), strict=False):
            own = self.slot_states(states, slot_positions) if slot_states is None else slot_states
            slot_states = attend(layer, own, states, is_piece)
        return slot_states

    @functools.cached_property
    @torch.no_grad()
    def _attend_agrees(self) -> bool:
        """Whether `attend` gives what the encoder gives for a batch with padding, as nearly as the precision allows."""
        vocabulary = self.config.get_text_config().vocab_size
        input_ids = torch.arange(24, device=self.device).view(2, 12) % vocabulary
        mask = torch.ones_like(input_ids)
        mask[1, 8:] = 0
        was_training = self.training
        self.eval()
        try:
            with torch.autocast(self.device.type, enabled=False):
                expected = self.encoder(input_ids=input_ids, attention_mask=mask).last_hidden_state
                *_, got = self._layer_by_layer({"input_ids": input_ids}, _is_piece(mask))
        except (AttributeError, TypeError):
            return False
        finally:
            self.train(was_training)
        difference = ((expected - got).abs() * mask[:, :, None]).max()
        tolerance = TOLERANCE if self.dtype == torch.float32 else HALF_TOLERANCE
        return bool(difference <= tolerance * (1 + expected.abs().max()))

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if module is self and self.config.slot_style == "late-mask":
            init.zeros_(self.mask_state)
        if module is self.classifier.pauses or module is self.classifier.casings:
            init.zeros_(module.weight)


def _is_piece(attention_mask: torch.Tensor | None) -> torch.Tensor | None:
    """(B, P) -> (B, 1, 1, P) of bool, as attention takes it."""
    return None if attention_mask is None else attention_mask.bool()[:, None, None, :]
