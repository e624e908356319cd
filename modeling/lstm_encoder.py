"""A small encoder that reads to the right only, and so can go on where it stopped: an embedding and an LSTM.

The state of a piece is the LSTM's `shift` pieces later (Li & Lin 2020), so that to all others it is an encoder like any:

    pieces    <s>  hello  this  is  josh  </s>  <pad>  <pad>        behind the text one for each piece of the shift
    LSTM       h0    h1    h2   h3   h4    h5     h6     h7
    states     h2    h3    h4   h5   h6    h7                       with a shift of 2

Letters in shapes are those of `modeling_punctuation`; E is the width of the embedding, L the number of layers.
"""

from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from .lstm_configuration import PunctuationLSTMConfig


class PunctuationLSTM(PreTrainedModel):
    """Pieces -> embedding -> LSTM, read `shift` pieces later."""

    config_class = PunctuationLSTMConfig
    base_model_prefix = "encoder"
    main_input_name = "input_ids"
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True  # it has none

    def __init__(self, config: PunctuationLSTMConfig) -> None:
        super().__init__(config)
        widths = [config.embedding_size, *[config.hidden_size] * (config.num_hidden_layers - 1)]
        self.embed_tokens = nn.Embedding(config.vocab_size, config.embedding_size)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(nn.LSTM(width, config.hidden_size, batch_first=True) for width in widths)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        **kwargs: Any,
    ) -> BaseModelOutput:
        """The states (B, P, H) of pieces (B, P), or of their embeddings (B, P, E); padding stands on the right."""
        embedded = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        n_texts, shift = embedded.shape[0], self.config.shift
        behind = self.embed_tokens(torch.full((n_texts, shift), self.config.pad_token_id, device=embedded.device))
        if attention_mask is not None:  # whatever the caller pads with
            embedded = torch.where(attention_mask.unsqueeze(-1) > 0, embedded, behind[:, :1] if shift else 0.0)
        states, _ = self.go_on(torch.cat([embedded, behind], dim=1), self.nothing_read(n_texts))
        return BaseModelOutput(last_hidden_state=states[:, shift:])

    def nothing_read(self, n_texts: int = 1) -> torch.Tensor:
        """The memory (2, L, B, H) before a text."""
        shape = 2, len(self.layers), n_texts, self.config.hidden_size
        return torch.zeros(shape, device=self.device, dtype=self.dtype)

    def go_on(self, states: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What the layers make of embeddings (B, P, E) behind what they have read; and their memory of all of it.

        The states (B, P, H) are those of the LSTM, without the shift; the memory (2, L, B, H) is all that is kept.
        """
        with torch.autocast(states.device.type, enabled=False):  # which not every device has for an LSTM
            kept = []
            for number, layer in enumerate(self.layers):
                hidden, cell = memory[:, number : number + 1]
                states, after = layer(self.dropout(states), (hidden, cell))
                kept.append(torch.stack(after))
        return states, torch.cat(kept, dim=1)
