"""The pipeline as a user calls it; labels are those of random weights, so only their handling is tested."""

import copy
import threading
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, pipeline

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.pipeline.restoration_pipeline import PunctuationRestorationPipeline
from punctuation_restoration.transcripts import read_bytes, restore_file, restore_transcript

TEXT = "hello how are you 我们今天在北京 awak saya it's 3.5 the end"


def test_a_string_gives_text_and_words_with_offsets_into_the_input(tiny_pipeline):
    result = tiny_pipeline(TEXT)
    assert "".join(result["text"].split()) != "".join(TEXT.split())
    for entry in result["words"]:
        assert TEXT[entry["start"] : entry["end"]] == entry["word"]
        assert set(entry) == {"word", "start", "end", "label", "mark", "score", "source"}
        assert entry["label"] in ("O", "COMMA", "PERIOD", "QUESTION")
        assert 0.25 <= entry["score"] <= 1.0
        assert entry["source"] == "model"


def test_nothing_to_restore_comes_back_unchanged(tiny_pipeline):
    for text in ("", "  ", "\n\t", "... --", "👍🏽"):
        assert tiny_pipeline(text) == {"text": text, "edits": [], "words": []}
    assert tiny_pipeline([]) == []
    assert [result["text"] for result in tiny_pipeline(["", "hello", ""])][::2] == ["", ""]


def test_batches_computed_at_once_give_what_they_give_one_by_one(tiny_pipeline, monkeypatch):
    texts = [f"{TEXT} {number} " * (number % 5 * 9) for number in range(12)]
    expected = [result["text"] for result in tiny_pipeline(texts)]
    by_model, seen = tiny_pipeline.compute, set()

    def compute(**inputs):
        seen.add((threading.current_thread().name, torch.get_num_threads()))
        return by_model(**inputs)

    monkeypatch.setattr(tiny_pipeline, "compute", compute)
    try:
        for n_threads in (1, 2, 5):
            torch.set_num_threads(n_threads)
            for batch_size in (None, 1, 40, 4_000):
                results = tiny_pipeline(texts, batch_size=batch_size)
                assert [result["text"] for result in results] == expected
            assert torch.get_num_threads() == n_threads
        assert {("batch_0", 1), ("MainThread", 5)} <= seen
        together = threading.Barrier(5, timeout=60)  # passed only by five at once

        def compute_together(**inputs):
            together.wait()
            return compute(**inputs)

        monkeypatch.setattr(tiny_pipeline, "compute", compute_together)
        assert len(tiny_pipeline(["hello you"] * 5, batch_size=1)) == 5
        assert {(f"batch_{number}", 1) for number in range(5)} <= seen
        monkeypatch.setattr(tiny_pipeline, "compute", lambda **inputs: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tiny_pipeline(texts)
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (3, "Item 0: Expected a string, or a dictionary"),
        (np.arange(3), "Item 0: Expected a string"),
        (["a", "b", None], "Item 2: .*got NoneType"),
        ({"txt": "a"}, "got the keys \\['txt'\\]"),
        ({"text": "hello", "known": {4: "COMMA"}}, "word indices below 1"),
        ({"text": "hello", "known": {0: "comma"}}, "labels among"),
    ],
)
def test_a_bad_item_is_named_with_its_position(tiny_pipeline, item, message):
    with pytest.raises((TypeError, ValueError), match=message):
        tiny_pipeline(item)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"windows": 3}, TypeError, "windows"), ({"window": 10}, TypeError, r"got \['window'\].*set in `model.config`"),
        ({"existing": "drop"}, ValueError, "'drop'"), ({"marks": ["COMA"]}, ValueError, "COMA"),
        ({"known": {0: "COMMA"}}, TypeError, r"got \['known'\]\. Put 'known' into the item"),
        ({"thresholds": 0.5}, ValueError, r"thresholds as \{label: probability\}.*, got 0\.5"),
        ({"thresholds": {"COMMA": 3}}, ValueError, "from 0 to 1"),
        ({"thresholds": {"O": 0.5}}, ValueError, "labels among"),
        ({"truecase": "no"}, ValueError, "True or False"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(tiny_pipeline, keywords, error, message):
    for inputs in ("hello", []):
        with pytest.raises(error, match=message):
            tiny_pipeline(inputs, **keywords)


def test_known_labels_are_written_and_change_no_other(tiny_pipeline):
    plain = tiny_pipeline(TEXT)
    result = tiny_pipeline({"text": TEXT, "known": {1: "QUESTION", 3: "O"}})
    assert (result["words"][1]["mark"], result["words"][1]["source"], result["words"][1]["score"]) == ("?", "known", 1)
    assert result["words"][3]["label"] == "O"
    others = [index for index in range(len(plain["words"])) if index not in (1, 3)]
    assert [result["words"][index] for index in others] == [plain["words"][index] for index in others]


def test_the_more_marks_a_text_has_the_fewer_are_added(tiny_pipeline, monkeypatch):
    def compute(slot_positions, **_):  # 0.5 for a comma after every word
        rows = torch.zeros(*slot_positions.shape, 4)
        rows[..., :2] = 0.5
        return rows

    monkeypatch.setattr(tiny_pipeline, "compute", compute)
    words = ["hello"] * 12

    def n_added(given):
        text = " ".join(word + "," * (index in given) for index, word in enumerate(words))
        result = tiny_pipeline(text, thresholds={"COMMA": 0.3})
        assert tiny_pipeline(result["text"], thresholds={"COMMA": 0.3})["edits"] == []
        return len(result["edits"])

    # Of m words without a mark half are expected to need one: with n given odds are m / 2 / (n + m / 2), asked 3 / 7.
    # The word after a given mark has half of these odds, and so has the one before; the last word keeps its odds.
    assert [n_added(range(n)) for n in (0, 3, 4, 5, 8, 11)] == [12, 8, 7, 1, 1, 1]
    assert n_added([5]) == 9
    wide = " ".join([*["hello,"] * 41, *["hello"] * 45])  # what is far away does not count
    added = [edit["start"] for edit in tiny_pipeline(wide, thresholds={"COMMA": 0.3})["edits"]]
    assert 1 < len(added) < 45
    assert added[-1] == len(wide)


def test_replacing_gives_what_the_bare_text_gives(tiny_pipeline):
    replaced = tiny_pipeline("hello! how, are; you... saya", existing="replace")
    assert replaced["text"] == tiny_pipeline("hello how are you saya")["text"]
    assert replaced["words"][1]["start"] == 7


def test_a_mark_that_alone_parts_two_words_is_kept_and_decides(tiny_pipeline):
    kept = tiny_pipeline("hello,you are", existing="replace", thresholds={}, sentences=True)
    assert kept["text"].startswith("hello,you")
    assert [kept["words"][0][key] for key in ("label", "mark", "source")] == ["COMMA", ",", "input"]
    assert kept["sentences"][0]["text"].startswith("hello,you")
    dash = tiny_pipeline("hello you? - are the", existing="replace", thresholds={})
    assert dash["text"].startswith("hello")
    assert [dash["words"][1][key] for key in ("label", "source")] == ["COMMA", "input"]  # as the dash says
    assert "you -" in dash["text"]


def test_thresholds_of_the_configuration_hold_where_the_caller_gives_none(tiny_model, tiny_pipeline, monkeypatch):
    plain = tiny_pipeline(TEXT)
    monkeypatch.setattr(tiny_model.config, "thresholds", {"COMMA": 0.0})
    assert {entry["label"] for entry in tiny_pipeline(TEXT, marks=["COMMA"])["words"]} == {"COMMA"}
    assert {entry["label"] for entry in tiny_pipeline(TEXT)["words"]} != {"O"}
    assert tiny_pipeline(TEXT, thresholds={}) == plain
    assert tiny_pipeline(TEXT, thresholds={"PERIOD": 1.0}, marks=["COMMA", "PERIOD"])["words"][0]["label"] == "COMMA"


def test_the_temperature_of_the_configuration_divides_the_logits_of_every_score(tiny_model, tiny_pipeline, monkeypatch):
    plain = [list(entry["scores"].values()) for entry in tiny_pipeline(TEXT, all_scores=True)["words"]]
    monkeypatch.setattr(tiny_model.config, "calibration_temperature", 2.0)
    words = tiny_pipeline(TEXT, all_scores=True)["words"]
    for entry, row in zip(words, plain, strict=True):
        roots = [score**0.5 for score in row]
        assert list(entry["scores"].values()) == pytest.approx([root / sum(roots) for root in roots])
        assert entry["score"] == entry["scores"][entry["label"]]
    assert [entry["score"] for entry in tiny_pipeline(TEXT)["words"]] == [entry["score"] for entry in words]


def test_sentences_have_text_and_offsets(tiny_pipeline):
    known = dict.fromkeys(range(6), "O") | {2: "PERIOD"}
    result = tiny_pipeline({"text": "hello you are 我们 today! the", "known": known}, sentences=True, truecase=True)
    texts = [sentence["text"] for sentence in result["sentences"]]
    assert texts == ["Hello you are.", "我们 today!", "The"]
    assert [(s["start"], s["end"]) for s in result["sentences"]] == [(0, 13), (14, 23), (24, 27)]


def test_a_call_and_a_file_are_cut_into_the_same_sentences(tiny_pipeline):
    text = "hello you; are the etc. (saya) “awak” u.s.a. 你好 我们。大家 “is it” he says... the best"
    expected = [one["text"] for one in tiny_pipeline(text, sentences=True)["sentences"]]
    transcript, _ = read_bytes(text.encode(), name="a.txt")
    assert [one.text for one in restore_file(tiny_pipeline, transcript).speeches[0].sentences] == expected
    assert any("you; are" in one for one in expected)
    turned = {"text": text, "turns": [text.index("you")]}
    assert tiny_pipeline(turned, marks=["COMMA"], sentences=True)["sentences"][0]["text"].rstrip(",") == "hello"


@pytest.fixture
def renamed(tiny_model, tiny_tokenizer):
    """The tiny pipeline with a table of labels that have other names."""
    model = copy.deepcopy(tiny_model)
    names = ("NONE", "KOMA", "NOKTAH", "SOAL")
    labels = [{**label, "name": name} for label, name in zip(model.config.labels, names, strict=True)]
    fields = {key: getattr(model.config, key) for key in ("encoder_config", "head_width", "window", "left_context")}
    model.config = PunctuationRestorationConfig(labels=labels, right_context=4, max_window_pieces=128, **fields)
    return pipeline("punctuation-restoration", model=model, tokenizer=tiny_tokenizer, device="cpu")


@pytest.mark.parametrize(
    "options",
    [{}, {"existing": "replace", "truecase": True}, {"marks": "sentence-ends"}, {"thresholds": {"noktah": 0}}],
    ids=str,
)
def test_what_labels_are_called_changes_nothing(tiny_pipeline, renamed, options):
    text = f"{TEXT}, the u.s.a. you are\n\nhello etc. how? are you dr. the end " * 3
    renames = dict(zip(renamed.model.config.label_names, tiny_pipeline.model.config.label_names, strict=True))
    found = renamed(text, sentences=True, **options)
    usual = {key: {"PERIOD": 0} if key == "thresholds" else value for key, value in options.items()}
    expected = tiny_pipeline(text, sentences=True, **usual)
    assert (found["text"], found["sentences"]) == (expected["text"], expected["sentences"])
    assert [renames[word["label"]] for word in found["words"]] == [word["label"] for word in expected["words"]]


def test_an_abbreviation_ends_a_sentence_whatever_a_stop_is_called(tiny_pipeline, renamed):
    text = "hello etc. you are"
    for restore, none, stop in ((tiny_pipeline, "O", "PERIOD"), (renamed, "NONE", "NOKTAH")):
        known = {**dict.fromkeys(range(4), none), 1: stop}
        found = restore({"text": text, "known": known}, sentences=True, truecase=True)
        assert [sentence["text"] for sentence in found["sentences"]] == ["Hello etc.", "You are"]
        known[1] = none
        assert len(restore({"text": text, "known": known}, sentences=True)["sentences"]) == 1
    transcript, _ = read_bytes(text.encode(), name="a.txt")
    (speech,) = restore_file(renamed, transcript, marks=["NOKTAH"], thresholds={"NOKTAH": 0}).speeches
    assert [sentence.text for sentence in speech.sentences] == ["hello.", "etc.", "you.", "are."]


def test_recogniser_chunks_come_back_with_marks_and_their_own_times(tiny_pipeline):
    spoken = enumerate(["hello", "you", "are"])
    chunks = [{"text": f" {word}", "timestamp": (n, n + 1), "speaker": "A"} for n, word in spoken]
    recognised = {"text": " hello you are", "chunks": chunks}
    result = restore_transcript(tiny_pipeline, recognised)
    assert result["text"] == tiny_pipeline(" hello you are")["text"]
    assert [chunk["timestamp"] for chunk in result["chunks"]] == [(0, 1), (1, 2), (2, 3)]
    assert "".join(chunk["text"] for chunk in result["chunks"]) == result["text"]
    assert chunks[0] == {"text": " hello", "timestamp": (0, 1), "speaker": "A"}


WORDS = ["hello", "you", "are", "the", "saya", "awak"]


def test_options_at_construction_hold_for_every_call_that_does_not_take_them_back(tiny_checkpoint, tiny_pipeline):
    options = {"marks": ["COMMA"], "thresholds": {"COMMA": 0.0}}
    wishing = pipeline("punctuation-restoration", model=tiny_checkpoint, device="cpu", **options)
    item = {"words": WORDS}
    assert wishing(item) == tiny_pipeline(item, **options) != tiny_pipeline(item, marks=["COMMA"])
    assert wishing(item, thresholds=None) == tiny_pipeline(item, marks=["COMMA"])
    assert wishing(item, thresholds=None, marks="basic") == tiny_pipeline(item)


TEXTS = ["hello how are you", "saya awak", "我们今天"]


def _series(texts: list[str]) -> Any:
    return pytest.importorskip("pandas").Series(texts, index=range(7, 7 + len(texts)), dtype=object)


def _column(texts: list[str]) -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict({"text": texts})["text"]


@pytest.mark.parametrize(
    "made",
    [
        tuple, _series, _column, np.array, lambda texts: np.array(texts, dtype=object),
        lambda texts: dict(enumerate(texts)).values(), lambda texts: dict.fromkeys(texts).keys(),
    ],
    ids=["tuple", "Series", "column", "array", "objects", "values", "keys"],
)  # fmt: skip
def test_what_has_an_order_gives_a_list(tiny_pipeline: Any, made: Any) -> None:
    results = tiny_pipeline(made(TEXTS))
    assert isinstance(results, list)
    assert results == tiny_pipeline(TEXTS)
    assert tiny_pipeline(made([])) == []


def test_iterators_are_read_on_demand(tiny_pipeline: Any) -> None:
    for made in (lambda: map(str, TEXTS), lambda: iter(TEXTS), lambda: (text for text in TEXTS)):
        results = tiny_pipeline(made())
        assert not isinstance(results, list)
        assert list(results) == tiny_pipeline(TEXTS)
    assert list(tiny_pipeline(iter([]))) == []


def test_tables_are_refused_with_what_to_pass(tiny_pipeline: Any) -> None:
    rows = pytest.importorskip("datasets").Dataset.from_dict({"text": TEXTS, "name": ["a", "b", "c"]})
    for table in (rows, rows.to_iterable_dataset(), rows.to_pandas()):
        with pytest.raises(TypeError, match=r"list\(rows\['text'\]\).*KeyDataset"):
            tiny_pipeline(table)


def test_a_data_set_ends_where_its_length_says(tiny_pipeline: Any) -> None:
    class Computed(torch.utils.data.Dataset[str]):
        def __len__(self) -> int:
            return len(TEXTS)

        def __getitem__(self, index: int) -> str:
            return {0: TEXTS[0], 1: TEXTS[1], 2: TEXTS[2]}[index]

    assert list(tiny_pipeline(Computed())) == tiny_pipeline(TEXTS)


def test_a_model_of_another_kind_is_refused(tiny_tokenizer: Any) -> None:
    other = BertModel(BertConfig(vocab_size=100, hidden_size=8, num_hidden_layers=1, num_attention_heads=1))
    with pytest.raises(ValueError, match="Expected a model of type punctuation-restoration, got one of type bert"):
        PunctuationRestorationPipeline(model=other, tokenizer=tiny_tokenizer)
