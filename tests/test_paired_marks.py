"""Paired marks, as in Spanish: read from text, kept whole, written.

There is no Spanish among the data: the Spanish here is written by hand.
"""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from spanish import CONFIG, IDS, LABEL_KEYS, LABELS, NAMES, SHORT, find_words
from transformers import pipeline

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.pipeline.conventions import PAIRS
from punctuation_restoration.pipeline.decisions import LEAST_CHANCE, match_pairs
from punctuation_restoration.pipeline.edits import edited, marks_of, restoring_edits
from punctuation_restoration.pipeline.marks import strip_marks
from punctuation_restoration.pipeline.streamer import PunctuationStreamer
from punctuation_restoration.training.building import with_labels


def read(text):
    """The words of a text and their labels, for short."""
    words, labels = strip_marks(text, find_words(text), CONFIG.mark_labels, NAMES)
    by_name = {name: short for short, name in SHORT.items()}
    return " ".join(words), " ".join(by_name[label] for label in labels)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("hola, ¿cómo estás? bien.", ", ¿ ? ."), ("¿Qué? ¡Ay! No sé.", "¿? ¡! - ."),
        ("Buenas tardes, ¿en qué le puedo ayudar?", "- , ¿ - - - ?"),
        ("¡Qué día tan largo! ¿Verdad, Ana?", "¡ - - ! ¿ ?"),  # one label a word: the pair outweighs the comma
        ("¿ Cómo ? ¡Sí !", "¿? ¡!"), ("¡¿Qué dices?! ¿¡Qué!?", "¿ ? ¿?"),
        ("—¿Vienes? —dijo él—. «¿Quién?», pregunté.", "¿? - . ¿? ."), ("¿“Qué”? (¿y tú?)", "¿? ¿ ?"),
        ("¿Seguro? ¿seguro?¡Seguro!", "¿? ¿? ¡!"), ("¿Qué dices!", "¿ !"), ("¡Vaya?", "?"),
        ("dime: uno; dos… tres", ", , . -"), ("un signo (¿?) solo ¿", "- ? -"), ("¿", ""),
    ],
)  # fmt: skip
def test_labels_are_read_from_signs_before_and_after_a_word(text, labels):
    assert read(text)[1] == labels


SPANISH = [
    "Buenas tardes, ¿en qué le puedo ayudar? Mire, es que no me funciona el internet.",
    "¿Desde cuándo? Desde ayer. ¡Vaya! ¿Ha probado a reiniciar el módem?",
    "Sí, claro, dos veces. ¡Qué paciencia la suya! Un momento, por favor, ¿vale?",
    "No te preocupes, Juan, ¡todo está bien! ¿Seguro? ¡Seguro!",
    "Me dijo que vendría, pero, ¿quién sabe? ¿Y tú?",
]


@pytest.mark.parametrize("text", SPANISH)
def test_what_is_read_is_written_again(text):
    bare = "".join(sign for sign in text if sign not in CONFIG.mark_labels)
    words = find_words(bare)
    spoken, labels = strip_marks(text, find_words(text), CONFIG.mark_labels, NAMES)
    assert spoken == [word.spoken for word in words]
    rows = [CONFIG.labels[NAMES.index(label)] for label in labels]
    decided = [{"label": label, "score": 1.0, "source": "model"} for label in labels]
    assert edited(bare, restoring_edits(bare, words, marks_of(words, rows), decided)) == text
    shown = read(text)[1]
    assert matched(shown) == shown  # whole pairs stay as they are


def test_the_configuration_knows_what_the_signs_of_its_labels_mean():
    own = PunctuationRestorationConfig(labels=LABELS)
    assert {sign: own.mark_labels[sign] for sign in ("¿", "?", "？", "¿?", "¡", "!", "¡!")} == {
        "¿": "OPEN_QUESTION", "?": "CLOSE_QUESTION", "？": "CLOSE_QUESTION", "¿?": "FULL_QUESTION",
        "¡": "OPEN_EXCLAMATION", "!": "CLOSE_EXCLAMATION", "¡!": "FULL_EXCLAMATION",
    }  # fmt: skip
    again = PunctuationRestorationConfig(labels=own.labels, mark_labels=own.mark_labels)
    assert again.mark_labels == own.mark_labels
    assert CONFIG.mark_labels[";"] == "COMMA"  # the recipe's own table
    with pytest.raises(ValueError, match="single signs"):
        PunctuationRestorationConfig(labels=LABELS, mark_labels={**own.mark_labels, "¿!": "FULL_QUESTION"})


def matched(labels, chances=(), free=None):
    """Labels whose pairs are whole; `chances` are (word, label, score), otherwise 0, or 0.5 for what is decided."""
    ids = np.array([IDS[label] for label in labels.split()], dtype=int)
    scores = np.zeros((len(ids), len(NAMES)))
    scores[np.arange(len(ids)), ids] = 0.5
    for word, label, score in chances:
        scores[word, IDS[label]] = score
    is_free = np.ones(len(ids), dtype=bool) if free is None else np.array(free, dtype=bool)
    shorts = {index: short for short, index in IDS.items()}
    return " ".join(shorts[label] for label in match_pairs(ids, scores, CONFIG.labels, is_free).tolist())


@pytest.mark.parametrize(
    ("labels", "chances", "expected"),
    [
        (", ¿ - .", [], ", - - ."),  # hola, ¿cómo estás bien.
        ("¿ - -", [], "- - -"), ("¿ - . - ?", [(3, "¿", 0.2)], "- - . ¿ ?"),
        ("- - , ?", [(0, "¿", 0.1), (1, "¿", 0.3), (2, "¿", 0.4), (3, "¿?", 0.2)], "- ¿ , ?"),  # no mark is lost
        ("- - ?", [(0, "¿", 0.1), (2, "¿?", 0.2)], "- - ¿?"), ("?", [(0, "¿?", 0.02)], "¿?"),
        ("- - ?", [(0, "¿", LEAST_CHANCE / 2)], "- - ?"),  # as in a language without the sign
        ("¿ - ¿ - ?", [(0, "¿", 0.6)], "¿ - - - ?"), ("¿ ¿ - ?", [(0, "¿", 0.4)], "- ¿ - ?"),
        ("¡ - ?", [(0, "¿", 0.0), (1, "¿", 0.9)], "¿ - ?"),  # what closes decides
        ("¿ - ¿?", [], "- - ¿?"), ("¿ - !", [], "¡ - !"), ("¡ ! ¿ ? ¿? .", [], "¡ ! ¿ ? ¿? ."), ("", [], ""),
    ],
)  # fmt: skip
def test_unmatched_signs_are_repaired(labels, chances, expected):
    assert matched(labels, chances) == expected


def test_what_is_given_stays_and_counts():
    assert matched("¿ - ?", free=[0, 1, 1]) == "¿ - ?"
    assert matched("¿ - - ?", [(1, "¿", 0.9)], free=[0, 1, 1, 0]) == "¿ - - ?"
    assert matched("¿ ¿ ?", free=[0, 1, 1]) == "¿ - ?"
    assert matched("¿ - .", free=[0, 1, 1]) == "¿ - ."
    assert matched("- - ?", [(1, "¿", 0.3), (0, "¿", 0.9)], free=[0, 1, 0]) == "- ¿ ?"


def test_labels_without_pairs_are_left_alone():
    labels, table = np.array([0, 1, 2, 3]), PunctuationRestorationConfig().labels
    assert match_pairs(labels, np.zeros((4, 4)), table, np.ones(4, dtype=bool)) is labels
    only = [label for label in LABELS if label["name"] in ("O", "OPEN_QUESTION", "CLOSE_QUESTION")]  # none for one word
    assert match_pairs(np.array([2]), np.full((1, 3), 0.3), only, np.array([True])).tolist() == [2]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), max_size=12), st.integers(0, 99))
def test_every_repaired_sentence_is_well_formed(words, seed):
    labels = np.array([NAMES.index(name) for name, _ in words], dtype=int)
    is_free = np.array([free for _, free in words], dtype=bool)
    scores = np.random.default_rng(seed).dirichlet(np.ones(9), len(labels)) * 0.9 + 0.1
    found = match_pairs(labels, scores, CONFIG.labels, is_free)
    assert (found[~is_free] == labels[~is_free]).all()
    closing = {CONFIG.labels[label]["after"] for label in labels}
    assert {CONFIG.labels[label]["after"] for label in found} == closing  # nothing that closes is lost or added
    assert (match_pairs(found, scores, CONFIG.labels, is_free) == found).all()
    if is_free.all():
        assert_whole([CONFIG.labels[label] for label in found])


def assert_whole(rows):
    """What opens is closed before anything else ends the sentence, and what closes was opened."""
    opened = ""
    for row in rows:
        if row["before"]:
            assert not opened
            opened = row["before"]
        if row["after"] in (".", "?", "!"):
            assert PAIRS.get(opened, ".") == row["after"]
            opened = ""
    assert not opened


@pytest.fixture(scope="module")
def knowing(tiny_model, tiny_tokenizer):
    """A pipeline with nine labels that knows five words, and holds all labels of others for alike likely but none."""
    model = with_labels(tiny_model, LABELS, LABEL_KEYS["mark_labels"]).eval()
    restore = pipeline("punctuation-restoration", model=model, tokenizer=tiny_tokenizer, device="cpu")
    known = {"hello": ",", "saya": "¿", "awak": "?", "the": ".", "is": "!"}
    rows = torch.full((len(tiny_tokenizer), 9), 0.05)
    rows[:, 0] = 0.6
    for word, label in known.items():
        rows[tiny_tokenizer.convert_tokens_to_ids(f"▁{word}"), [0, IDS[label]]] = torch.tensor([0.05, 0.6])

    def probabilities(input_ids, attention_mask, slot_positions):
        return rows[input_ids.gather(1, slot_positions)]

    restore.compute = probabilities
    return restore


@pytest.mark.parametrize(
    ("marks", "text", "restored"),
    [
        ("all", "hello saya you awak", "hello, ¿saya you awak?"),
        ("all", "hello saya you the", "hello, saya you the."),
        ("all", "hello you is", "hello, ¡you is!"),
        ("sentence-ends", "hello saya you awak the", "hello ¿saya you awak? the."),
        ("sentence-ends", "hello saya you the", "hello saya you the."),
        ("sentence-ends", "you is", "¡you is!"),
        ("basic", "hello saya you awak you is", "hello, ¿saya you awak? you is."),
        ("basic", "awak saya", "¿awak? saya"),
        (["CLOSE_QUESTION"], "hello saya you awak", "hello saya you awak?"),
        (["OPEN_QUESTION"], "hello saya you awak", "hello saya you awak"),
    ],
)
def test_text_gets_whole_pairs_whichever_marks_are_asked_for(knowing, marks, text, restored):
    result = knowing(text, marks=marks)
    assert result["text"] == restored
    assert knowing(result["text"], marks=marks)["text"] == restored


def test_marks_that_are_there_take_part(knowing):
    assert knowing("you are?")["text"] == "¿you are?"
    assert knowing("¿you awak")["text"] == "¿you awak?"
    assert knowing("¿saya you the")["text"] == "¿saya you the."  # the user's own
    assert knowing("¿saya you the", existing="replace")["text"] == "saya you the."
    assert knowing({"text": "you are you", "known": {2: "CLOSE_QUESTION"}})["text"] == "¿you are you?"
    word = knowing("you awak")["words"][0]
    assert (word["label"], word["mark"], round(word["score"], 6)) == ("OPEN_QUESTION", "", 0.05)


def test_live_words_keep_what_opens_until_it_is_closed(knowing):
    assert knowing("hello saya you", final=False)["text"] == "hello, ¿saya you"
    assert knowing({"text": "hello saya awak you", "final": False})["text"] == "hello, ¿saya awak? you"
    assert knowing({"text": "hello saya you", "final": False})["text"] == "hello, ¿saya you"
    streamer = PunctuationStreamer(knowing, look_ahead=1)
    for word in "hello saya you are you awak the saya you".split():
        streamer.feed_words(word)
    streamer.flush()
    assert streamer.committed == "hello, ¿saya you are you awak? the. ¿saya you"  # committed before it was known
    streamed = "".join(knowing.stream(["hello saya you are awak the ", "saya you"]))
    assert streamed == "hello, ¿saya you are awak? the. saya you"
