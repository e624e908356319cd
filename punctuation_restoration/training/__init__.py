"""The trainer: settings, optimiser, schedule, loop, validation and checkpoints.

    from punctuation_restoration.training import train

    result = train("my_texts/", "runs/first", model="checkpoints/en-zh-ms", language="xx")
    print(result.f1_before, result.f1, result.best)

`self_train` adds text without marks. The command `train` calls both.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .self_training import self_train
    from .starting import train

__all__ = ["self_train", "train"]


def __getattr__(name: str) -> Any:
    """The two calls, imported when they are used: torch takes seconds, and the help of a command needs none of it."""
    if name == "train":
        from .starting import train

        return train
    if name == "self_train":
        from .self_training import self_train

        return self_train
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
