"""The transformers pipeline: composes the stages, and nothing else.

text -> words -> slots -> encoder -> labels -> edits -> text
"""

import logging
import os
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from transformers.pipelines.base import ChunkPipeline

from .backends import make_backend
from .casing import capital_edits
from .decisions import PreparedItem, borders_of, decide, fix, make_choice, word_times
from .edits import (
    ascending,
    edited,
    edited_between,
    marks_of,
    restoring_edits,
    sentence_ranges,
    without_marks,
)
from .items import Item, read_item
from .live_text import in_blocks
from .marks import find_marks
from .slots import SlotEncoder
from .spoken_forms import find_forms
from .streamer import PunctuationStreamer
from .windows import Window, batches_by_length, collate, windows_of
from .words import WordFinder

logger = logging.getLogger(__name__)

TASK = "punctuation-restoration"
EXISTING = ("keep", "replace")
PREPROCESS_OPTIONS = ("existing", "final")
SWITCHES = ("truecase", "sentences", "final", "all_scores", "return_words")
OPTIONS = sorted({"batch_size", *PREPROCESS_OPTIONS, *SWITCHES, "marks", "thresholds"})
# Pieces in one forward pass. On a CPU larger batches are no faster and take more memory (docs/speed.md).
CPU_BUDGET, ACCELERATOR_BUDGET = 512, 32_768
STREAM_BLOCK = (
    40_000  # letters and digits of a stream that are restored together: some 80 windows of English
)
N_BATCHES_AHEAD = (
    16  # number of batches whose windows, of several texts, are sorted by length together
)


class PunctuationRestorationPipeline(ChunkPipeline):
    """Puts punctuation back into text.

    `restore("hello how are you")` gives `{"text": "hello, how are you?", "edits": [...], "words": [...]}`.

    Inputs:
        One item gives one result. A list, tuple, array, column or view of several gives a list of results. A generator,
        another iterator or a PyTorch data set gives an iterator, which reads on as results are asked for.

    Items:
        str: a text. An empty line ends a paragraph: the text before it gets its last mark.
        {"text": str}: the same. It may have `"turns"`, the characters where another speaker begins, so that a sentence
            ends there; and `"unfinished": True`, which is `final=False` for this item.
        {"words": [str, ...]}: words, joined by one space, Han words by nothing. Perhaps with `"timestamps"`, one
            (start, end) in seconds for each word.
        Each dictionary may have `"known": {word index: label name}`: labels that are given, and shown to the model.
        What a recogniser gives goes to `punctuation_restoration.restore_transcript(restore, value)` instead.

    Options at construction only:
        backend: `"torch"` (default), `"torch-int8"`, `"onnx"` or `"onnx-int8"`.
        jieba_dictionary: path of a jieba user dictionary, or a list of words to add. Default None.

    Options at construction or at a call:
        batch_size: windows in one forward pass. Default: as many as fit a number of pieces that suits the device.
        existing: `"keep"` (default): marks that the text has stay, and the more it has, the fewer are added nearby.
            `"replace"`: they are removed first.
        marks: which labels may be written. `"basic"` (default): those of `, . ?`, also in place of the model's others.
            `"all"`: every label. `"sentence-ends"`: those that end a sentence. Or a list of labels' names.
        thresholds: `{label name: probability}` from which a mark is written, 0 to 1. Labels that it leaves out have
            the configuration's, and all of them by default; `{}` writes whatever is most probable. If several labels
            reach theirs, the highest probability / threshold wins. The last word of a paragraph or a turn has a mark
            all the same.
        final: False if the text breaks off. Its last word then gets no mark, unless the model was trained to tell such
            a text from one that is over, and what opens (`¿`) need not be closed. Default True.
        truecase: True gives sentences, the English `I` and names their capitals (names where the model has learned
            them), and takes capitals away from text in capitals throughout. Default False.
        sentences: True adds `"sentences"`: text, and start and end in the input. Default False.
        all_scores: True adds `"scores"` to each word: the probability of every label. Default False.
        return_words: False leaves out `"words"`. Default True.

    Results:
        text: the input with its edits.
        edits: what was done, in the order of the text, ready for JSON. Each replaces `removed`, at character `start` of
            the input, by `inserted`. A mark has the `label`, `score` and `source` of its word; for a mark taken out and
            for a letter they are None, None, and `"removal"` or `"truecase"`.
        words: of each `word` its `start` and `end` (characters of the input), `label`, `mark` (what its label writes; a
            mark that the text had may be another sign), `score` (probability of the label), `source` (`"model"`,
            `"input"` for a mark that the text had, `"known"` for one that the item gave), and `timestamp` where there
            are times.
        sentences: where asked for.

    Raises:
        TypeError: for an unknown option, or an item that is none of these.
        ValueError: for an item or a value of an option that cannot be; in a list the position is named.
    """

    _load_tokenizer = True
    _load_processor = _load_image_processor = _load_feature_extractor = False

    def __init__(
        self, *args: Any, jieba_dictionary: Any = None, backend: str = "torch", **kwargs: Any
    ) -> None:
        self.backend = backend
        model: Any = kwargs.get("model", args[0] if args else None)
        if (kind := model.config.model_type) != TASK:
            what_to_do = "Train one from it (train.py --encoder), or name another model"
            raise ValueError(
                f"Expected a model of type {TASK}, got one of type {kind}. {what_to_do}."
            )
        super().__init__(*args, **kwargs)
        if self._batch_size is None:
            self._batch_size = 0  # by a budget of pieces; transformers would take None for 1
        if self.tokenizer is None:
            raise ValueError(
                "Expected a tokenizer beside the model, found none. Save one there, or pass tokenizer=."
            )
        config = self.model.config
        self.find_words = WordFinder(config.mark_labels, jieba_dictionary)
        self.slots = SlotEncoder(self.tokenizer, config)
        if backend != "torch":
            if self.device.type != "cpu":
                logger.warning(
                    f"Expected device cpu, got {self.device}: backend {backend!r} computes on the CPU."
                )
            self.device = torch.device("cpu")
            self.model.to("cpu")  # type: ignore[arg-type]
        with torch.inference_mode():
            self.compute: Any = make_backend(backend, self.model, self.slots.pad_id)

    def _sanitize_parameters(
        self, **kwargs: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if unknown := sorted(set(kwargs) - set(OPTIONS)):
            what_to_do = "Correct them, or leave them out; fields of the configuration are set in `model.config`"
            what_to_do = "Put 'known' into the item" if unknown == ["known"] else what_to_do
            raise TypeError(f"Expected keywords among {OPTIONS}, got {unknown}. {what_to_do}.")
        for name in SWITCHES:
            if not isinstance(value := kwargs.get(name, False), bool):
                raise ValueError(
                    f"Expected {name} to be True or False, got {value!r}. Pass {name}=True or False."
                )
        if (existing := kwargs.get("existing", "keep")) not in EXISTING:
            raise ValueError(
                f"Expected existing to be one of {EXISTING}, got {existing!r}. Pass one of these."
            )
        make_choice(self.model.config, kwargs.get("marks", "basic"), kwargs.get("thresholds"))
        preprocess = {name: value for name, value in kwargs.items() if name in PREPROCESS_OPTIONS}
        return (
            preprocess,
            {},
            {name: value for name, value in kwargs.items() if name not in PREPROCESS_OPTIONS},
        )

    def __call__(self, inputs: Any, **kwargs: Any) -> Any:
        """Restore one item, several, or a stream of them; see the class."""
        items = self._items(inputs)
        if items is None:
            return super().__call__([inputs], **kwargs)[0]
        if items == []:  # which transformers cannot take; it does take what gives nothing
            return list(super().__call__((item for item in items), **kwargs))
        return super().__call__(items, **kwargs)

    @staticmethod
    def _items(inputs: Any) -> Any:
        """The items of a list, a column or a stream, as transformers takes them; None for one item."""
        # Tables of `datasets` and of pandas.
        if hasattr(inputs, "column_names") or hasattr(inputs, "columns"):
            raise TypeError(
                f"Expected texts, got a table ({type(inputs).__name__}). Pass one of its columns, "
                "`list(rows['text'])`, or one that is read on demand, "
                "`transformers.pipelines.pt_utils.KeyDataset(rows, 'text')`."
            )
        if isinstance(inputs, torch.utils.data.IterableDataset):
            return inputs
        # It need not raise an IndexError at its end.
        if isinstance(inputs, torch.utils.data.Dataset):
            return (inputs[n] for n in range(len(inputs)))  # type: ignore[arg-type]
        if isinstance(inputs, str | bytes | Mapping | Item):
            return None
        if isinstance(inputs, Iterator):
            return (item for item in inputs)
        if hasattr(inputs, "tolist"):  # arrays and series
            inputs = inputs.tolist()
        is_several = isinstance(inputs, Sequence | KeysView | ValuesView)
        return list(inputs) if is_several and not isinstance(inputs, str) else None

    def stream(self, texts: Iterable[str], **options: Any) -> Iterator[str]:
        """Restore one text of any length that comes in parts, cut anywhere: a file's lines, a recogniser's output.

        Restored text is given as soon as enough words follow it; joined, it is the text with its marks. Memory stays
        that of a few thousand words. Marks are those of one call with the whole text, unless `condition` shows the
        model those before. `options` are keywords of a call (`return_words` and `sentences` have no effect) and of
        `PunctuationStreamer`; capitals need `condition=True`.
        """
        return (result["text"] for result in self.stream_results(texts, **options))

    def stream_results(
        self, texts: Iterable[str], block: int | None = None, **options: Any
    ) -> Iterator[dict[str, Any]]:
        """As `stream`, but gives what a call gives: text, edits and words, with offsets in the whole text.

        `block` is the number of letters and digits that are restored together, by default 40,000.
        """
        config = self.model.config
        as_in_a_call = {"look_ahead": config.right_context, "left_context": config.left_context}
        streamer = PunctuationStreamer(self, **(as_in_a_call | options))
        for text, final in in_blocks(texts, block or STREAM_BLOCK):
            step = streamer.flush(text) if final else streamer.feed_block(text)
            streamer.forget()
            yield {"text": step.committed, "edits": step.edits, "words": step.words}

    def save_pretrained(self, save_directory: Any, **kwargs: Any) -> None:
        """Write model, tokenizer and all their code: a folder as the Hub holds it. A file there: NotADirectoryError."""
        if os.path.isfile(save_directory):
            raise NotADirectoryError(
                f"Expected a folder to save into, {save_directory} is a file. Name another place."
            )
        super().save_pretrained(save_directory, **kwargs)

    def preprocess(
        self, item: Any, existing: str = "keep", final: bool = True
    ) -> Iterator[dict[str, Any]]:
        """Windows of one item, as pieces and slots; no words still give one, which decides nothing."""
        config, given = self.model.config, read_item(item)
        given = given if final else replace(given, unfinished=True)
        words = self.find_words(given.spoken) if given.words is None else list(given.words)
        spoken = [word.spoken for word in words]
        borders = borders_of(given.spoken, given.turns)
        found = find_marks(given.spoken, words, config.mark_labels, config.label_names, borders)
        replaced = self.find_words.marks if existing == "replace" else frozenset[str]()
        kept = found
        if replaced:  # such as the comma of `yes,no`
            left = without_marks(given.spoken, words, replaced)
            kept = find_marks(left, words, config.mark_labels, config.label_names, borders)
        fixed = fix(config, kept, given.known)
        times = None if given.spans is None else word_times(words, given.spans)
        prepared = PreparedItem(
            given, words, found, fixed, borders, find_forms(given.spoken, words), replaced, times
        )
        shown = [one.label if one and n in given.known else None for n, one in enumerate(fixed)]
        pieces = self.slots.pieces(spoken)
        windows = windows_of(self.slots.n_pieces(pieces, shown), config)
        for seen in windows or [Window(0, 0, 0, 0)]:
            span = slice(seen.first, seen.end)
            is_over = seen.end == len(pieces) and not given.unfinished
            input_ids, slot_positions = self.slots.assemble(pieces[span], shown[span], is_over)
            yield {
                "input_ids": input_ids,
                "slot_positions": slot_positions,
                "window": seen,
                "prepared": prepared,
            }

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        return {"probabilities": self.compute(**model_inputs)}  # (B, W, M + C), labels and casings

    def postprocess(
        self,
        model_outputs: Sequence[dict[str, Any]],
        marks: str | Sequence[str] = "basic",
        thresholds: Mapping[str, float] | None = None,
        truecase: bool = False,
        all_scores: bool = False,
        sentences: bool = False,
        return_words: bool = True,
    ) -> Any:
        """Join the windows of one text, choose labels, and write the marks into the text."""
        config, prepared = self.model.config, model_outputs[0]["prepared"]
        item, words, table = prepared.item, prepared.words, config.labels
        read = np.concatenate(
            [output["probabilities"][output["window"].kept] for output in model_outputs]
        )
        labels, casings = np.split(read, [len(table)], axis=1)  # (W, M) and (W, C)
        limits = {} if thresholds == {} else {**(config.thresholds or {}), **(thresholds or {})}
        choice = make_choice(config, marks, limits)
        decided, labels = decide(prepared, labels, config, choice)
        written = marks_of(words, [table[one.label] for one in decided])
        entries: list[dict[str, Any]] = [
            {
                "word": item.text[word.start : word.end], "start": word.start, "end": word.end,
                "label": table[label]["name"], "mark": mark[1], "score": score, "source": source,
            }
            for word, mark, (label, score, source) in zip(words, written, decided, strict=True)
        ]  # fmt: skip
        new = [
            ("", "") if one.source == "input" else mark
            for mark, one in zip(written, decided, strict=True)
        ]
        edits = restoring_edits(item.spoken, words, new, entries, prepared.replaced)
        ranges = (
            sentence_ranges(item.spoken, edits, entries, item.turns)
            if truecase or sentences
            else []
        )
        if truecase:
            firsts, listed = {first for first, _ in ranges}, config.mixed_case or ()
            capitals = capital_edits(
                item.text, words, casings, listed, prepared.forms.addresses, firsts
            )
            edits = ascending([*edits, *capitals])
        result: dict[str, Any] = {"text": edited(item.text, edits), "edits": edits}
        if return_words:
            scores = (
                [dict(zip(config.label_names, row, strict=True)) for row in labels.tolist()]
                if all_scores
                else ()
            )
            for name, values in (("timestamp", prepared.times), ("scores", scores)):
                for entry, value in zip(entries, values or (), strict=False):
                    entry[name] = value
            result["words"] = entries
        if sentences:
            result["sentences"] = []
            for first, end in ranges:
                mark, start, stop = (
                    prepared.found[end - 1],
                    words[first].mark_from,
                    words[end - 1].mark_at,
                )
                stop = max(stop, mark.end) if mark else stop
                said = edited_between(item.text, edits, start, stop)
                result["sentences"].append({"text": said, "start": start, "end": stop})
        return result

    def get_iterator(
        self, inputs: Iterable[Any], num_workers: int, batch_size: int, *params: Any
    ) -> Iterator[Any]:
        """Results in the order of the inputs; windows of several texts are batched by length, for little padding.

        Replaces the method of transformers, which batches a fixed number of windows in the order in which they come.
        """
        preprocess_params, _, postprocess_params = params
        numbered, budget = (
            enumerate(inputs),
            CPU_BUDGET if self.device.type == "cpu" else ACCELERATOR_BUDGET,
        )
        while True:
            texts: list[list[dict[str, Any]]] = []  # their windows
            n_ahead = 0  # windows, or their pieces where batches go by those
            for position, item in numbered:
                try:
                    texts.append(list(self.preprocess(item, **preprocess_params)))
                except (TypeError, ValueError) as error:
                    raise type(error)(f"Item {position}: {error}") from error
                n_ahead += sum(
                    1 if batch_size else len(window["input_ids"]) for window in texts[-1]
                )
                if n_ahead >= (batch_size or budget) * N_BATCHES_AHEAD:
                    break
            if not texts:
                return
            windows = [window for own in texts for window in own]
            for indices in batches_by_length(
                [len(one["input_ids"]) for one in windows], batch_size or None, budget
            ):
                outputs = self.forward(
                    collate([windows[index] for index in indices], self.slots.pad_id)
                )
                for index, rows in zip(indices, outputs["probabilities"].numpy(), strict=True):
                    windows[index]["probabilities"] = rows
            for own in texts:
                yield self.postprocess(own, **postprocess_params)

    def __getstate__(self) -> dict[str, Any]:
        """Without traces of use, so that `datasets.map` finds again what it has computed before."""
        return {**self.__dict__, "call_count": 0}
