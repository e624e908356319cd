"""Where the default model and the fast one are. Imports neither transformers nor torch."""

import os
import re
from pathlib import Path

HUB_MODEL = "punctuation-restoration/en-zh-ms"
HUB_FAST = "punctuation-restoration/en-zh-ms-fast"
OUR_MODELS = (HUB_MODEL, HUB_FAST)
ROOT = Path(__file__).resolve().parents[1]  # of a checkout; a wheel has none
CHECKPOINTS = ROOT / "checkpoints"
HUB_ID = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)?")
VARIABLE = "PUNCTUATION_RESTORATION_MODEL"


def place_of(hub_model: str) -> str:
    """Folder of one of our models in a checkout; outside a checkout its id on the Hub."""
    folder = CHECKPOINTS / hub_model.rpartition("/")[2]
    return str(folder) if (folder / "config.json").is_file() else hub_model


def hub_name(model: str) -> str | None:
    """The id on the Hub of one of our models, given by it or by its folder in a checkout; None for any other."""
    path = Path(model).resolve()
    return next(
        (name for name in OUR_MODELS if model == name or path == Path(place_of(name)).resolve()),
        None,
    )


DEFAULT_MODEL = os.environ.get(VARIABLE) or place_of(HUB_MODEL)
FAST = place_of(HUB_FAST)


def find_model(name: str | None = None) -> str:
    """Folder or Hub id for a command's `--model`: "fast", a name of the user's, or None for the default model.

    An `OSError` if it names a folder that is not there or holds no model, or one of our models that can neither be
    found nor downloaded.
    """
    model = FAST if name == "fast" else name or DEFAULT_MODEL
    path = Path(model)
    if not HUB_ID.fullmatch(model) and not path.exists():
        raise OSError(
            f"Expected a model's folder or Hub id, got {model}, where nothing is. Check the path."
        )
    if path.is_dir() and not (path / "config.json").is_file():
        raise OSError(
            f"Expected a model's folder, got {model}, which has no config.json. Of a training run give the folder "
            "best in it."
        )
    check_model(model)
    return model


def check_model(model: str) -> None:
    """Check that one of our models can be loaded; without a network transformers takes half a minute to find out.

    An `OSError` if it is neither in the cache nor, as far as one request of 3 seconds tells, on the Hub.
    """
    if model not in OUR_MODELS:
        return
    from huggingface_hub import HfApi, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(model, "config.json"), str):
        return
    try:
        HfApi().model_info(model, timeout=3)
    except Exception as error:  # no network, no such model, a proxy's answer
        raise OSError(
            f"Expected the model {model} in the cache or on the Hub, found it in neither ({type(error).__name__}). "
            f'Name a folder, by pipeline("punctuation-restoration", model="path/to/model"), punctuate --model or the '
            f"environment variable {VARIABLE}; or run `hf download {model}` where the Hub can be reached."
        ) from error
