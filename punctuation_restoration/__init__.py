"""Punctuation for speech recogniser output: registers the configuration, the model and the pipeline with transformers.

After ``import punctuation_restoration``, ``transformers.pipeline("punctuation-restoration")`` works. Importing this
package does not import transformers or torch. ``model=FAST`` names the small, fast model,
`PunctuationStreamer` restores live words, and `restore_transcript` what a recogniser gives.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any

from .default_models import DEFAULT_MODEL, FAST
from .registration import register_when_loaded

__version__ = "0.1.0"
__all__ = [
    "DEFAULT_MODEL",
    "FAST",
    "PunctuationStreamer",
    "__version__",
    "restore_transcript",
]

# In a source checkout the two folders that go to the Hub lie beside this package, in a wheel inside it.
for _name in ("modeling", "pipeline"):
    _folder = Path(__file__).resolve().parents[1] / _name
    if not (Path(__file__).parent / _name).is_dir():
        _spec = importlib.util.spec_from_file_location(
            f"{__name__}.{_name}",
            _folder / "__init__.py",
            submodule_search_locations=[str(_folder)],
        )
        assert _spec is not None
        # The file holds a docstring only, so nothing has to be run.
        sys.modules[_spec.name] = globals()[_name] = importlib.util.module_from_spec(_spec)

register_when_loaded()


def __getattr__(name: str) -> Any:
    # Imported when asked for: the first imports torch.
    if name == "PunctuationStreamer":
        from .pipeline.streamer import PunctuationStreamer

        return PunctuationStreamer
    if name == "restore_transcript":
        from .transcripts import restore_transcript

        return restore_transcript
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
