"""Reads words as they come with a model that keeps a memory: what was read before is not read again.

Takes items of the pipeline, of which the first words were kept by earlier calls, and gives what the pipeline gives.

    kept        okay so the budget is done        in the memory, once for all
    read now                               shall we </s> <pad> ...
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch

from .onnx_export import keeps_memory
from .windows import Window


class MemoryRestorer:
    """Stands in for a pipeline whose model keeps a memory.

    Args:
        restore: a `PunctuationRestorationPipeline`.

    Raises:
        ValueError: if its model keeps none.
    """

    def __init__(self, restore: Any) -> None:
        if not keeps_memory(restore.model):
            raise ValueError("Expected a model that keeps a memory, got another one. Use the pipeline itself.")
        self._restore, self._backend = restore, restore._probabilities
        self.shift: int = restore.model.encoder.config.shift
        self.forget()

    def forget(self) -> None:
        """Begin a new text."""
        self._memory, self._open = self._backend.nothing_read(), []
        self._begin = [self._restore.slots.bos_id]  # not read yet

    def __call__(self, item: Mapping[str, Any], kept_to: int, **options: Any) -> dict[str, Any]:
        """Restore an item; its words that end up to character `kept_to` are in the memory, and get no marks here."""
        restore = self._restore
        preprocess, _, postprocess = restore._sanitize_parameters(**options)
        document = next(restore.preprocess(item, **{**restore._preprocess_params, **preprocess}))["document"]
        n_kept = sum(word.end <= kept_to for word in document.words)
        self._open = restore.slots.pieces([word.spoken for word in document.words[n_kept:]])
        probabilities = np.zeros((len(document.words), len(restore.model.config.labels)), dtype=np.float32)
        probabilities[:, 0] = 1.0
        if self._open:
            probabilities[n_kept:] = self._read()
        window = Window(0, len(document.words), 0, len(document.words))
        output = {"document": document, "window": window, "probabilities": probabilities}
        return restore.postprocess([output], **{**restore._postprocess_params, **postprocess})

    def keep(self, n_words: int) -> None:
        """Take the first words of those that the last call read into the memory."""
        if n_words:
            pieces = [*self._begin, *chain.from_iterable(self._open[:n_words])]
            _, self._memory = self._go_on(pieces, [0])
            self._begin, self._open = [], self._open[n_words:]

    def _read(self) -> np.ndarray:
        """Probabilities (W, M) of the open words, with the end of the text behind them."""
        ids, places = self._restore.slots.assemble(self._open)
        n_before = 1 - len(self._begin)  # `<s>`, which `assemble` puts first
        ids = ids[n_before:] + [self._restore.slots.pad_id] * self.shift
        probabilities, _ = self._go_on(ids, [place - n_before + self.shift for place in places])
        return probabilities[0].numpy()

    def _go_on(self, ids: Sequence[int], places: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.inference_mode():
            return self._backend.go_on(torch.tensor([ids]), torch.tensor([places]), self._memory)
