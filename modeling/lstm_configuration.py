"""The configuration of a small encoder that reads to the right only. Knows nothing about tensors or text."""

from typing import Any

from transformers import PreTrainedConfig


class PunctuationLSTMConfig(PreTrainedConfig):
    """Configuration of a `PunctuationLSTM`; the defaults are those of Li & Lin (2020, section 3).

    Raises:
        ValueError: for a size below 1.
    """

    model_type = "punctuation-lstm"

    vocab_size: int = 16_000  # pieces
    embedding_size: int = 256
    hidden_size: int = 1024  # of the LSTM
    num_hidden_layers: int = 1
    dropout: float = 0.1  # of what each layer reads

    def __post_init__(self, **kwargs: Any) -> None:
        names = ("vocab_size", "embedding_size", "hidden_size", "num_hidden_layers")
        if wrong := {name: getattr(self, name) for name in names if getattr(self, name) < 1}:
            raise ValueError(f"Expected sizes of 1 or more, got {wrong}. Correct it.")
        super().__post_init__(**kwargs)
