"""The configuration of a small encoder that reads to the right only. Knows nothing about tensors or text."""

from typing import Any

from transformers import PreTrainedConfig


class PunctuationLSTMConfig(PreTrainedConfig):
    """Configuration of a `PunctuationLSTM`, after Li & Lin (2020, section 3).

    Args:
        vocab_size: pieces.
        embedding_size: width of the embedding.
        hidden_size: width of the LSTM, of one direction.
        num_hidden_layers: layers of the LSTM.
        shift: so many pieces are read behind a piece before its state is taken: all that is known of what follows.
        dropout: of what each layer reads.
        pad_token_id: the piece that stands behind a text, as often as the shift.

    Raises:
        ValueError: for a size or a shift that cannot be.
    """

    model_type = "punctuation-lstm"

    vocab_size: int = 16_000
    embedding_size: int = 256
    hidden_size: int = 1024
    num_hidden_layers: int = 1
    shift: int = 4
    dropout: float = 0.1
    pad_token_id: int = 1

    def __post_init__(self, **kwargs: Any) -> None:
        sizes = (self.vocab_size, self.embedding_size, self.hidden_size, self.num_hidden_layers)
        if min(sizes) < 1 or self.shift < 0 or not 0 <= self.pad_token_id < self.vocab_size:
            raise ValueError(
                "Expected vocab_size, embedding_size, hidden_size and num_hidden_layers of 1 or more, a shift of 0 or "
                f"more and pad_token_id below vocab_size, got {sizes}, {self.shift} and {self.pad_token_id}. Correct "
                "them."
            )
        super().__post_init__(**kwargs)
