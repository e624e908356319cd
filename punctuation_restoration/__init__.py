"""Punctuation for speech recogniser output: registers the configuration, the model and the pipeline with transformers.

After ``import punctuation_restoration``, ``transformers.pipeline("punctuation-restoration")`` works. The import itself
loads neither transformers nor torch: what is registered is loaded when the part of transformers is that it belongs to.
"""

from pathlib import Path

# In a source checkout the folders `modeling`, `pipeline`, ... lie beside this package, in a wheel inside it.
if not (Path(__file__).parent / "modeling").is_dir():
    __path__.append(str(Path(__file__).resolve().parents[1]))

from punctuation_restoration.registration import DEFAULT_MODEL, register, register_when_loaded

__version__ = "0.1.0"
__all__ = ["DEFAULT_MODEL", "__version__", "register"]

register_when_loaded()
