"""Runs the page's models on texts and files. Its errors are sentences for visitors. It knows nothing of Gradio."""

import functools
import os
import time
from pathlib import Path
from typing import Any

from transformers import pipeline
from transformers.utils import logging

from punctuation_restoration import DEFAULT_MODEL, FAST, transcripts
from punctuation_restoration.default_models import HUB_FAST, HUB_MODEL, VARIABLE, check_model
from punctuation_restoration.pipeline.restoration_pipeline import EXISTING, TASK

HUB_REVISION = "v0.1.0"  # of our models, so that their weights do not change under the page
MAX_CHARACTERS = 20_000  # of a text; some 4,000 English words
MAX_FILE_CHARACTERS = 200_000  # of the speech in a file; about four hours
MAX_FILE_BYTES = 2_000_000
BEST, QUICK = "accurate", "fast"
DEFAULTS = ("basic", EXISTING[0], False, 0.0, BEST)  # of the options of a call


def page_models() -> dict[str, str]:
    """Folder or Hub id of each model to choose from: ours, or the one that the environment names."""
    try:
        check_model(FAST)
    except OSError:
        return {BEST: DEFAULT_MODEL}
    return {BEST: DEFAULT_MODEL} if os.environ.get(VARIABLE) else {BEST: DEFAULT_MODEL, QUICK: FAST}


class PageRestorer:
    """Restores texts and files with the models of the page."""

    def __init__(self, models: dict[str, str] | None = None, revision: str | None = None) -> None:
        logging.disable_progress_bar()
        self.models, self.revision = models or page_models(), revision
        self.load(BEST)

    @functools.cache  # noqa: B019  one restorer serves as long as the page
    def load(self, model: str) -> Any:
        """The pipeline of a model, loaded when it is first asked for."""
        if model not in self.models:
            raise ValueError(
                f"Expected a model out of {list(self.models)}, got {model!r}. Pass one of these."
            )
        place = self.models[model]
        revision = self.revision or (HUB_REVISION if place in (HUB_MODEL, HUB_FAST) else None)
        build: Any = pipeline  # its overloads name only the tasks of transformers itself
        restore = build(TASK, model=place, revision=revision)
        restore("hello 你好")  # loads jieba, and spares the first visitor the wait
        return restore

    @property
    def has_more_marks(self) -> bool:
        config = self.load(BEST).model.config
        return config.basic_labels != list(range(len(config.labels)))

    def restore(
        self,
        text: str,
        marks: str = "basic",
        existing: str = EXISTING[0],
        truecase: bool = False,
        threshold: float = 0,
        model: str = BEST,
    ) -> dict[str, Any]:
        """Restore punctuation in a text.

        Args:
            text: up to 20,000 characters.
            marks: "basic" (commas, periods and question marks), "all" or "sentence-ends".
            existing: what happens to marks that it has: "keep" them or "replace" them.
            truecase: True gives sentences and names their capitals.
            threshold: probability from which a mark is written; 0 leaves it to the model.
            model: "accurate", or "fast" where there are two.

        Returns:
            "text", "edits", "words" (each also with scores, the probability of every label), "seconds".

        Raises:
            ValueError: for a text that is too long or none, or an option that does not exist.
        """
        if not isinstance(text, str):
            raise ValueError(f"Expected a text, got {type(text).__name__}. Send a string.")
        if len(text) > MAX_CHARACTERS:
            most = f"{MAX_CHARACTERS:,}"
            raise ValueError(
                f"This text has {len(text):,} characters; the page takes up to {most}. Send it as a file."
            )
        restore, keywords = self._prepared(marks, existing, truecase, threshold, model)
        started = time.perf_counter()
        return {
            **restore(text, all_scores=True, **keywords),
            "seconds": time.perf_counter() - started,
        }

    def restore_file(
        self, path: Path, folder: Path, to: str = "", *options: Any
    ) -> tuple[Path, dict[str, Any]]:
        """Restore a transcript into a file of `folder`; gives its path, and `text`, `words` and `seconds`.

        `to` is another format, or ""; `options` are those of `restore`. Raises a ValueError where that cannot be done.
        """
        n_bytes = path.stat().st_size
        if n_bytes > MAX_FILE_BYTES:
            raise ValueError(
                f"This file has {n_bytes:,} bytes; the page takes up to {MAX_FILE_BYTES:,}. Split it."
            )
        transcript, encoding = transcripts.read_bytes(path.read_bytes(), name=path.name)
        n_characters = sum(len(speech.text) for speech in transcript.speeches)
        if n_characters > MAX_FILE_CHARACTERS:
            most = f"{MAX_FILE_CHARACTERS:,}"
            raise ValueError(
                f"This file has {n_characters:,} characters; the page takes up to {most}. Split it."
            )
        restore, keywords = self._prepared(*(options or DEFAULTS))
        started = time.perf_counter()
        done = transcripts.restore_file(restore, transcript, **keywords)
        content = transcripts.write_as(done, to) if to else done.source()
        seconds = time.perf_counter() - started
        target = folder / f"{path.stem}-restored{f'.{to}' if to else path.suffix}"
        target.write_bytes(transcripts.encoding_of(to, encoding).encode(content))
        words = [word for speech in done.speeches for word in speech.words]
        return target, {"text": content, "words": words, "seconds": seconds}

    def _prepared(
        self, marks: str, existing: str, truecase: bool, threshold: float, model: str
    ) -> tuple[Any, dict[str, Any]]:
        """The pipeline of a model, and the keywords of its call."""
        restore = self.load(model)
        keywords: dict[str, Any] = {
            "marks": marks,
            "existing": existing,
            "truecase": bool(truecase),
        }
        if threshold:  # without the keyword the thresholds that the model was given count
            keywords["thresholds"] = dict.fromkeys(
                restore.model.config.label_names[1:], float(threshold)
            )
        return restore, keywords
