"""The model behind the page: loads it, runs it, and says in one sentence what is wrong with an input.

Takes texts and files with the page's options, gives what the pipeline gives. It knows nothing of Gradio.
"""

import time
from pathlib import Path
from typing import Any

from transformers import pipeline
from transformers.utils import logging

from punctuation_restoration import DEFAULT_MODEL, transcripts
from punctuation_restoration.default_models import HUB_MODEL
from punctuation_restoration.pipeline.restoration_pipeline import TASK

HUB_REVISION = "v0.1.0"  # of the default model, so that its weights do not change under the page
MAX_CHARACTERS = 20_000  # of a text; some 4,000 English words
MAX_FILE_CHARACTERS = 200_000  # of the speech in a file; about four hours
MAX_FILE_BYTES = 2_000_000
N_SHOWN_MASKS = 30  # words whose masks are shown


class PageRestorer:
    """Restores texts and files, with the package's default model if none is named; its errors are for visitors."""

    def __init__(self, model: str | None = None, revision: str | None = None) -> None:
        logging.disable_progress_bar()
        if (model or DEFAULT_MODEL) == HUB_MODEL:
            revision = revision or HUB_REVISION
        build: Any = pipeline  # its overloads name only the tasks of transformers itself
        self.pipeline = build(TASK, model=model or DEFAULT_MODEL, revision=revision)
        self.pipeline("hello 你好")  # loads jieba, and spares the first visitor the wait

    @property
    def has_more_marks(self) -> bool:
        """Whether the model has labels besides those of `, . ?`."""
        config = self.pipeline.model.config
        return config.basic_labels != list(range(len(config.labels)))

    def restore(
        self, text: str, marks: str = "basic", existing: str = "complete", truecase: bool = False, threshold: float = 0
    ) -> dict[str, Any]:
        """Restore punctuation in a text.

        Args:
            text: the text.
            marks: "basic" (commas, periods and question marks), "all" or "sentence-ends".
            existing: what happens to marks that it has: "complete", "keep", "condition" or "replace".
            truecase: True gives sentences and names their capitals.
            threshold: probability from which a mark is written; 0 leaves it to the model.

        Returns:
            "text", "edits" (each with start, removed, inserted, label, score and source), "words" (each with word,
            start, end, label, mark, score and source), "seconds".

        Raises:
            ValueError: for a text that is too long or none, or an option that does not exist.
        """
        if not isinstance(text, str):
            raise ValueError(f"Expected a text, got {type(text).__name__}. Send a string.")
        if len(text) > MAX_CHARACTERS:
            raise ValueError(
                f"This text has {len(text):,} characters; the page takes up to {MAX_CHARACTERS:,}. Cut it, send it as "
                "a file, or run the model on your own machine."
            )
        started = time.perf_counter()
        result = self.pipeline(text, **self._keywords(marks, existing, truecase, threshold))
        return {**result, "seconds": time.perf_counter() - started}

    def slots(self, text: str, words: list[dict[str, Any]], existing: str) -> list[tuple[str, str]]:
        """For the first words their pieces, and what the model saw in their slots."""
        spoken = [word.spoken for word in self.pipeline.find_words(text)[:N_SHOWN_MASKS]]
        encoder, labels = self.pipeline.slots, self.pipeline.model.config.label_names
        adds = any(word["source"] == "model" and word["mark"] for word in words)
        shows, shown = existing == "condition" or (existing == "complete" and adds), []
        for word, pieces in zip(words, encoder.pieces(spoken), strict=False):
            is_filled = shows and word["source"] == "input"
            slot = encoder.fill_ids[labels.index(word["label"])] if is_filled else encoder.mask_id
            names = encoder.tokenizer.convert_ids_to_tokens([*pieces] if slot is None else [*pieces, slot])
            shown.append((" ".join(names[: len(pieces)]), " ".join(names[len(pieces) :])))
        return shown

    def restore_file(self, path: Path, folder: Path, to: str = "", *options: Any) -> tuple[Path, dict[str, Any]]:
        """Restore a transcript into a file of `folder`; gives its path, and `text`, `words` and `seconds`.

        `to` is another format to write it in; "" keeps its own. `options` are those of `restore`.

        Raises:
            ValueError: if it cannot be read, is too large, or cannot be written in the other format.
        """
        n_bytes = path.stat().st_size
        if n_bytes > MAX_FILE_BYTES:
            raise ValueError(f"This file has {n_bytes:,} bytes; the page takes up to {MAX_FILE_BYTES:,}. Split it.")
        transcript, encoding = transcripts.read_bytes(path.read_bytes(), name=path.name)
        n_characters = sum(len(speech.text) for speech in transcript.speeches)
        if n_characters > MAX_FILE_CHARACTERS:
            raise ValueError(
                f"This file has {n_characters:,} characters of speech; the page takes up to {MAX_FILE_CHARACTERS:,}. "
                "Split it, or use the command `punctuate` on your own machine."
            )
        started = time.perf_counter()
        done = transcripts.restore_transcript(transcript, self.pipeline, **self._keywords(*options))
        content = transcripts.write_as(done, to) if to else done.source()
        seconds = time.perf_counter() - started
        target = folder / f"{path.stem}-restored{f'.{to}' if to else path.suffix}"
        target.write_bytes(transcripts.encoding_of(to, encoding).encode(content))
        words = [word for speech in done.speeches for word in speech.words]
        return target, {"text": content, "words": words, "seconds": seconds}

    def _keywords(
        self, marks: str = "basic", existing: str = "complete", truecase: bool = False, threshold: float = 0
    ) -> dict[str, Any]:
        keywords: dict[str, Any] = {"marks": marks, "existing": existing, "truecase": bool(truecase)}
        if threshold:  # without the keyword the thresholds that the model was given count
            keywords["thresholds"] = dict.fromkeys(self.pipeline.model.config.label_names[1:], float(threshold))
        return keywords
