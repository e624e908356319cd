"""Where the two models are: the default one, and the fast one for slow machines and live captions.

It knows places and names, and loads neither a model nor transformers.
"""

import os
from pathlib import Path

HUB_MODEL, HUB_FAST = "punctuation-restoration/en-zh-ms", "punctuation-restoration/en-zh-ms-fast"
CHECKPOINTS = Path(__file__).resolve().parents[1] / "checkpoints"  # of a checkout; a wheel has none
VARIABLE = "PUNCTUATION_RESTORATION_MODEL"


def place_of(hub_model: str) -> str:
    """Folder of one of our models in a checkout, which works offline, or else its id on the Hub."""
    folder = CHECKPOINTS / hub_model.rpartition("/")[2]
    return str(folder) if (folder / "config.json").is_file() else hub_model


DEFAULT_MODEL = os.environ.get(VARIABLE) or place_of(HUB_MODEL)
FAST = place_of(HUB_FAST)


def find_model(name: str | None = None) -> str:
    """The folder or Hub id that a command's `--model` names: `fast`, another of its own, or None for the default model.

    Raises:
        OSError: it is one of ours, and is not there.
    """
    model = FAST if name == "fast" else name or DEFAULT_MODEL
    check_model(model)
    return model


def check_model(model: str) -> None:
    """Make sure that one of our models is there or can be fetched; transformers takes half a minute to find that out.

    Other models pass unchecked.

    Raises:
        OSError: it is neither in the cache nor, as far as one short request tells, on the Hub.
    """
    if model not in (HUB_MODEL, HUB_FAST):
        return
    from huggingface_hub import HfApi, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(model, "config.json"), str):
        return
    try:
        HfApi().model_info(model, timeout=3)
    except Exception as error:  # no network, no such model, a proxy's answer: the two ways on are the same
        raise OSError(
            f"Expected the model {model} in the cache or on the Hub, found it in neither ({type(error).__name__}). "
            f'Name a folder, by pipeline("punctuation-restoration", model="path/to/model"), punctuate --model or the '
            f"environment variable {VARIABLE}; or run `hf download {model}` where the Hub can be reached."
        ) from error
