"""The transformers pipeline: composes the stages, and nothing else.

text -> words -> slots -> encoder -> labels -> text
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers.pipelines.base import ChunkPipeline

from .decoding import Choice, decode, make_choice
from .items import read_item
from .marks import FoundMark, find_marks
from .rendering import marks_of, render
from .slots import SlotEncoder
from .windows import Window, plan_windows
from .words import Word, WordFinder

TASK = "punctuation-restoration"
EXISTING = ("keep", "condition", "replace")
N_WINDOWS_AHEAD = 256  # windows of several texts that are sorted by length together
DEFAULT_BATCH_SIZE = 8  # windows in one forward pass


@dataclass(frozen=True, slots=True)
class Document:
    """A text on its way through the stages: its words, the marks it has, and the labels that are already decided."""

    text: str
    words: list[Word]
    found: list[FoundMark | None]
    fixed: list[tuple[int, str] | None]  # for each word a label id and its source, or None: the model decides
    windows: list[Window]


class PunctuationRestorationPipeline(ChunkPipeline):
    """Puts punctuation back into text.

    `restore("hello how are you")` gives `{"text": "hello, how are you?", "words": [...]}`; a list gives a list, a
    generator or data set an iterator. An item is a string, `{"text": str}` or `{"words": [str, ...]}`, the dictionaries
    perhaps with `"known": {word index: label name}`.

    Keywords, at construction or at the call:
        batch_size: windows in one forward pass (8).
        window, left_context, right_context: in words; the configuration's by default.
        existing: what happens to marks that the text has: `"keep"` (default; nothing is added beside them),
            `"condition"` (kept, and shown to the model) or `"replace"` (removed first).
        marks: `"all"`, `"sentence-ends"` or names of labels that may be written.
        thresholds: `{label name: probability}` from which a mark is written.
        jieba_dictionary: path of a jieba user dictionary, or words to add; at construction only.
        return_words: False spares the list of words.

    Each of `words` has `word`, `start` and `end` (character offsets in the text), `label`, `mark` (what stands after
    it), `score` (probability of the label) and `source`: `"model"`, `"input"` for a mark that the text had, `"known"`
    for one that the item gave.

    Raises:
        TypeError: for an unknown keyword, or an item that is neither string nor dictionary.
        ValueError: for an item or a setting that cannot work; in a list its position is named.
    """

    _load_processor = False
    _load_image_processor = False
    _load_feature_extractor = False
    _load_tokenizer = True

    def __init__(self, *args: Any, jieba_dictionary: str | Sequence[str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self._batch_size is None:
            self._batch_size = DEFAULT_BATCH_SIZE
        config = self.model.config
        self.find_words = WordFinder(config.mark_labels, jieba_dictionary)
        self.slots = SlotEncoder(self.tokenizer, config)

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        config = self.model.config
        preprocess = {name: kwargs.pop(name) for name in _PREPROCESS_KEYWORDS if name in kwargs}
        postprocess = {name: kwargs.pop(name) for name in ("return_words",) if name in kwargs}
        if "marks" in kwargs or "thresholds" in kwargs:
            postprocess["choice"] = make_choice(
                config.labels, kwargs.pop("marks", None) or "all", kwargs.pop("thresholds", None)
            )
        if kwargs:
            raise TypeError(
                f"Expected keywords among {sorted(_KEYWORDS)}, got {sorted(kwargs)}. Correct the spelling or leave "
                "them out."
            )
        _check_window(config, preprocess)
        if preprocess.get("existing", "keep") not in EXISTING:
            raise ValueError(f"Expected existing to be one of {EXISTING}, got {preprocess['existing']!r}. Choose one.")
        return preprocess, {}, postprocess

    def __call__(self, inputs: Any, **kwargs: Any) -> Any:
        """Restore one item, a list of them, or a stream; see the class."""
        if isinstance(inputs, Sequence) and not isinstance(inputs, str):
            inputs = list(inputs)
            if not inputs:
                return []
        return super().__call__(inputs, **kwargs)

    def preprocess(
        self,
        item: Any,
        window: int | None = None,
        left_context: int | None = None,
        right_context: int | None = None,
        existing: str = "keep",
    ) -> Iterator[dict[str, Any]]:
        """Windows of one item: its words, their pieces and slots. A text without words still gives one, empty."""
        config = self.model.config
        given = read_item(item)
        words = self.find_words(given.text)
        found = find_marks(given.text, words, config.mark_labels, config.label_names)
        shown, fixed = self._decided(words, found, given.known, existing)
        pieces = self.slots.pieces([word.spoken for word in words])
        windows = plan_windows(
            self.slots.n_pieces(pieces),
            window or config.window,
            config.left_context if left_context is None else left_context,
            config.right_context if right_context is None else right_context,
            config.max_window_pieces - 2,
        )
        document = Document(given.text, words, found if existing == "replace" else [], fixed, windows)
        for seen in windows or [None]:
            span = slice(seen.first, seen.end) if seen else slice(0)
            input_ids, slot_positions = self.slots.assemble(pieces[span], shown[span])
            yield {"input_ids": input_ids, "slot_positions": slot_positions, "window": seen, "document": document}

    def _decided(
        self, words: list[Word], found: list[FoundMark | None], known: Mapping[int, str], existing: str
    ) -> tuple[list[int | None], list[tuple[int, str] | None]]:
        """For each word the label that fills its slot, if any, and the label that is fixed, with its source."""
        label_ids = self.model.config.label2id
        shown: list[int | None] = [None] * len(words)
        fixed: list[tuple[int, str] | None] = [None] * len(words)
        for index, mark in enumerate(found):
            if mark is not None and existing != "replace":
                label = label_ids[mark.label] if mark.label else 0
                fixed[index] = (label, "input")
                shown[index] = label if existing == "condition" else None
        for index, name in known.items():
            if not 0 <= index < len(words) or name not in label_ids:
                raise ValueError(
                    f"Expected 'known' to map word indices below {len(words)} to labels among {list(label_ids)}, got "
                    f"{index}: {name!r}. Correct it."
                )
            if fixed[index] is None:
                fixed[index] = (label_ids[name], "known")
            shown[index] = fixed[index][0]
        return shown, fixed

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        logits = self.model(**model_inputs).logits  # (B, W, M)
        return {"probabilities": logits.float().softmax(dim=-1)}

    def postprocess(
        self, model_outputs: list[dict[str, Any]], choice: Choice | None = None, return_words: bool = True
    ) -> dict[str, Any]:
        """Join the windows of one text, choose labels, and write the marks into the text."""
        document: Document = model_outputs[0]["document"]
        table = self.model.config.labels
        kept = [
            output["probabilities"][output["window"].keep_from - output["window"].first :][
                : output["window"].keep_to - output["window"].keep_from
            ]
            for output in model_outputs
            if output["window"] is not None
        ]
        probabilities = np.concatenate(kept) if kept else np.zeros((0, len(table)))  # (W, M)
        labels, scores = decode(probabilities, choice or make_choice(table))
        sources = ["model"] * len(labels)
        for index, fixed in enumerate(document.fixed):
            if fixed is not None:
                labels[index], scores[index], sources[index] = fixed[0], 1.0, fixed[1]
        rows = [table[label] for label in labels]
        marks = marks_of(document.words, rows)
        written = [("", "") if source == "input" else mark for mark, source in zip(marks, sources, strict=True)]
        result: dict[str, Any] = {"text": render(document.text, document.words, written)}
        if return_words:
            result["words"] = [
                {
                    "word": word.text,
                    "start": word.start,
                    "end": word.end,
                    "label": row["name"],
                    "mark": mark[1],
                    "score": float(score),
                    "source": source,
                }
                for word, row, mark, score, source in zip(document.words, rows, marks, scores, sources, strict=True)
            ]
        return result

    def get_iterator(
        self,
        inputs: Iterable[Any],
        num_workers: int,
        batch_size: int,
        preprocess_params: dict[str, Any],
        forward_params: dict[str, Any],
        postprocess_params: dict[str, Any],
    ) -> Iterator[dict[str, Any]]:
        """Results in the order of the inputs; windows of many texts are batched by length, so that little is padding.

        Replaces the method of transformers, which batches a fixed number of windows in the order in which they come.
        """
        numbered = enumerate(inputs)
        while True:
            waiting: list[dict[str, Any]] = []
            n_items = 0
            for position, item in numbered:
                waiting.extend(dict(chunk, item=n_items) for chunk in self._chunks(item, position, preprocess_params))
                n_items += 1
                if len(waiting) >= N_WINDOWS_AHEAD:
                    break
            if not n_items:
                return
            self._run_windows(waiting, batch_size, forward_params)
            for _, outputs in itertools.groupby(waiting, key=lambda chunk: chunk["item"]):
                yield self.postprocess(list(outputs), **postprocess_params)

    def _chunks(self, item: Any, position: int, preprocess_params: dict[str, Any]) -> Iterator[dict[str, Any]]:
        try:
            yield from self.preprocess(item, **preprocess_params)
        except (TypeError, ValueError) as error:
            raise type(error)(f"Item {position}: {error}") from error

    def _run_windows(self, chunks: list[dict[str, Any]], batch_size: int, forward_params: dict[str, Any]) -> None:
        """Add the probabilities of their slots to all windows."""
        order = sorted(range(len(chunks)), key=lambda index: len(chunks[index]["input_ids"]))
        for first in range(0, len(order), batch_size):
            batch = [chunks[index] for index in order[first : first + batch_size]]
            outputs = self.forward(self._collate(batch), **forward_params)["probabilities"].numpy()
            for chunk, probabilities in zip(batch, outputs, strict=True):
                chunk["probabilities"] = probabilities[: len(chunk["slot_positions"])]

    def _collate(self, batch: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """Windows as tensors: (B, P) pieces, padded with the pad id, and (B, W) slots, padded with 0."""
        n_pieces = max(len(chunk["input_ids"]) for chunk in batch)
        n_slots = max(1, max(len(chunk["slot_positions"]) for chunk in batch))
        input_ids = np.full((len(batch), n_pieces), self.slots.pad_id)
        attention_mask = np.zeros((len(batch), n_pieces), dtype=np.int64)
        slot_positions = np.zeros((len(batch), n_slots), dtype=np.int64)
        for row, chunk in enumerate(batch):
            input_ids[row, : len(chunk["input_ids"])] = chunk["input_ids"]
            attention_mask[row, : len(chunk["input_ids"])] = 1
            slot_positions[row, : len(chunk["slot_positions"])] = chunk["slot_positions"]
        arrays: dict[str, Callable | np.ndarray] = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "slot_positions": slot_positions,
        }
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


_PREPROCESS_KEYWORDS = ("window", "left_context", "right_context", "existing")
_KEYWORDS = {*_PREPROCESS_KEYWORDS, "batch_size", "marks", "thresholds", "return_words"}


def _check_window(config: Any, given: Mapping[str, Any]) -> None:
    """Raise ValueError where window and contexts do not fit together."""
    window, left, right = (
        getattr(config, name) if given.get(name) is None else given[name]
        for name in ("window", "left_context", "right_context")
    )
    if (
        not all(isinstance(size, int) for size in (window, left, right))
        or min(left, right) < 0
        or window <= left + right
    ):
        raise ValueError(
            f"Expected whole numbers of words with window greater than left_context plus right_context, got window "
            f"{window!r}, left_context {left!r} and right_context {right!r}. Widen the window or narrow the contexts."
        )
