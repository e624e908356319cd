"""Loads the restorer when it is first needed, so that wrong options and unreadable files are told at once.

It knows transformers, and nothing about files.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


class ModelError(RuntimeError):
    """The model cannot be loaded."""


class OptionError(Exception):
    """The model does not take the options."""


class LazyRestorer:
    """A restorer that loads its model at the first text.

    Args:
        model: folder or Hub id; None for the default model.
        device: "cpu", "cuda", "cuda:1", "mps"; None lets transformers choose.
        options: keywords of the pipeline's calls, checked when it is loaded.
        construction: keywords with which the pipeline is made: `backend`, `jieba_dictionary`; None stands for nothing.
    """

    def __init__(
        self,
        model: str | None = None,
        device: str | None = None,
        options: Mapping[str, Any] | None = None,
        **construction: Any,
    ):
        self.model = model
        self.device = device
        self.options = dict(options or {})
        self.construction = construction

    def __call__(self, items: Iterable[Any], **options: Any) -> Iterator[Mapping[str, Any]]:
        """Restore items as they come."""
        # The pipeline streams generators only
        yield from self.pipeline((item for item in items), **options)

    def stream_results(self, texts: Iterable[str], **options: Any) -> Iterator[Mapping[str, Any]]:
        """Restore one long text, part by part."""
        results: Iterator[Mapping[str, Any]] = self.pipeline.stream_results(texts, **options)
        return results

    @functools.cached_property
    def pipeline(self) -> Any:
        """The pipeline, which is loaded when it is first asked for, with the errors of `load`."""
        return self.load()

    def load(self) -> Any:
        """The pipeline, with its options checked.

        Raises:
            ModelError, OptionError: it cannot be loaded; it does not know an option, or a value cannot be.
        """
        restore = load_pipeline(self.model, self.device, **self.construction)
        try:
            restore("", **self.options)
        except (TypeError, ValueError) as error:
            raise OptionError(str(error)) from error
        return restore


def load_pipeline(model: str | None = None, device: str | None = None, **construction: Any) -> Any:
    """The pipeline, silently; None stands for transformers' own choice, in `construction` too.

    Raises:
        ModelError: it cannot be loaded; with what to do.
    """
    import transformers  # seconds to import; mistakes in options need not wait for it
    from transformers import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    build: Any = transformers.pipeline  # its overloads name only the tasks of transformers itself
    given = {"model": model, "device": device, **construction}
    try:
        return build("punctuation-restoration", **{k: v for k, v in given.items() if v is not None})
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
        raise ModelError(
            f"Expected a model to load from {model or 'the default place'}, got: {first_line(error)} Give a folder or "
            "a Hub id (--model), or check the connection."
        ) from error


def first_line(error: BaseException) -> str:
    """The gist of a long message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
