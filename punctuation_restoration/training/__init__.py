"""The trainer: settings, optimiser, schedule, loop, validation and checkpoints.

    from punctuation_restoration.training import train

    result = train("my_texts/", "runs/first", model="checkpoints/en-zh-ms", language="xx")
    print(result.f1_before, result.f1, result.best)

The command `train` calls it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .starting import train

__all__ = ["train"]


def __getattr__(name: str) -> Any:
    """`train`, imported when it is used: torch takes seconds, and the help of a command needs none of it."""
    if name == "train":
        from .starting import train

        return train
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
