"""Loads the pipeline for the commands, with one line for each way in which that may fail. It knows transformers."""

from collections.abc import Mapping
from typing import Any


class ModelError(RuntimeError):
    """The model cannot be loaded."""


class OptionError(Exception):
    """The model does not take the options."""


def load_pipeline(
    model: str | None = None, device: str | None = None, options: Mapping[str, Any] | None = None, **construction: Any
) -> Any:
    """The pipeline, silently; None stands for transformers' own choice.

    `options` are keywords of its calls, to be checked; `construction` are those with which it is made (`backend`,
    `dtype`, `ensemble`, `jieba_dictionary`).

    Raises:
        ModelError: it cannot be loaded; with what to do.
        OptionError: it does not know an option, or a value cannot be.
    """
    import transformers  # seconds to import; mistakes in options need not wait for it
    from transformers import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    build: Any = transformers.pipeline  # its overloads name only the tasks of transformers itself
    given = {"model": model, "device": device, **construction}
    try:
        restore = build("punctuation-restoration", **{k: v for k, v in given.items() if v is not None})
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
        raise ModelError(
            f"Expected a model to load from {model or 'the default place'}, got: {first_line(error)} Give a folder or "
            "a Hub id (--model, --ensemble), or check the connection."
        ) from error
    try:
        restore("", **options or {})
    except (TypeError, ValueError) as error:
        raise OptionError(str(error)) from error
    return restore


def first_line(error: BaseException) -> str:
    """The gist of a long message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
