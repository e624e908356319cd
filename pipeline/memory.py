"""Reads words as they come with a model that keeps a memory: what was read before is not read again.

kept        okay so the budget is done        in the memory, once for all
read now                               shall we </s> <pad> ...
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
import torch

from .windows import Window


class MemoryRestorer:
    """Stands in for a `PunctuationRestorationPipeline` whose model keeps a memory."""

    def __init__(self, restore: Any) -> None:
        self._restore = restore
        self.forget()

    def forget(self) -> None:
        """Begin a new text."""
        self._memory: torch.Tensor | None = None
        self._open: list[list[int]] = []
        self._begin = [self._restore.slots.bos_id]  # not read yet

    def __call__(self, item: Mapping[str, Any], kept_to: int, **options: Any) -> dict[str, Any]:
        """Restore an item; its words that end up to character `kept_to` are in the memory, and get no marks here."""
        restore = self._restore
        preprocess, _, postprocess = restore._sanitize_parameters(**options)
        document = next(restore.preprocess(item, **{**restore._preprocess_params, **preprocess}))["document"]
        words, n_kept = document.words, sum(word.end <= kept_to for word in document.words)
        self._open = restore.slots.pieces([word.spoken for word in words[n_kept:]])
        probabilities = np.eye(len(restore.model.config.labels), dtype=np.float32)[[0] * len(words)]
        if self._open:
            ids, places = restore.slots.assemble(self._open, is_over=not document.item.unfinished)
            n_read = 1 - len(self._begin)  # `<s>`, which stands first
            probabilities[n_kept:] = self._read(ids[n_read:], [place - n_read for place in places])[0]
        whole = Window(0, len(words), 0, len(words))
        output = {"document": document, "member": 0, "window": whole, "probabilities": probabilities}
        return restore.postprocess([output], **{**restore._postprocess_params, **postprocess})

    def keep(self, n_words: int) -> None:
        """Take the first words of those that the last call read into the memory."""
        if n_words:
            _, self._memory = self._read([*self._begin, *chain.from_iterable(self._open[:n_words])], [0])
            self._begin, self._open = [], self._open[n_words:]

    def _read(self, ids: list[int], places: list[int]) -> tuple[np.ndarray, torch.Tensor]:
        """Probabilities (W, M) at some places among the pieces that follow on the memory, and the memory after them."""
        model = self._restore.model
        input_ids, slot_positions = (torch.tensor([numbers], device=model.device) for numbers in (ids, places))
        with torch.inference_mode():
            logits, memory = model.stream_step(input_ids, slot_positions, self._memory)
        return logits[0].float().softmax(dim=-1).cpu().numpy(), memory
