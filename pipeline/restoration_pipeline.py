"""The transformers pipeline: composes the stages, and nothing else.

text -> words -> slots -> encoder -> labels -> edits -> text
"""

import itertools
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset
from transformers import Pipeline

from .backends import make_backend
from .casing import capital_edits, forms_inside
from .conventions import stop_labels
from .decisions import (
    Choice,
    PreparedItem,
    borders_of,
    decide,
    make_choice,
    missing_shares,
    what_is_given,
)
from .edits import (
    Edit,
    ascending,
    blanked,
    edited,
    edited_between,
    find_removals,
    marks_of,
    restoring_edits,
    sentence_ranges,
)
from .items import Item, read_item, time_between
from .live_text import in_blocks
from .marks import find_marks
from .slots import SlotEncoder
from .spoken_forms import find_forms
from .streamer import PunctuationStreamer
from .windows import Window, batches_by_length, collate, windows_of
from .words import WordFinder

logger = logging.getLogger(__name__)

Values = dict[str, Any]  # a result, or what is known of a window
TASK = "punctuation-restoration"
EXISTING = ("keep", "replace")
SWITCHES = ("truecase", "sentences", "final", "all_scores", "return_words")
OPTIONS = sorted({"batch_size", "existing", *SWITCHES, "marks", "thresholds"})
# Pieces in one forward pass. On a CPU larger batches are no faster and take more memory (docs/speed.md).
CPU_BUDGET, ACCELERATOR_BUDGET = 512, 32_768
# Letters and digits of a stream that are restored together: some 80 windows of English.
STREAM_BLOCK = 40_000
# Number of batches whose windows, of several texts, are sorted by length together.
N_BATCHES_AHEAD = 16


class PunctuationRestorationPipeline(Pipeline):
    """Puts punctuation back into text.

    `restore("hello how are you")` gives `{"text": "hello. how are you?", "edits": [...], "words": [...]}`.

    Inputs:
        One item gives one result. A list, tuple, array, column or view of several gives a list of results. A generator,
        another iterator or a PyTorch data set gives an iterator, which reads on as results are asked for.

    Items:
        str: a text. An empty line ends a paragraph: the text before it gets its last mark.
        {"text": str}: the same.
        {"words": [str, ...]}: words, joined by one space, Han words by nothing. Perhaps with `"timestamps"`, one
            (start, end) in seconds for each word.
        Each dictionary may have `"turns"`, the characters where another speaker begins, so that a sentence ends there;
            `"final"`, for this item instead of the option; and `"known": {word index: label name}`, labels that are
            given.
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
        final: False if the text breaks off. Its last word is then not taken for the end of a sentence, and what opens
            (`¿`) need not be closed. Default True.
        truecase: True gives sentences, the English `I` and names their capitals (names where the model has learned
            them), and takes capitals away from text in capitals throughout. Default False.
        sentences: True adds `"sentences"`: text, and start and end in the input. Default False.
        all_scores: True adds `"scores"` to each word: the probability of every label. With `truecase` also `"inside"`:
            how the word is written where it does not begin a sentence. Default False.
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
        self,
        model: Any,
        *args: Any,
        jieba_dictionary: Any = None,
        backend: str = "torch",
        **kwargs: Any,
    ) -> None:
        self.backend = backend
        if (kind := model.config.model_type) != TASK:
            raise ValueError(
                f"Expected a model of type {TASK}, got one of type {kind}. Train one from it (train.py --encoder), or "
                "name another model."
            )
        super().__init__(model, *args, **kwargs)
        if self.tokenizer is None:
            raise ValueError(
                "Expected a tokenizer beside the model, found none. Save one there, or pass tokenizer=."
            )
        config = model.config
        self.find_words = WordFinder(config.mark_labels, jieba_dictionary)
        # Names of the labels that end a sentence.
        self.stops = set(itertools.compress(config.label_names, stop_labels(config.labels)))
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

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[Values, Values, Values]:
        """Check the options; transformers keeps those of the construction in `_postprocess_params`."""
        if unknown := sorted(set(kwargs) - set(OPTIONS)):
            what_to_do = "Correct them, or leave them out; fields of the configuration are set in `model.config`"
            what_to_do = "Put 'known' into the item" if unknown == ["known"] else what_to_do
            raise TypeError(f"Expected keywords among {OPTIONS}, got {unknown}. {what_to_do}.")
        for name, value in kwargs.items():
            if name in SWITCHES and not isinstance(value, bool):
                raise ValueError(
                    f"Expected {name} to be True or False, got {value!r}. Pass {name}=True or False."
                )
            if name == "existing" and value not in EXISTING:
                raise ValueError(
                    f"Expected existing to be one of {EXISTING}, got {value!r}. Pass one of these."
                )
        make_choice(self.model.config, kwargs.get("marks", "basic"), kwargs.get("thresholds"))
        return {}, {}, kwargs

    def __call__(self, inputs: Any, batch_size: int | None = None, **options: Any) -> Any:
        """Restore one item, several, or a stream of them; see the class."""
        self._sanitize_parameters(**options)
        if hasattr(inputs, "column_names") or hasattr(inputs, "columns"):
            raise TypeError(
                f"Expected texts, got a table ({type(inputs).__name__}). Pass one of its columns, "
                "`list(rows['text'])`, or one that is read on demand, "
                "`transformers.pipelines.pt_utils.KeyDataset(rows, 'text')`."
            )
        if hasattr(inputs, "tolist"):  # arrays and series
            inputs = inputs.tolist()
        elif isinstance(inputs, Dataset) and not isinstance(inputs, IterableDataset):
            inputs = map(inputs.__getitem__, range(len(inputs)))  # type: ignore[arg-type]
        is_item = isinstance(inputs, str | bytes | Mapping | Item)
        is_item = is_item or not isinstance(inputs, Iterable)
        results = self._results([inputs] if is_item else inputs, batch_size, options)
        if is_item:
            return next(results)
        return results if isinstance(inputs, Iterator | IterableDataset) else list(results)

    def stream(self, texts: Iterable[str], **options: Any) -> Iterator[str]:
        """Restore one text of any length that comes in parts, cut anywhere: a file's lines, a recogniser's output.

        Restored text is given as soon as enough words follow it; joined, it is the text with the marks of one call with
        the whole text. Memory stays that of a few thousand words. `options` are keywords of a call (`return_words` and
        `sentences` have no effect) and of `PunctuationStreamer`.
        """
        return (result["text"] for result in self.stream_results(texts, **options))

    def stream_results(
        self, texts: Iterable[str], block: int | None = None, **options: Any
    ) -> Iterator[Values]:
        """As `stream`, but gives what a call gives: text, edits and words, with offsets in the whole text.

        `block` is the number of letters and digits that are restored together, by default 40,000.
        """
        config = self.model.config
        options.setdefault("look_ahead", config.right_context)  # both as in a call
        options.setdefault("left_context", config.left_context)
        streamer = PunctuationStreamer(self, **options)
        for text, final in in_blocks(texts, block or STREAM_BLOCK):
            step = streamer.flush(text) if final else streamer.feed(text, whole_windows=True)
            streamer.committed = ""
            yield {"text": step.committed, "edits": step.edits, "words": step.words}

    def save_pretrained(self, save_directory: Any, **kwargs: Any) -> None:
        """Write model, tokenizer and all their code: a folder as the Hub holds it. A file there: NotADirectoryError."""
        if os.path.isfile(save_directory):
            raise NotADirectoryError(
                f"Expected a folder to save into, {save_directory} is a file. Name another place."
            )
        super().save_pretrained(save_directory, **kwargs)

    def _results(
        self, items: Iterable[Any], batch_size: int | None, options: Values
    ) -> Iterator[Values]:
        """Results in the order of the items; windows of several texts are batched by length, for little padding."""
        options = {**self._postprocess_params, **options}
        of_windows = {name: options.pop(name) for name in ("existing", "final") if name in options}
        batch_size = batch_size or self._batch_size
        if not isinstance(batch_size, int | None) or (batch_size or 1) < 1:
            raise ValueError(
                f"Expected batch_size of 1 window or more, got {batch_size!r}. Correct it."
            )
        budget = CPU_BUDGET if self.device.type == "cpu" else ACCELERATOR_BUDGET
        numbered = enumerate(items)
        while True:
            texts: list[list[Values]] = []  # their windows
            n_ahead = 0  # windows, or their pieces where batches go by those
            for position, item in numbered:
                try:
                    texts.append(list(self.preprocess(item, **of_windows)))
                except (TypeError, ValueError) as error:
                    raise type(error)(f"Item {position}: {error}") from error
                n_ahead += sum(
                    1 if batch_size else len(window["input_ids"]) for window in texts[-1]
                )
                if n_ahead >= (batch_size or budget) * N_BATCHES_AHEAD:
                    break
            if not texts:
                return
            windows = list(itertools.chain.from_iterable(texts))
            lengths = [len(window["input_ids"]) for window in windows]
            batches = [
                [windows[index] for index in indices]
                for indices in batches_by_length(lengths, batch_size, budget)
            ]
            for batch, computed in zip(batches, self._computed(batches), strict=True):
                for window, rows in zip(batch, computed.numpy(), strict=True):
                    window["probabilities"] = rows
            for text in texts:
                yield self.postprocess(text, **options)

    def preprocess(self, item: Any, existing: str = "keep", final: bool = True) -> Iterator[Values]:
        """Windows of one item, as pieces and slots; no words still give one, which decides nothing."""
        config, item = self.model.config, read_item(item)
        item = item if final else replace(item, final=False)
        text = item.audible
        words = self.find_words(text, item.turns) if item.words is None else list(item.words)
        borders = borders_of(text, item.turns)
        tables = config.mark_labels, config.label_names, borders
        marks = kept = find_marks(text, words, *tables)
        removed = None
        if existing == "replace":
            removed = find_removals(text, words, self.find_words.marks)
            kept = find_marks(blanked(text, removed), words, *tables)
        given, sources = what_is_given(config, kept, item.known)
        forms = find_forms(text, words)
        prepared = PreparedItem(item, words, marks, given, sources, borders, forms, removed)
        pieces = self.slots.pieces([word.spoken for word in words])
        windows = windows_of(list(map(len, pieces)), config)
        for window in windows or [Window(0, 0, 0, 0)]:
            seen = slice(window.first, window.end)
            ends_text = item.final and window.end == len(words)
            input_ids, slot_positions = self.slots.assemble(pieces[seen], ends_text)
            yield {
                "input_ids": input_ids, "slot_positions": slot_positions,
                "window": window, "prepared": prepared,
            }  # fmt: skip

    def _computed(self, batches: Sequence[Sequence[Values]]) -> Iterator[Any]:
        """Probabilities (B, W, M + C) of labels and casings for each batch.

        On a CPU as many batches are computed at once as there are threads.
        """
        inputs = (collate(batch, self.slots.pad_id) for batch in batches)
        n_threads = torch.get_num_threads()
        n_at_once = min(len(batches), n_threads)
        if n_at_once == 1 or self.device.type != "cpu":
            yield from map(self.forward, inputs)
            return
        # Those of torch share its threads out; the threads of ONNX Runtime serve all batches.
        n_each = n_threads // n_at_once if self.backend.startswith("torch") else n_threads
        with ThreadPoolExecutor(n_at_once, "batch", torch.set_num_threads, (n_each,)) as pool:
            yield from pool.map(self.forward, inputs)

    def _forward(self, model_inputs: Values) -> Any:
        return self.compute(**model_inputs)

    def postprocess(
        self,
        windows: Sequence[Values],
        marks: str | Sequence[str] = "basic",
        thresholds: Mapping[str, float] | None = None,
        truecase: bool = False,
        all_scores: bool = False,
        sentences: bool = False,
        return_words: bool = True,
    ) -> Values:
        """Join the windows of one text, choose labels, and write the marks into the text."""
        config, prepared = self.model.config, windows[0]["prepared"]
        item, words = prepared.item, prepared.words
        limits = {} if thresholds == {} else {**(config.thresholds or {}), **(thresholds or {})}
        choice = make_choice(config, marks, limits)
        probabilities, casings, shares = _joined(windows, choice)
        labels, scores, probabilities = decide(prepared, probabilities, shares, config, choice)
        table = [config.labels[label] for label in labels]
        written = marks_of(words, table)
        columns = words, table, written, scores.tolist(), prepared.sources
        entries: list[Values] = [
            {
                "word": item.text[word.start : word.end], "start": word.start, "end": word.end,
                "label": row["name"], "mark": after, "score": score, "source": source,
            }
            for word, row, (_, after), score, source in zip(*columns, strict=True)
        ]  # fmt: skip
        for entry in entries if item.spans else ():
            entry["timestamp"] = time_between(item.spans, entry["start"], entry["end"])
        if truecase:
            inside = forms_inside(words, casings, config.mixed_case or (), prepared.forms.addresses)
        for index, entry in enumerate(entries if all_scores else ()):
            if truecase:
                entry["inside"] = inside[index]
            of_labels = probabilities[index].tolist()
            entry["scores"] = dict(zip(config.label_names, of_labels, strict=True))
        edits = restoring_edits(item.audible, words, written, entries, prepared.removed or ())
        ranges = []
        if truecase or sentences:
            ranges = sentence_ranges(item.audible, edits, entries, item.turns, self.stops)
        if truecase:
            firsts = {first for first, _ in ranges}
            edits = ascending([*edits, *capital_edits(item.text, words, inside, firsts)])
        result: Values = {"text": edited(item.text, edits), "edits": edits}
        if return_words:
            result["words"] = entries
        if sentences:
            result["sentences"] = [_sentence(prepared, edits, *each) for each in ranges]
        return result


def _joined(windows: Sequence[Values], choice: Choice) -> tuple[Any, Any, Any]:
    """Of each word of a text the probabilities of labels (W, M) and casings (W, C), and its `missing_shares` (W,)."""
    prepared = windows[0]["prepared"]
    n_labels = len(choice.goes_to)
    is_input = np.array(prepared.sources, dtype=str) == "input"
    is_given = is_input & (choice.goes_to[prepared.given] > 0) & (prepared.removed is None)
    rows, shares = [], []
    for each in windows:
        window, read = each["window"], each["probabilities"]  # with rows of padding
        given = is_given[window.first : window.end]
        share = missing_shares(read[: len(given), :n_labels], given, choice)
        rows.append(read[window.kept])
        shares.append(share[window.kept])
    labels, casings = np.split(np.concatenate(rows), [n_labels], axis=1)
    return labels, casings, np.concatenate(shares)


def _sentence(prepared: PreparedItem, edits: Sequence[Edit], first: int, end: int) -> Values:
    """The sentence that holds the words from `first` to before `end`."""
    words = prepared.words
    start, stop = words[first].mark_from, words[end - 1].mark_at
    if mark := prepared.marks[end - 1]:
        stop = max(stop, mark.end)
    text = edited_between(prepared.item.text, edits, start, stop)
    return {"text": text, "start": start, "end": stop}
