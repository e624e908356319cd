"""A small encoder that reads to the right only, and so can resume where it stopped: an embedding and an LSTM.

Of what follows a word it sees as many pieces as the configuration's `shift`. Letters in shapes are those of
`modeling_punctuation`; E is the width of the embedding, L the number of layers.
"""

from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from .configuration_punctuation import PunctuationLSTMConfig


class PunctuationLSTM(PreTrainedModel):
    """Pieces -> embedding -> LSTM (Li & Lin 2020)."""

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

    def forward(self, input_ids: torch.Tensor, **kwargs: Any) -> BaseModelOutput:
        """The states (B, P, H) of pieces (B, P); padding follows a text."""
        return BaseModelOutput(last_hidden_state=self.stream_step(input_ids)[0])

    def stream_step(
        self, input_ids: torch.Tensor, memory: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Read the next pieces of a text.

        Args:
            input_ids: (B, P) the next pieces.
            memory: (2, L, B, H) what the last step returned; None at the start of a text.

        Returns:
            The states (B, P, H) of these pieces, and the memory after the last of them.
        """
        if memory is None:
            shape = 2, len(self.layers), len(input_ids), self.config.hidden_size
            memory = torch.zeros(shape, device=self.device, dtype=self.dtype)
        states, kept = self.embed_tokens(input_ids), []
        with torch.autocast(states.device.type, enabled=False):  # which not every device has for an LSTM
            for number, layer in enumerate(self.layers):
                states, after = layer(self.dropout(states), tuple(memory[:, number : number + 1]))
                kept.append(torch.stack(after))
        return states, torch.cat(kept, dim=1)
