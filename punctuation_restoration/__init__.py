"""Punctuation for speech recogniser output: registers the configuration, the model and the pipeline with transformers.

After ``import punctuation_restoration``, ``transformers.pipeline("punctuation-restoration")`` works. Importing this
package does not import transformers or torch. ``model=FAST`` names the small, fast model,
`PunctuationStreamer` restores live words, and `restore_transcript` what a recogniser gives.
"""

from pathlib import Path
from typing import Any

from .default_models import DEFAULT_MODEL, FAST, ROOT
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
if not (Path(__file__).parent / "pipeline").is_dir():
    __path__.append(str(ROOT))

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
