"""Loads the pipeline for the commands, with one line for each way in which that may fail. It knows transformers.

Python code that lies beside a model runs only where the caller trusts it; nobody is asked.
"""

import gc
import re
from argparse import _ActionsContainer
from collections.abc import Mapping
from typing import Any

from .default_models import find_model


class ModelError(RuntimeError):
    """The model cannot be loaded."""


class OptionError(Exception):
    """The options do not go together, or the model does not take them."""


def load_pipeline(
    model: str | None = None,
    device: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    trust_remote_code: bool = False,
    **construction: Any,
) -> Any:
    """The pipeline, silently; `model` is a folder, a Hub id, `"fast"`, or None for the default model.

    `options` are keywords of its calls, to be checked; `construction` are those with which it is made (`backend`,
    `dtype`, `jieba_dictionary`). With `trust_remote_code` Python code beside the model may run.

    Raises:
        ModelError: it cannot be loaded; with what to do.
        OptionError: it does not know an option, or a value cannot be.
    """
    given = {"device": device, **construction}
    given = {name: value for name, value in given.items() if value is not None}
    # Of all that is imported nothing is garbage: to look for some takes a fifth of the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        model = find_model(model)
        # Seconds to import; a folder that is not there need not wait for it.
        from transformers import logging, pipeline

        from .pipeline.backends import check_device

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        check_device(device)
        # Its overloads name only the tasks of transformers itself.
        restore = pipeline(  # type: ignore[call-overload]
            "punctuation-restoration", model=model, trust_remote_code=trust_remote_code, **given
        )
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
        reason = refused_code(error) or gist(error)
        if not reason.startswith("Expected "):  # ours say what to do
            reason = (
                f"Expected a model to load from {model}, got: {reason.rstrip('.')}. Give a folder with all files of a "
                "model, or a Hub id (--model), or check the connection."
            )
        raise ModelError(reason) from error
    finally:
        if was_enabled:
            gc.enable()
    try:
        restore("", **options or {})
    except (TypeError, ValueError) as error:
        raise OptionError(str(error)) from error
    except (ImportError, OSError) as error:  # the backend writes its file with the first text
        raise ModelError(gist(error)) from error
    return restore


def refused_code(error: BaseException) -> str | None:
    """What to say where transformers refused to run Python code beside a model; None for any other error."""
    refused = re.search(r"The repository (.+?) (?:contains|references) custom code", str(error))
    return refused and (
        f"Expected a model that needs no Python code of its own, got {refused[1]}, which has some. It could do "
        "anything on this machine. Read it, and if you trust it, add --trust-remote-code."
    )


def add_trust_option(parser: _ActionsContainer) -> None:
    """Add the option by which a command lets code beside a model run."""
    parser.add_argument(
        "--trust-remote-code",
        action="store_true",
        help="run Python code that lies beside a model; it may do anything",
    )


def gist(error: BaseException) -> str:
    """The gist of a long message: the last error that is told in it, or its first line."""
    said = str(error).strip() or type(error).__name__
    inside = re.findall(r"^\w+Error: (.+)", said, re.MULTILINE)
    return inside[-1] if inside else said.splitlines()[0].rstrip()
