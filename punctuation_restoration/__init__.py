"""Punctuation for speech recogniser output: registers the configuration, the model and the pipeline with transformers.

After ``import punctuation_restoration``, ``transformers.pipeline("punctuation-restoration")`` works. The import itself
loads neither transformers nor torch: what is registered is loaded when the part of transformers is that it belongs to.
"""

import functools
import importlib
from pathlib import Path
from typing import Any

# In a source checkout the folders `modeling`, `pipeline`, ... lie beside this package, in a wheel inside it.
if not (Path(__file__).parent / "modeling").is_dir():
    __path__.append(str(Path(__file__).resolve().parents[1]))

from punctuation_restoration.after_import import after_import

__version__ = "0.1.0"
__all__ = ["DEFAULT_MODEL", "__version__", "register"]


def __getattr__(name: str) -> Any:
    if name in ("DEFAULT_MODEL", "register"):
        return getattr(importlib.import_module("punctuation_restoration.registration"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _register_after_imports() -> None:
    """Load our part after that of transformers, and register it once it is loaded, by whomever."""
    parts = {
        "transformers.models.auto.configuration_auto": ("modeling.configuration_punctuation", "register_configuration"),
        "transformers.models.auto.modeling_auto": ("modeling.modeling_punctuation", "register_model"),
        "transformers.pipelines": ("pipeline.restoration_pipeline", "register_task"),
    }
    for theirs, (ours, action) in parts.items():
        module = f"{__name__}.{ours}"
        # Ours first: where theirs is loaded already, it loads ours at once.
        after_import(module, functools.partial(_call, action))
        after_import(theirs, functools.partial(importlib.import_module, module))


def _call(action: str) -> None:
    getattr(importlib.import_module("punctuation_restoration.registration"), action)()


_register_after_imports()
