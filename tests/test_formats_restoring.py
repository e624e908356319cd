"""How texts of files reach the restorer, long ones in parts, and what it may change."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from punctuation_restoration.pipeline import restoration_pipeline
from punctuation_restoration.transcripts import read_source, restore_transcript, restored_parts, restoring


@pytest.mark.parametrize("options", [{}, {"existing": "replace"}, {"truecase": True}, {"pause": 0.5}])
def test_a_long_text_is_streamed_and_its_edits_are_those_of_the_whole(
    tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    spoken = "hello you, are the saya awak 大家好 我们今天 the end?".split() * 30
    words = [{"word": word, "start": n * 0.5, "end": n * 0.5 + 0.4} for n, word in enumerate(spoken)]
    transcript = read_source(json.dumps(words), "json")
    text = transcript.speeches[0].text
    monkeypatch.setattr(restoring, "LONG", 700)
    monkeypatch.setattr(restoration_pipeline, "STREAM_BLOCK", 200)
    done: list[int] = []
    restored = restore_transcript(transcript, tiny_pipeline, on_progress=done.append, **options)
    assert len(done) > 5
    assert sum(done) == len(text)
    speech = restored.speeches[0]
    assert [word["word"] for word in speech.words] == [word.text for word in tiny_pipeline.find_words(text)]
    assert all("timestamp" in word for word in speech.words) == ("pause" in options)
    value = json.loads(restored.source())
    assert "".join("".join(word["word"] for word in value).split()) == "".join(speech.text.split())
    assert {edit["source"] for edit in speech.edits} == {"model"} | (
        {"removal"} if "existing" in options else {"truecase"} if "truecase" in options else set()
    )


def test_a_text_that_is_not_long_is_restored_as_by_one_call(tiny_pipeline: Any) -> None:
    text = "hello you are the saya awak 大家好 " * 200
    restored = restore_transcript(read_source(text, "txt"), tiny_pipeline)
    assert restored.speeches[0].edits == tiny_pipeline(text)["edits"]


def test_plain_text_restored_in_parts_is_the_same(tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "\ufeffhello you  are the\nsaya awak 大家好我们今天 hello\r\n\n you are \n" * 9
    transcript = read_source(source, "txt")
    monkeypatch.setattr(restoring, "LONG", 20)
    monkeypatch.setattr(restoration_pipeline, "STREAM_BLOCK", 60)
    parts = list(restored_parts(transcript, tiny_pipeline))
    assert "".join(parts) == restore_transcript(transcript, tiny_pipeline).source() != source
    assert len(parts) > 5
    for source, file_format in (("- a\n- b", "txt"), ('["a"]', "json")):
        with pytest.raises(ValueError, match="Expected plain text"):
            next(restored_parts(read_source(source, file_format), tiny_pipeline))


def test_opening_marks_and_capitals_stand_before_their_word_across_cues() -> None:
    source = "1\n00:00:01,000 --> 00:00:02,000\n<i>hola</i>\n\n2\n00:00:02,000 --> 00:00:03,000\n<i>como estas</i>\n"
    edits = [(4, "", "."), (5, "", "¿"), (5, "c", "C"), (15, "", "?")]

    def restore(texts: Iterable[str], **options: Any) -> Iterator[dict[str, Any]]:
        for text in texts:
            words = [{"start": m.start(), "end": m.end()} for m in re.finditer(r"\w+", text)]
            yield {"text": "hola. ¿Como estas?", "words": words, "edits": [
                {"start": start, "removed": removed, "inserted": inserted} for start, removed, inserted in edits
            ]}  # fmt: skip

    restored = restore_transcript(read_source(source, "srt"), restore)
    assert restored.source() == source.replace("hola", "hola.").replace("como estas", "¿Como estas?")
    assert restored.speeches[0].text == "hola. ¿Como estas?"
    assert [sentence.text for sentence in restored.speeches[0].sentences] == ["hola.", "¿Como estas?"]
