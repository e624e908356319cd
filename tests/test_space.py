"""The page of the Space: what it shows and gives back, and the folder that goes to the Hub."""
# ruff: noqa: F811  (fixtures are imported by name)

import json
import re

import pytest
import yaml
from restorers import RECORDED
from space_page import (  # noqa: F401
    SPACE,
    TEXT,
    chosen,
    last,
    page_restorer,
    recording,
    restorer,
    seen,
    sound,
    tiny_recogniser,
    views,
)

import punctuation_restoration
from punctuation_restoration.pipeline.edits import edited, make_edit
from punctuation_restoration.transcripts import read_bytes, restore_file, write_as
from tools import space_folder

# The libraries of the client side warn of their own futures.
pytestmark = pytest.mark.filterwarnings("default")

HARD = 'he said "hello" are, you. the (awak) 我们，大家好吗'


@pytest.mark.parametrize("options", [("basic", "keep", False), ("all", "replace", False), ("basic", "keep", True)])
@pytest.mark.parametrize("text", [TEXT * 5, HARD, "the the the", "...", "<img src=x> & hello are"])
def test_what_is_shown_and_downloaded_is_what_the_pipeline_gives(text, options, page_restorer, tiny_pipeline):
    marks, existing, truecase = options
    shown = last(page_restorer.restored(text, *options, 0.0, "accurate"))
    result = tiny_pipeline(text, marks=marks, existing=existing, truecase=truecase)
    assert chosen(shown, "txt") == seen(views.card(shown)) == result["text"]
    assert shown.before == text
    assert shown.n_words == len(result["words"])
    assert "<img" not in views.card(shown)
    other = chosen(shown, "txt", 1)  # the next best everywhere
    is_doubtful = any(len(one.signs) > 1 for one in shown.choices)
    assert (other != result["text"]) == is_doubtful
    assert re.sub(r"[\W_]", "", other).lower() == re.sub(r"[\W_]", "", result["text"]).lower()


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.*")), ids=lambda path: path.name)
def test_a_file_comes_back_in_its_own_format_as_text_and_as_subtitles(path, page_restorer, tiny_pipeline):
    if path.suffix == ".md":
        pytest.skip("no transcript")
    transcript, _ = read_bytes(path.read_bytes(), name=path.name)
    expected = restore_file(tiny_pipeline, transcript)
    shown = last(page_restorer.restored(path))
    assert chosen(shown, transcript.format) == expected.source()
    for other in set(shown.files) - {transcript.format}:
        assert chosen(shown, other) == write_as(expected, other)
    has_times = any(speech.spans for speech in transcript.speeches)
    assert ("srt" in shown.files) == ((has_times and len(transcript.speeches) == 1) or path.suffix == ".srt")


def test_a_long_text_comes_block_by_block_and_as_a_call_gives_it(page_restorer, tiny_pipeline):
    text = f"{TEXT} saya you " * 120
    *steps, shown = page_restorer.restored(text)
    shares = [step.share for step in steps]
    assert len(shares) > 2
    assert shares == sorted(shares)
    assert shares[-1] > 0.99
    assert chosen(shown, "txt").startswith(steps[0].so_far.rstrip()[:-1])
    answer = page_restorer.restore(text)
    assert answer["text"] == chosen(shown, "txt") == tiny_pipeline(text)["text"]
    assert [word["start"] for word in answer["words"]] == sorted(word["start"] for word in answer["words"])


def test_ascii_json_and_a_text_with_numbers_of_its_own_stay_what_they_are(page_restorer, tmp_path, tiny_pipeline):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"text": "hello are you \u4f60\u597d\u6211\u4eec the is"}))
    transcript, _ = read_bytes(path.read_bytes(), name=path.name)
    written = chosen(last(page_restorer.restored(path)), "json")
    assert json.loads(written) == json.loads(restore_file(tiny_pipeline, transcript).source())
    text = f"hello {views.number_sign(0)} are you the " * 3
    assert last(page_restorer.restored(text)).files["txt"] == tiny_pipeline(text)["text"]


@pytest.mark.parametrize("content", ['{"text": ""}', '[{"text": ""}, {"text": ""}]', '{"segments": []}'])
def test_a_file_in_which_nothing_is_said_comes_back_as_it_is(content, page_restorer, tmp_path):
    path = tmp_path / "silence.json"
    path.write_text(content)
    shown = last(page_restorer.restored(path))
    assert seen(views.card(shown)).strip() == ""
    assert (shown.n_words, shown.choices) == (0, [])


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.srt", b"\x89PNG\r\n\x00\x00", "not a text file"),
        ("a.txt", "caf\xe9 au lait".encode("latin-1"), "not in UTF-8"),
        ("a.docx", b"PK", "Files of the kind .docx"),
        ("a.wav", b"RIFF", "must be transcribed first: see the tab Sound"),
        ("a.json", b'{"segments": [{"text": "a', "a.json, line 1 cannot be read"),
        ("a.srt", b"1\nnever --> 00:00:02,000\nhello\n", "a.srt, line 2 cannot be read"),
        ("a.txt", b"hello " * 40_000, "240,000 characters; the page takes up to 200,000"),
        ("a.json", b" " * 5_000_001, "too large"),
    ],
)
def test_what_is_wrong_is_said_in_a_visitors_words(name, content, told, page_restorer, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(told)) as error:
        last(page_restorer.restored(tmp_path / name))
    assert "--" not in str(error.value).replace("never -->", "").replace("--> 00:00", "")


def word(mark=",", score=0.5, source="model", **others):
    scores = {"O": 1 - score, "COMMA": score} if mark else {"O": score, "COMMA": 1 - score}
    decision = {"mark": mark, "score": score, "source": source, "scores": scores}
    return {"word": "a", "start": 0, "end": 1, **decision, **others}


def test_one_decision_in_ten_marks_is_doubtful_the_least_sure_and_none_that_is_sure():
    assert views.doubtful([word(score=0.9)] * 8) == []
    assert views.doubtful([word(score=0.9)] * 7 + [word(score=0.5)]) == [7]
    assert views.doubtful([word(score=0.5)] * 10) == [0]
    assert views.doubtful([word(score=0.5)] * 10 + [word("", score=0.4)]) == [10], "a missing mark may be doubtful too"
    assert views.doubtful([word(score=0.5 - 0.01 * n) for n in range(11)]) == [10, 9]
    assert views.doubtful([word(score=0.1, source="input")]) == []
    assert views.doubtful([]) == []


LABELS = [
    {"name": "O", "before": "", "after": ""}, {"name": "COMMA", "before": "", "after": ","},
    {"name": "PERIOD", "before": "", "after": "."}, {"name": "EXCLAMATION", "before": "", "after": "!"},
]  # fmt: skip


def test_the_next_best_mark_follows_what_is_written_in_the_words_script():
    entry = {"label": "COMMA", "scores": {"O": 0.46, "COMMA": 0.3, "PERIOD": 0.13, "EXCLAMATION": 0.11}}
    found = views.alternatives(entry, "Latin", LABELS, [0, 1, 2, 2])
    assert found == views.Choices([",", "", "."], ["comma 30%", "no mark 46%", "period 24%"])
    assert views.alternatives(entry, "Han", LABELS, [0, 1, 2, 3]).signs == ["，", "", "。", "！"]


def test_the_letter_after_a_doubtful_mark_is_a_capital_only_after_what_ends_a_sentence():
    def row(text, inside):
        return {"word": text, "start": 5, "inside": inside}

    assert views.first_letter(row("it", "it"), [".", "", "，", "？"]) == (5, ["I", "i", "i", "I"])
    assert views.first_letter(row("it", "it"), [",", ""]) is None
    assert views.first_letter(row("monday", "Monday"), [".", ""]) is None, "a capital in any case"
    assert views.first_letter(row("&eacute;t", "ét"), [".", ""]) is None, "it cannot be written there"
    assert views.first_letter({"word": "it", "start": 5}, [".", ""]) is None, "without capitals"
    assert views.first_letter({}, [".", ""]) is None
    text, choices = "so it is", []
    doubt = views.Doubt(views.Choices(["", "."], ["no mark 60%", "period 40%"]), (3, ["i", "I"]))
    edits = views.numbered(text, [make_edit(0, "s", "S", "truecase")], {2: doubt}, choices)
    shown = views.Shown({"txt": edited(text, edits)}, "txt", text, choices, 3)
    assert [chosen(shown, "txt", n) for n in (0, 1)] == ["So it is", "So. It is"]
    assert seen(views.card(shown)) == "So it is"


def test_both_models_are_offered_where_both_are_there(tiny_checkpoint, monkeypatch):
    monkeypatch.setattr(restorer, "DEFAULT_MODEL", tiny_checkpoint)
    monkeypatch.setattr(restorer, "FAST", punctuation_restoration.default_models.HUB_FAST)
    monkeypatch.delenv("PUNCTUATION_RESTORATION_MODEL", raising=False)
    assert restorer.page_models() == {"accurate": tiny_checkpoint}
    monkeypatch.setattr(restorer, "FAST", "somewhere")
    assert restorer.page_models() == {"accurate": tiny_checkpoint, "fast": "somewhere"}
    with pytest.raises(ValueError, match="Expected a model out of"):
        restorer.PageRestorer({"accurate": tiny_checkpoint}).restore("hello", model="fast")


def test_the_front_matter_is_what_the_hub_reads():
    front = yaml.safe_load((SPACE / "README.md").read_text(encoding="utf-8").split("---")[1])
    assert (SPACE / front["app_file"]).is_file()
    assert front["sdk"] == "gradio"
    assert re.fullmatch(r"6\.\d+\.\d+", front["sdk_version"])
    assert len(front["short_description"]) <= 60  # the Hub refuses longer ones
    ours = punctuation_restoration.default_models
    assert front["models"] == front["preload_from_hub"] == [ours.HUB_MODEL, ours.HUB_FAST]


def test_the_folder_for_the_hub_is_whole(tmp_path):
    assert space_folder.main([str(tmp_path / "page")]) == 0
    own = {path.name for path in SPACE.iterdir() if path.is_file()} | {"LICENSE"}
    assert {path.name for path in (tmp_path / "page").iterdir()} == {*own, "punctuation_restoration"}


def test_a_recording_becomes_text_and_subtitles(tiny_recogniser, recording, page_restorer, monkeypatch):
    monkeypatch.delenv("RECOGNISER", raising=False)
    assert sound.recogniser() is None
    monkeypatch.setenv("RECOGNISER", tiny_recogniser)
    heard = sound.recogniser()(recording)
    assert heard["text"].strip()
    assert heard["chunks"][-1]["timestamp"][1] <= 2.1
    shown = last(page_restorer.restored(json.loads(json.dumps(heard))))
    assert list(shown.files) == ["json", "txt", "srt", "vtt"]
    assert re.sub(r"[^a-z]", "", chosen(shown, "txt")) == re.sub(r"[^a-z]", "", heard["text"])
    assert " --> 00:00:0" in shown.files["srt"]
    recording.write_bytes(b"no sound")
    with pytest.raises(ValueError, match="This recording cannot be read"):
        sound.recogniser()(recording)
