"""Which pretrained encoder a run starts from, and how its slots are best read. Takes a name, gives configurations."""

from pathlib import Path
from typing import Any

from transformers import AutoConfig, AutoTokenizer

from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS
from punctuation_restoration.modeling.encoder_layers import encoder_class_of
from punctuation_restoration.modeling.modeling_punctuation import LAYERED_ENCODERS


def read_encoder(name: str) -> tuple[Any, Any]:
    """Configuration and tokenizer of a pretrained encoder, by its folder or Hub id.

    Raises:
        ValueError: if it is no encoder, or has no tokenizer.
    """
    if name.lower().endswith(".gguf"):
        raise ValueError(
            f"Expected the folder of an encoder, got the GGUF file {name}. Write a folder from it first: AutoModel and "
            f"AutoTokenizer.from_pretrained({str(Path(name).parent)!r}, gguf_file={Path(name).name!r}), then "
            "save_pretrained."
        )
    try:
        config = AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise ValueError(f"Expected an encoder at {name!r}, could not load it: {error}") from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        if set(tokenizer.get_vocab().values()) <= set(tokenizer.all_special_ids):  # made without any file
            raise ValueError("it has special pieces only.")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"Expected a tokenizer beside the encoder in {name!r}, could not load one: {error} Copy its files there."
        ) from error
    return config, tokenizer


def best_slot_style(encoder_config: Any, tokenizer: Any) -> str:
    """The slot style that an encoder learns best with, of those that it can have.

    Late masks cost what tagging costs and can show known marks, but need layers that are called one by one; masks
    among the pieces need a mask that the encoder was trained with (docs/log.md, "What pays, at equal words").
    """
    known = [tokenizer.convert_tokens_to_ids(label["fill"]) for label in DEFAULT_LABELS[1:]]
    if any(piece in (None, tokenizer.unk_token_id) for piece in known):
        return "last-piece"
    encoder_class = encoder_class_of(encoder_config)
    if encoder_class is not None and encoder_class.__name__ in LAYERED_ENCODERS and not encoder_config.is_decoder:
        return "late-mask"
    return "mask" if tokenizer.mask_token is not None else "last-piece"
