"""The transformers pipeline: composes the stages, and nothing else.

text -> words -> slots -> encoder -> labels -> edits -> text
"""

import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from types import GeneratorType
from typing import Any

import numpy as np
import torch
from transformers.pipelines.base import ChunkPipeline

from .backends import make_backend
from .batching import batches_by_length, collate
from .casing import AS_IS, agreed, recased
from .completing import complete
from .deciding import Reading, decide, fix
from .decoding import make_choice
from .ensemble import label_columns, load_others, mean_thresholds
from .items import read_item
from .marks import find_marks
from .recognisers import is_pair, opens_transcript
from .results import Fixed, PreparedItem, make_result
from .slots import SlotEncoder
from .spoken_forms import find_forms, in_addresses
from .streamer import PunctuationStreamer, in_blocks
from .timing import word_times
from .windows import Window, windows_of
from .words import WordFinder

TASK = "punctuation-restoration"
EXISTING = ("complete", "keep", "condition", "replace")
SIZES = ("window", "left_context", "right_context")
PREPROCESS_KEYWORDS = (*SIZES, "existing", "pause", "final")
DECIDING_KEYWORDS = ("choice", "pause", "final")
POSTPROCESS_KEYWORDS = ("marks", "thresholds", "truecase", "sentences", "pause", "final", "all_scores", "return_words")
SWITCHES = ("truecase", "sentences", "final", "all_scores", "return_words")
BY_BUDGET = 0  # stands for "no batch size": transformers would take None for 1
# Pieces in one forward pass. On a CPU larger batches are no faster and take more memory (docs/speed.md).
BUDGET = {"cpu": 512}
ACCELERATOR_BUDGET = 32_768
STREAM_BLOCK = 40_000  # characters of a stream that are restored together: some 80 windows of English
N_BATCHES_AHEAD = 16  # so many batches' windows, of several texts, are sorted by length together


class PunctuationRestorationPipeline(ChunkPipeline):
    """Puts punctuation back into text.

    `restore("hello how are you")` gives `{"text": "hello, how are you?", "edits": [...], "words": [...]}`; a list
    gives a list, a generator or data set an iterator. An item is a string or a dictionary: `{"text": str}`,
    `{"words": [str, ...]}`, perhaps with `"timestamps": [(start, end), ...]`, the `{"text", "chunks"}` of a speech
    recognition pipeline. A text may have `"turns": [character, ...]` where another speaker begins, so that a sentence
    ends there; each item `"known": {word index: label name}`, labels that are given and shown to the model.

    What a recogniser gives is an item too: Whisper's dictionary and its like, or a list or generator of segments or
    words, dictionaries or objects. It comes back in its own shape, with marks in all copies of the text; a dictionary
    has what is described below under one more key, `"punctuation"` (`docs/transcripts.md`).

    Keywords, at construction or at the call:
        backend: `"torch"` (default), `"onnx"` or `"onnx-int8"`; at construction only.
        ensemble: further models, folders or Hub ids or pipelines, whose scores are averaged with this one's, word by
            word; at construction only. They have the labels of this one; tokenizers, encoders and slots may differ.
            All that is not scores, such as words and signs, is this model's; thresholds are the means of theirs.
        batch_size: windows in one forward pass. By default as many as fit a number of pieces that suits the device.
        window, left_context, right_context: in words; the configuration's by default.
        existing: what happens to marks that the text has. They stay, and nothing is added beside them: `"complete"`
            (default) shows them to the model where it would add others; `"keep"` never does, so that they change no
            other mark; `"condition"` always does. `"replace"` removes them first.
        marks: which may be written: `"basic"` (default) those of `, . ?`, which stand for the model's others too;
            `"all"` every label of the model; `"sentence-ends"`; or names of labels. What closes a pair (Spanish `?`) is
            written with what opens it, and what opens one only if it is closed.
        thresholds: `{label name: probability}` from which a mark is written; the configuration's by default, `{}` for
            whatever is most probable. Of two that reach theirs, the one that is the most times its threshold wins.
        final: False if the text breaks off: its last word then gets no mark because the text ends, and what opens (`¿`)
            need not be closed.
        truecase: True gives sentences and the English `I` their capitals, and names, where the model has learned
            which words have them.
        sentences: True adds `"sentences"`: text, and start and end in the input.
        pause: seconds; a longer pause between words raises the chance of a mark. Needs times of words; where there are
            none, it changes nothing.
        all_scores: True adds `"scores"` to each word: the probability of every label.
        return_words: False spares the list of words, not the edits.
        jieba_dictionary: path of a jieba user dictionary, or words to add; at construction only.

    `edits` are what was done, ready for JSON, in the order of the text: each puts `inserted` in the place of `removed`,
    which stands at `start` in the input. `text`, `sentences` and `chunks` are the input with its edits. An inserted
    mark has the `label`, `score` and `source` of its word; a mark that was taken out has the source `"removal"`, a
    capital `"truecase"`, and neither has a label or score (None). Marks that were in the text and stay are no edits.

    Each of `words` has `word`, `start` and `end` (character offsets in the input), `label`, `mark` (what stands after
    it), `score` (probability of the label), `source` (`"model"`, `"input"` for a mark that the text had, `"known"` for
    one that the item gave), and `timestamp` where there are times. Words of `{"words": [...]}` are joined by one
    space, Han words by nothing; offsets refer to that text. `{"text", "chunks"}` gives `"chunks"` back as well, each
    with its marks and its own time.

    Raises:
        TypeError: for an unknown keyword, or an item that is none of these.
        ValueError: for an item or a setting that cannot work; in a list its position is named.
    """

    _load_processor = False
    _load_image_processor = False
    _load_feature_extractor = False
    _load_tokenizer = True

    def __init__(
        self, *args: Any, jieba_dictionary: Any = None, backend: str = "torch", ensemble: Any = (), **kwargs: Any
    ) -> None:
        self.backend, self._ensemble = backend, ensemble
        super().__init__(*args, **kwargs)
        if self._batch_size is None:
            self._batch_size = BY_BUDGET
        if self.tokenizer is None:
            raise ValueError("Expected a tokenizer beside the model, found none. Save one there, or pass tokenizer=.")
        config = self.model.config
        self.find_words = WordFinder(config.mark_labels, jieba_dictionary)
        self.slots = SlotEncoder(self.tokenizer, config)
        if backend != "torch":  # the others compute on the CPU
            self.device = torch.device("cpu")
            self.model.to("cpu")  # type: ignore[arg-type]
        with torch.inference_mode():
            self._probabilities: Any = make_backend(backend, self.model, self.slots.pad_id)
        self.others  # noqa: B018  what cannot be averaged is told now

    @functools.cached_property
    def others(self) -> list[Any]:
        """Pipelines of the further models of an ensemble."""
        return load_others(self, self._ensemble)

    @property
    def thresholds(self) -> dict[str, float]:
        """Those that hold where a call names none."""
        return mean_thresholds([member.model.config for member in (self, *self.others)])

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        known = sorted({*PREPROCESS_KEYWORDS, *POSTPROCESS_KEYWORDS})
        unknown = set(kwargs) - set(known)
        if unknown:
            known = ["batch_size", *known]
            what_to_do = "Put 'known' into the item" if unknown == {"known"} else "Correct them or leave them out"
            raise TypeError(f"Expected keywords among {known}, got {sorted(unknown)}. {what_to_do}.")
        for name in SWITCHES:
            if not isinstance(value := kwargs.get(name, False), bool):
                raise ValueError(f"Expected {name} to be True or False, got {value!r}. Correct it.")
        preprocess = {name: value for name, value in kwargs.items() if name in PREPROCESS_KEYWORDS}
        postprocess = {name: value for name, value in kwargs.items() if name in POSTPROCESS_KEYWORDS}
        config = self.model.config
        config.window_sizes(**{name: size for name, size in preprocess.items() if name in SIZES})
        if preprocess.get("existing", "complete") not in EXISTING:
            raise ValueError(f"Expected existing to be one of {EXISTING}, got {preprocess['existing']!r}. Choose one.")
        pause = kwargs.get("pause")
        if pause is not None and not (isinstance(pause, int | float) and pause > 0):
            raise ValueError(f"Expected pause in seconds, above 0, got {pause!r}. Correct it.")
        if "marks" in postprocess or "thresholds" in postprocess:
            marks, thresholds = postprocess.pop("marks", "basic"), postprocess.pop("thresholds", self.thresholds)
            postprocess["choice"] = make_choice(config, marks, thresholds)
        return preprocess, {}, postprocess

    def __call__(self, inputs: Any, **kwargs: Any) -> Any:
        """Restore one item, a list of them, or a stream; see the class."""
        if isinstance(inputs, GeneratorType):
            head = list(itertools.islice(inputs, 1))
            rest = itertools.chain(head, inputs)
            inputs = list(rest) if head and opens_transcript(head[0]) else (item for item in rest)
        if isinstance(inputs, Sequence) and not isinstance(inputs, str | bytes) and not is_pair(inputs):
            inputs = list(inputs)
            if not inputs:
                return []
            if opens_transcript(inputs[0]):
                inputs = iter(inputs)  # one item: transformers takes a list for several
        return super().__call__(inputs, **kwargs)

    def stream(self, texts: Iterable[str], **options: Any) -> Iterator[str]:
        """Restore one text of any length that comes in parts, cut anywhere: a file's lines, a recogniser's output.

        Restored text is given as soon as enough words follow it. Memory stays that of a few thousand words, however
        long the text. Joined, what is given is the text with its marks. A text of up to 40,000 characters is restored
        as by one call; a model that keeps a memory reads it without windows.

        `options` are keywords of a call and of `PunctuationStreamer`; capitals need `condition=True`.
        """
        return (result["text"] for result in self.stream_results(texts, **options))

    def stream_results(self, texts: Iterable[str], **options: Any) -> Iterator[dict[str, Any]]:
        """As `stream`, but gives what a call gives: text, edits and words, with offsets in the whole text."""
        look_ahead = max(member.model.config.right_context for member in (self, *self.others))
        streamer = PunctuationStreamer(self, look_ahead, **options)
        for text, is_last in in_blocks(texts, STREAM_BLOCK):
            step = streamer.flush(text) if is_last else streamer.feed(text)
            streamer.forget()
            yield {"text": step.committed, "edits": step.edits, "words": step.words}

    def save_pretrained(self, save_directory: Any, **kwargs: Any) -> None:
        """Write model, tokenizer and the code of both and of this pipeline: a folder as the Hub holds it.

        Raises:
            NotADirectoryError: if there is a file where the folder would be.
            ValueError: if this is an ensemble.
        """
        if self.others:
            raise ValueError(f"Expected one model to save, got {1 + len(self.others)} in an ensemble. Save each alone.")
        if os.path.isfile(save_directory):
            raise NotADirectoryError(f"Expected a folder to save into, {save_directory} is a file. Name another place.")
        super().save_pretrained(save_directory, **kwargs)

    def preprocess(
        self, item: Any, existing: str = "complete", pause: Any = None, final: bool = True, **sizes: int | None
    ) -> Iterator[dict[str, Any]]:
        """Windows of one item: pieces and slots, of each model in turn."""
        config, given = self.model.config, read_item(item)
        given = given if final else replace(given, unfinished=True)
        words = self.find_words(given.text)
        found = find_marks(given.text, words, config.mark_labels, config.label_names)
        fixed = fix(config, found if existing != "replace" else [None] * len(words), given.known)
        shown = fixed if existing == "condition" else [one if n in given.known else None for n, one in enumerate(fixed)]
        replaced = config.mark_labels if existing == "replace" else ()
        times = None if given.spans is None else word_times(words, given.spans)
        forms = find_forms([word.spoken for word in words])
        document = PreparedItem(given, words, found, fixed, forms, replaced, times)
        yield from self._windows(document, shown, **sizes)

    def _windows(self, document: PreparedItem, shown: Fixed, **sizes: int | None) -> Iterator[dict[str, Any]]:
        """Windows of a text for each model in turn, to which some decisions are shown."""
        spoken = [word.spoken for word in document.words]
        for number, member in enumerate((self, *self.others)):
            names = member.model.config.label_names
            filled = [decision and names.index(decision.row["name"]) for decision in shown]
            for window in member.windows(spoken, filled, not document.item.unfinished, **sizes):
                yield {**window, "member": number, "document": document}

    def windows(
        self, spoken: Sequence[str], filled: Sequence[int | None], is_over: bool, **sizes: int | None
    ) -> Iterator[dict[str, Any]]:
        """Windows of some words as this model reads them; no words still give one, which decides nothing.

        `filled` has for each word the label that its slot shows, or None; `is_over` says whether the text ends.
        """
        config = self.model.config
        pieces = self.slots.pieces(spoken)
        windows = windows_of(self.slots.n_pieces(pieces, filled), config, **sizes)
        for seen in windows or [Window(0, 0, 0, 0)]:
            span = slice(seen.first, seen.end)
            ends = is_over and seen.end == len(spoken)
            input_ids, slot_positions = self.slots.assemble(pieces[span], filled[span], ends)
            yield {"input_ids": input_ids, "slot_positions": slot_positions, "window": seen}

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        return {"probabilities": self._probabilities(**model_inputs)}  # (B, W, M)

    def postprocess(self, model_outputs: list[dict[str, Any]], all_scores: bool = False, **wanted: Any) -> Any:
        """Join the windows of one text, average models, choose labels, and write the marks into the text."""
        document: PreparedItem = model_outputs[0]["document"]
        decided, probabilities = self._decide(model_outputs, **wanted)
        wanted = {name: value for name, value in wanted.items() if name not in DECIDING_KEYWORDS}
        casings = None
        if wanted.get("truecase"):
            casings = document.casings if document.casings is not None else _casings(model_outputs)
        if casings is not None:
            kept = in_addresses(document.forms)
            casings = [AS_IS if index in kept else casing for index, casing in enumerate(casings.tolist())]
            pairs = zip(document.words, casings, strict=True)
            wanted["cased"] = [recased(word.text, casing, self._mixed_case) for word, casing in pairs]
        names = self.model.config.label_names
        scores = [dict(zip(names, row, strict=True)) for row in probabilities.tolist()] if all_scores else None
        return make_result(document, decided, scores, **wanted)

    def _decide(self, outputs: Sequence[dict[str, Any]], **wanted: Any) -> Reading:
        """What is decided of each word of a text, from the windows of all models."""
        how = {name: wanted[name] for name in DECIDING_KEYWORDS if name in wanted}
        configs = [member.model.config for member in (self, *self.others)]
        if "choice" not in how:
            how["choice"] = make_choice(configs[0], "basic", self.thresholds)
        return decide(outputs[0]["document"], _joined(outputs, "probabilities"), configs, **how)

    @functools.cached_property
    def _mixed_case(self) -> dict[str, str]:
        """Words with capitals inside, by their lower case, of the model that says which they are."""
        configs = (member.model.config for member in (self, *self.others))
        listed: Any = next((config.mixed_case for config in configs if config.casings), None)
        return {form.lower(): form for form in reversed(listed or ())}  # of two alike, the first counts

    def get_iterator(self, inputs: Iterable[Any], num_workers: int, batch_size: int, *params: Any) -> Iterator[Any]:
        """Results in the order of the inputs; windows of several texts are batched by length, for little padding.

        Replaces the method of transformers, which batches a fixed number of windows in the order in which they come.
        """
        preprocess_params, _, postprocess_params = params
        sizes = {name: size for name, size in preprocess_params.items() if name in SIZES}
        numbered, budget = enumerate(inputs), BUDGET.get(self.device.type, ACCELERATOR_BUDGET)
        read = functools.partial(self._read, batch_size=batch_size or None, budget=budget)
        while True:
            texts: list[list[dict[str, Any]]] = []  # their windows
            n_ahead = 0  # windows, or their pieces where batches go by those
            for position, item in numbered:
                try:
                    texts.append(list(self.preprocess(item, **preprocess_params)))
                except (TypeError, ValueError) as error:
                    raise type(error)(f"Item {position}: {error}") from error
                n_ahead += sum(1 if batch_size else len(window["input_ids"]) for window in texts[-1])
                if n_ahead >= (batch_size or budget) * N_BATCHES_AHEAD:
                    break
            if not texts:
                return
            read([window for windows in texts for window in windows])
            for windows in texts:
                if preprocess_params.get("existing", "complete") == "complete":
                    windows = self._completed(windows, read, sizes, postprocess_params)
                yield self.postprocess(windows, **postprocess_params)

    def _read(self, windows: Sequence[dict[str, Any]], batch_size: int | None, budget: int) -> None:
        """Give each window its probabilities (W, M), in the order of this model's labels."""
        for number, member in enumerate((self, *self.others)):
            own = [window for window in windows if window["member"] == number]
            columns = label_columns(self.model.config, member.model.config)
            for indices in batches_by_length([len(one["input_ids"]) for one in own], batch_size, budget):
                batch = collate([own[index] for index in indices], member.slots.pad_id)
                outputs = member.forward(batch)["probabilities"].numpy()
                labels, casings = outputs[..., columns], outputs[..., len(columns) :]
                for row, index in enumerate(indices):
                    own[index]["probabilities"] = labels[row]
                    if member.model.config.casings:
                        own[index]["casings"] = casings[row]

    def _completed(
        self, outputs: list[dict[str, Any]], read: Callable[..., None], sizes: Mapping[str, Any], wanted: Any
    ) -> list[dict[str, Any]]:
        """Windows of a text, with its marks shown where others are missing."""
        document: PreparedItem = outputs[0]["document"]
        fills = any(member.slots.shows_marks for member in (self, *self.others))
        if not fills or not any(mark and mark.label for mark in document.found):
            return outputs
        # Of the words alone, so that restored text keeps its letters too.
        casings = _casings(outputs) if wanted.get("truecase") else None
        already_read = {_content(window): window["probabilities"] for window in outputs}

        def read_shown(fixed: Fixed) -> Reading:
            outputs[:] = self._windows(document, fixed, **sizes)
            read([window for window in outputs if _content(window) not in already_read])
            for window in outputs:
                window["probabilities"] = already_read.setdefault(_content(window), window.get("probabilities"))
            return self._decide(outputs, **wanted)

        blind = self._decide(outputs, **wanted)
        fixed = complete(document.fixed, blind, read_shown, self.model.config.labels[0])
        document = replace(document, fixed=fixed, casings=casings)
        return [{**output, "document": document} for output in outputs]


def _content(window: Mapping[str, Any]) -> tuple[Any, ...]:
    """All that the model sees of a window: two that are alike here have the same probabilities."""
    return window["member"], window["window"].first, tuple(window["input_ids"]), tuple(window["slot_positions"])


def _casings(outputs: Sequence[dict[str, Any]]) -> np.ndarray | None:
    """The casing (W,) of each word of a text, as the first model says that knows them; None where none does."""
    words = [word.spoken.lower() for word in outputs[0]["document"].words]
    return next((agreed(rows, words).argmax(axis=1) for rows in _joined(outputs, "casings")), None)


def _joined(outputs: Iterable[dict[str, Any]], key: str) -> list[np.ndarray]:
    """What each model that gives it says of the words of a text (W, ...): the rows that each of its windows decides."""
    members = itertools.groupby((output for output in outputs if key in output), key=itemgetter("member"))
    return [np.concatenate([output[key][output["window"].kept] for output in own]) for _, own in members]
