"""Runs the page's models on texts and files. Its errors are sentences for visitors. It knows nothing of Gradio."""

import contextlib
import functools
import json
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from transformers import pipeline
from transformers.utils import logging
from views import (
    FIRST_DIGIT,
    NUMBER,
    Choices,
    Doubt,
    Shown,
    alternatives,
    doubtful,
    first_letter,
    numbered,
)

from punctuation_restoration import DEFAULT_MODEL, FAST
from punctuation_restoration.default_models import OUR_MODELS, VARIABLE, check_model
from punctuation_restoration.pipeline.decisions import make_choice
from punctuation_restoration.pipeline.restoration_pipeline import EXISTING, TASK
from punctuation_restoration.transcripts import (
    FOREIGN,
    Encoding,
    FormatError,
    RestoredTranscript,
    Transcript,
    read_bytes,
    read_source,
    write_as,
)
from punctuation_restoration.transcripts.file_text import decode_bytes
from punctuation_restoration.transcripts.restoring import RestoredSpeech

HUB_REVISION = "v0.1.0"  # of our models, so that their weights do not change under the page
MAX_CHARACTERS = 200_000  # of a text, or of the speech in a file; about four hours
MAX_FILE_BYTES = 5_000_000  # times and keys of JSON included
BLOCK = 1_500  # letters of a long text that are restored together; then the next visitor has a turn
BEST, QUICK = "accurate", "fast"
_ESCAPED_DIGIT = re.compile(r"\\ud83a\\udcd([0-6])")  # of a number, in JSON


Values = dict[str, Any]


class Progress(NamedTuple):
    """How far a text is."""

    share: float  # of 1
    so_far: str


def page_models() -> dict[str, str]:
    """Folder or Hub id of each model to choose from: ours, or the one that the environment names."""
    models = {BEST: DEFAULT_MODEL}
    if not os.environ.get(VARIABLE):
        with contextlib.suppress(OSError):
            check_model(FAST)
            models[QUICK] = FAST
    return models


class PageRestorer:
    """Restores texts and files with the models of the page, block by block: several visitors take turns."""

    def __init__(self, models: dict[str, str] | None = None, revision: str | None = None) -> None:
        logging.disable_progress_bar()
        self.models, self.revision = models or page_models(), revision
        self._turn = threading.Lock()
        self.load(BEST)

    @functools.cache  # noqa: B019  one restorer serves as long as the page
    def load(self, model: str) -> Any:
        """The pipeline of a model, loaded when it is first asked for."""
        if model not in self.models:
            raise ValueError(
                f"Expected a model out of {list(self.models)}, got {model!r}. Pass one of these."
            )
        source = self.models[model]
        own_revision = HUB_REVISION if source in OUR_MODELS else None
        build: Any = pipeline  # its overloads name only the tasks of transformers itself
        restore = build(TASK, model=source, revision=self.revision or own_revision)
        restore("hello 你好")  # loads jieba, and spares the first visitor the wait
        return restore

    @property
    def has_more_marks(self) -> bool:
        config = self.load(BEST).model.config
        return len(config.basic_labels) < len(config.labels)

    def restore(
        self,
        text: str,
        marks: str = "basic",
        existing: str = EXISTING[0],
        truecase: bool = False,
        threshold: float = 0,
        model: str = BEST,
    ) -> Values:
        """Restore punctuation in a text.

        text: what a speech recogniser wrote, up to 200,000 characters; English, Mandarin and Malay may be mixed.
        marks: "basic" writes commas, periods and question marks, "all" every mark that the model knows,
        "sentence-ends" only those that end a sentence.
        existing: what happens to marks that the text has: "keep" them or "replace" them.
        truecase: true gives sentences and names their capitals.
        threshold: probability from which a mark is written, 0 to 0.95; 0 leaves the choice to the model.
        model: "accurate", or "fast" where the page has both.

        The answer has "text"; "edits", each with "start", "removed", "inserted", "label", "score" and "source";
        "words", each with "word", "start", "end", "label", "mark", "score", "source" and "scores", the probability of
        every label; with capitals also "inside", the word inside a sentence. A text that is too long, or an option that
        does not exist, is an error.
        """
        if not isinstance(text, str):
            raise ValueError(f"Expected a text, got {type(text).__name__}. Send a string.")
        _check_length("text", len(text))
        restore, keywords = self._prepared(marks, existing, truecase, threshold, model)
        parts = list(self._parts(restore, text, keywords))
        return {
            "text": "".join(part["text"] for part in parts),
            "edits": [edit for part in parts for edit in part["edits"]],
            "words": [word for part in parts for word in part["words"]],
        }

    def restored(self, given: str | Path | Values, *options: Any) -> Iterator[Progress | Shown]:
        """Restore a text, a file, or what a recogniser of transformers heard: how far it is, and at last what is shown.

        `options` are those of `restore`. Raises a ValueError where that cannot be done.
        """
        encoding = Encoding()
        if isinstance(given, Path):
            transcript, encoding = read_file(given)
            name = f"{given.stem}-restored"
        elif isinstance(given, str):
            transcript, name = read_source(given, "txt"), "restored"
        else:
            heard = json.dumps(given, ensure_ascii=False)
            transcript, name = read_source(heard, "json"), "recording-restored"
        total = sum(len(speech.text) for speech in transcript.speeches)
        _check_length("text" if isinstance(given, str) else "file", total)
        restore, keywords = self._prepared(*(options or DEFAULTS))
        done = [RestoredSpeech(speech, [], [], restore.stops) for speech in transcript.speeches]
        n_before, so_far = 0, ""
        for each in done:
            speech = each.speech
            for part in self._parts(restore, speech.text, keywords, speech.turns):
                each.edits.extend(part["edits"])
                each.words.extend(part["words"])
                so_far += part["text"]
                n_done = part["words"][-1]["end"] if part["words"] else 0
                yield Progress((n_before + n_done) / max(1, total), so_far)
            so_far += "\n"
            n_before += len(speech.text)
        goes_to = make_choice(restore.model.config, keywords["marks"]).goes_to
        yield _shown(RestoredTranscript(transcript, done), restore, goes_to, name, encoding)

    def _parts(
        self, restore: Any, text: str, keywords: Values, turns: Any = ()
    ) -> Iterator[Values]:
        """What the pipeline gives for a text, a long one in parts; between two parts others have their turn."""
        parts = restore.stream_results([text], block=BLOCK, turns=turns, **keywords)
        while True:
            with self._turn:
                part = next(parts, None)
            if part is None:
                return
            yield part

    def _prepared(
        self, marks: str, existing: str, truecase: bool, threshold: float, model: str
    ) -> tuple[Any, Values]:
        """The pipeline of a model, and the keywords of its call."""
        restore = self.load(model)
        keywords: Values = {
            "marks": marks,
            "existing": existing,
            "truecase": bool(truecase),
            "all_scores": True,
        }
        if threshold:  # without the keyword the thresholds that the model was given count
            keywords["thresholds"] = dict.fromkeys(
                restore.model.config.label_names[1:], float(threshold)
            )
        return restore, keywords


DEFAULTS: Any = PageRestorer.restore.__defaults__  # of the options of a call


def read_file(path: Path) -> tuple[Transcript, Encoding]:
    """A transcript that a visitor sent; a ValueError says in a visitor's words why it cannot be read."""
    if path.stat().st_size > MAX_FILE_BYTES:
        most = f"{MAX_FILE_BYTES // 1_000_000} MB"
        raise ValueError(f"This file is too large: the page takes up to {most}. Split it.")
    ending = path.suffix.lower()
    if ending in FOREIGN:
        raise ValueError(
            f"Files of the kind {ending} cannot be read here. SRT, WebVTT, JSON and plain text can. "
            "A recording must be transcribed first: see the tab Sound."
        )
    content = path.read_bytes()
    try:
        decode_bytes(content)
    except FormatError as error:
        raise ValueError(
            "This is not a text file, or its text is not in UTF-8. Save it as UTF-8 and try again."
        ) from error
    try:
        return read_bytes(content, name=path.name)
    except FormatError as error:
        line = "" if error.line is None else f", line {error.line}"
        problem = re.sub(r"[^.]*--[a-z].*", "", error.problem, flags=re.S)  # names an option
        raise ValueError(f"{path.name}{line} cannot be read. {problem}".strip()) from error


def _check_length(what: str, n_characters: int) -> None:
    if n_characters > MAX_CHARACTERS:
        raise ValueError(
            f"This {what} has {n_characters:,} characters; the page takes up to "
            f"{MAX_CHARACTERS:,}. Split it."
        )


def _shown(
    done: RestoredTranscript, restore: Any, goes_to: Any, name: str, encoding: Encoding
) -> Shown:
    """What the page shows of a restored transcript, in all formats that it can be downloaded in."""
    source, file_format = done.transcript.source, done.transcript.format
    choices: list[Choices] = []
    speeches = done.speeches
    if not NUMBER.search(source):  # else its own signs would be taken for numbers
        speeches = [
            replace(
                speech,
                edits=numbered(
                    speech.speech.text, speech.edits, _doubts(speech, restore, goes_to), choices
                ),
            )
            for speech in speeches
        ]
    marked = RestoredTranscript(done.transcript, speeches)
    files = {file_format: _ESCAPED_DIGIT.sub(_digit, marked.source())}
    has_times = len(speeches) == 1 and bool(speeches[0].clock.timings)
    for other in ("txt", "srt", "vtt") if has_times else ("txt",):
        if other not in files:
            files[other] = write_as(marked, other)
    is_json = done.transcript.document is not None
    return Shown(
        files=files,
        shown="txt" if is_json else file_format,
        before="\n".join(speech.speech.text for speech in speeches) if is_json else source,
        choices=choices,
        n_words=sum(len(speech.words) for speech in speeches),
        name=name,
        encoding=encoding.name + "-sig" * bool(encoding.mark),
    )


def _doubts(restored: RestoredSpeech, restore: Any, goes_to: Any) -> dict[int, Doubt]:
    """Where the model is not sure of a speech's marks: by the offset where the mark is written."""
    words, turns = restored.words, restored.speech.turns
    by_start = {word.start: word for word in restore.find_words(restored.speech.text)}
    doubts = {}
    for index in doubtful(words):
        if word := by_start.get(words[index]["start"]):
            others = alternatives(words[index], word.script, restore.model.config.labels, goes_to)
            following = next(iter(words[index + 1 : index + 2]), {})
            if any(word.end <= turn <= following.get("start", 0) for turn in turns):
                following = {}  # a sentence begins there in any case
            doubts[word.mark_at] = Doubt(others, first_letter(following, others.signs))
    return doubts


def _digit(escaped: re.Match[str]) -> str:
    return chr(FIRST_DIGIT + int(escaped[1]))
