"""Paired marks, as in Spanish: read from text, kept whole, learned from English that is rewritten.

There is no Spanish among the data: the Spanish here is written by hand.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelerate.state import AcceleratorState
from hypothesis import given, settings
from hypothesis import strategies as st
from test_properties import texts as any_texts
from transformers import pipeline

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.data.openings import with_openings
from punctuation_restoration.data.prepare import main as run_prepare
from punctuation_restoration.data.prepare import prepare, recipe_for_texts
from punctuation_restoration.data.recipe import build_recipe, load_recipe
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.evaluation.labels import standard_labels
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.pipeline.conventions import PAIRS
from punctuation_restoration.pipeline.decoding import make_choice
from punctuation_restoration.pipeline.edits import edited, marks_of, restoring_edits
from punctuation_restoration.pipeline.marks import find_marks, strip_marks
from punctuation_restoration.pipeline.pairs import LEAST_CHANCE, match_pairs
from punctuation_restoration.pipeline.streamer import PunctuationStreamer
from punctuation_restoration.pipeline.words import WordFinder
from punctuation_restoration.training.label_growth import with_labels

RECIPE = Path(__file__).parents[1] / "recipes" / "spanish.yaml"
FILLS = {"¿": "?", "▁¿": "?", "¡": "!", "▁¡": "!"}  # the tiny tokenizer has no pieces of these
MODEL = load_recipe(RECIPE).model
LABELS = [{**label, "fill": FILLS.get(label["fill"], label["fill"])} for label in MODEL["labels"]]
LABEL_KEYS = {"labels": LABELS, "mark_labels": dict(MODEL["mark_labels"])}
CONFIG = PunctuationRestorationConfig(**LABEL_KEYS)
NAMES = CONFIG.label_names
SHORT = {
    "-": "O", ",": "COMMA", ".": "PERIOD", "¿": "OPEN_QUESTION", "?": "CLOSE_QUESTION", "¿?": "FULL_QUESTION",
    "¡": "OPEN_EXCLAMATION", "!": "CLOSE_EXCLAMATION", "¡!": "FULL_EXCLAMATION",
}  # fmt: skip
IDS = {short: NAMES.index(name) for short, name in SHORT.items()}
find_words = WordFinder(CONFIG.mark_labels)


def read(text):
    """The words of a text and their labels, for short."""
    words, labels = strip_marks(text, find_words(text), CONFIG.mark_labels, NAMES)
    by_name = {name: short for short, name in SHORT.items()}
    return " ".join(words), " ".join(by_name[label] for label in labels)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("hola, ¿cómo estás? bien.", ", ¿ ? ."),
        ("¿Qué? ¡Ay! No sé.", "¿? ¡! - ."),
        ("Buenas tardes, ¿en qué le puedo ayudar?", "- , ¿ - - - ?"),
        ("¡Qué día tan largo! ¿Verdad, Ana?", "¡ - - ! ¿ ?"),  # one label a word: the pair outweighs the comma
        ("¿ Cómo ? ¡Sí !", "¿? ¡!"),
        ("¡¿Qué dices?! ¿¡Qué!?", "¿ ? ¿?"),
        ("—¿Vienes? —dijo él—. «¿Quién?», pregunté.", "¿? - . ¿? ."),
        ("¿“Qué”? (¿y tú?)", "¿? ¿ ?"),
        ("¿Seguro? ¿seguro?¡Seguro!", "¿? ¿? ¡!"),
        ("¿Qué dices!", "¿ !"),
        ("¡Vaya?", "?"),
        ("dime: uno; dos… tres", ", , . -"),
        ("un signo (¿?) solo ¿", "- ? -"),
        ("¿", ""),
    ],
)
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
    assert matched(labels) == labels  # whole pairs stay as they are


@settings(max_examples=50, deadline=None, derandomize=True)
@given(any_texts)
def test_signs_before_words_change_nothing_else_of_what_is_read(text):
    words = find_words(text)
    with_opening = find_marks(text, words, CONFIG.mark_labels, NAMES)
    closing = {mark: label for mark, label in CONFIG.mark_labels.items() if mark[0] not in PAIRS}
    without = find_marks(text, words, closing, NAMES)
    for one, other in zip(with_opening, without, strict=True):
        if one is None or one.label is None or NAMES.index(one.label) not in (IDS["¿"], IDS["¡"], IDS["¿?"], IDS["¡!"]):
            assert one == other


def test_the_configuration_knows_what_the_signs_of_its_labels_mean():
    own = PunctuationRestorationConfig(labels=LABELS)
    assert {sign: own.mark_labels[sign] for sign in ("¿", "?", "？", "¿?", "¡", "!", "¡!")} == {
        "¿": "OPEN_QUESTION", "?": "CLOSE_QUESTION", "？": "CLOSE_QUESTION", "¿?": "FULL_QUESTION",
        "¡": "OPEN_EXCLAMATION", "!": "CLOSE_EXCLAMATION", "¡!": "FULL_EXCLAMATION",
    }  # fmt: skip
    again = PunctuationRestorationConfig(labels=own.labels, mark_labels=own.mark_labels)
    assert again.mark_labels == own.mark_labels
    assert CONFIG.mark_labels[";"] == "COMMA"  # the recipe's own table
    with pytest.raises(ValueError, match="one sign"):
        PunctuationRestorationConfig(labels=LABELS, mark_labels={**own.mark_labels, "¿!": "FULL_QUESTION"})


def test_in_the_marks_of_the_benchmarks_a_pair_is_its_closing_mark():
    means = standard_labels(CONFIG).renamed
    assert {short: means[name] for short, name in SHORT.items()} == {
        "-": "O", ",": "COMMA", ".": "PERIOD", "¿": "O", "?": "QUESTION", "¿?": "QUESTION",
        "¡": "O", "!": "PERIOD", "¡!": "PERIOD",
    }  # fmt: skip


def matched(labels, chances=(), free=None, **options):
    """Labels whose pairs are whole; `chances` are (word, label, score), otherwise 0, or 0.5 for what is decided."""
    ids = np.array([NAMES.index(SHORT.get(label, label)) for label in labels], dtype=int)
    scores = np.zeros((len(ids), len(NAMES)))
    scores[np.arange(len(ids)), ids] = 0.5
    for word, label, score in chances:
        scores[word, IDS[label]] = score
    is_free = np.ones(len(ids), dtype=bool) if free is None else np.array(free, dtype=bool)
    found = match_pairs(ids, scores, CONFIG.labels, is_free, **options).tolist()
    if isinstance(labels, list):
        return [NAMES[label] for label in found]
    return [next(short for short, index in IDS.items() if index == label) for label in found]


@pytest.mark.parametrize(
    ("labels", "chances", "expected"),
    [
        (", ¿ - .", [], ", - - ."),  # hola, ¿cómo estás bien.
        ("¿ - -", [], "- - -"),
        ("¿ - . - ?", [(3, "¿", 0.2)], "- - . ¿ ?"),
        ("- - , ?", [(0, "¿", 0.1), (1, "¿", 0.3), (2, "¿", 0.4), (3, "¿?", 0.2)], "- ¿ , ?"),  # no mark is lost
        ("- - ?", [(0, "¿", 0.1), (2, "¿?", 0.2)], "- - ¿?"),
        ("?", [(0, "¿?", 0.02)], "¿?"),
        ("- - ?", [(0, "¿", LEAST_CHANCE / 2)], "- - ?"),  # as in a language without the sign
        ("¿ - ¿ - ?", [(0, "¿", 0.6)], "¿ - - - ?"),
        ("¿ ¿ - ?", [(0, "¿", 0.4)], "- ¿ - ?"),
        ("¡ - ?", [(0, "¿", 0.0), (1, "¿", 0.9)], "¿ - ?"),  # what closes decides
        ("¿ - ¿?", [], "- - ¿?"),
        ("¿ - !", [], "¡ - !"),
        ("¡ ! ¿ ? ¿? .", [], "¡ ! ¿ ? ¿? ."),
        ("", [], ""),
    ],
)
def test_unmatched_signs_are_repaired(labels, chances, expected):
    assert " ".join(matched(tuple(labels.split()), chances)) == expected


def test_what_is_given_stays_and_counts():
    assert matched(("¿", "-", "?"), free=[0, 1, 1]) == ["¿", "-", "?"]
    assert matched(("¿", "-", "-", "?"), [(1, "¿", 0.9)], free=[0, 1, 1, 0]) == ["¿", "-", "-", "?"]
    assert matched(("¿", "¿", "?"), free=[0, 1, 1]) == ["¿", "-", "?"]
    assert matched(("¿", "-", "."), free=[0, 1, 1]) == ["¿", "-", "."]
    assert matched(("-", "-", "?"), [(1, "¿", 0.3), (0, "¿", 0.9)], free=[0, 1, 0]) == ["-", "¿", "?"]


def test_what_opens_an_unfinished_text_may_be_closed_later():
    assert matched(("¿", "-", ".", "¿", "-"), unfinished=True) == ["-", "-", ".", "¿", "-"]
    assert matched(("¿", "-", ".", "¿", "-")) == ["-", "-", ".", "-", "-"]
    assert matched(("¿", "-", "."), unfinished=True) == ["-", "-", "."]


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
        return rows[input_ids.gather(1, (slot_positions - 1).clamp(min=0))]

    restore._probabilities = probabilities
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


def test_the_sets_of_marks_have_what_opens_with_what_closes():
    allowed = {
        marks: {NAMES[label] for label in set(make_choice(CONFIG, marks).goes_to.tolist())}
        for marks in ("basic", "sentence-ends")
    }
    questions, exclamations = (
        {f"{kind}_{name}" for kind in ("OPEN", "FULL", "CLOSE")} for name in ("QUESTION", "EXCLAMATION")
    )
    assert allowed["basic"] == {"O", "COMMA", "PERIOD"} | questions
    assert allowed["sentence-ends"] == {"O", "PERIOD"} | questions | exclamations


def test_live_words_keep_what_opens_until_it_is_closed(knowing):
    assert knowing("hello saya you", final=False)["text"] == "hello, ¿saya you"
    assert knowing({"text": "hello saya awak", "unfinished": True})["text"] == "hello, ¿saya awak?"
    assert knowing({"text": "hello saya", "unfinished": True})["text"] == "hello, ¿saya"
    streamer = PunctuationStreamer(knowing, look_ahead=1)
    for word in "hello saya you are you awak the saya you".split():
        streamer.feed_words(word)
    streamer.flush()
    assert streamer.committed == "hello, ¿saya you are you awak? the. ¿saya you"  # committed before it was known
    assert (
        "".join(knowing.stream(["hello saya you are awak the ", "saya you"]))
        == "hello, ¿saya you are awak? the. saya you"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("OK, how can I help you?", "OK, ¿how can I help you?"),
        ("He left. Are you sure, Tom? Yes.", "He left. ¿Are you sure, Tom? Yes."),
        ("You know him, don't you?", "You know him, ¿don't you?"),
        ("That's it, right?", "That's it, ¿right?"),
        ("You are coming?", "¿You are coming?"),
        ("If you have time, could you help me?", "If you have time, ¿could you help me?"),
        ("When you get home, will you call?", "When you get home, ¿will you call?"),
        ("When will you call? Where? Why?", "¿When will you call? ¿Where? ¿Why?"),
        ("My brother, who lives there, is he in?", "My brother, who lives there, ¿is he in?"),
        ("OK, which one is it?", "OK, ¿which one is it?"),
        ("And to whom did you talk?", "¿And to whom did you talk?"),
        ('He asked "how are you?" and left.', 'He asked ¿"how are you?" and left.'),
        ("Mr. Smith, what's up?", "Mr. Smith, ¿what's up?"),
        ("Chapter one\nWhat is it?", "Chapter one\n¿What is it?"),
        ("Well, what a day! Stop! Hello, all!", "Well, ¡what a day! ¡Stop! ¡Hello, all!"),
        ("Hola, ¿cómo estás? No.", "Hola, ¿cómo estás? No."),
        ("No marks, none. 3.5?", "No marks, none. ¿3.5?"),
        ("?!", "?!"),
        ("", ""),
    ],
)
def test_english_is_rewritten_to_spanish_conventions(text, expected):
    assert with_openings(text, find_words(text)) == expected


@settings(max_examples=50, deadline=None, derandomize=True)
@given(any_texts)
def test_rewriting_adds_opening_signs_and_nothing_else(text):
    rewritten = with_openings(text, find_words(text))
    bare, left = ("".join(sign for sign in side if sign not in PAIRS) for side in (text, rewritten))
    assert bare == left
    assert [word.spoken for word in find_words(rewritten)] == [word.spoken for word in find_words(text)]
    assert with_openings(rewritten, find_words(rewritten)) == rewritten


ENGLISH = "Hello, are you the best? You say the day is you! Is it? Why? Hello! You are, saya awak, the best. "


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    folder = tmp_path_factory.mktemp("english")
    paragraphs = [f"{ENGLISH * 4}You are {'abcdefghij'[n % 10] * (n // 10 + 1)}." for n in range(40)]
    (folder / "talks.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
    return folder


def recipe(folder, **fields):
    source = {"path": "talks.txt", "language": "en", "validation": 0.15, **fields.pop("source", {})}
    filters = {"min_sentences": 1, "max_marks_per_word": 1.0}
    content = {"name": "r", "root": str(folder), "sources": [source], "filters": filters, "model": LABEL_KEYS}
    return build_recipe({**content, **fields})


@pytest.fixture(scope="module")
def rewritten(english, tiny_checkpoint, tmp_path_factory):
    out = tmp_path_factory.mktemp("rewritten")
    prepare(recipe(english, opening_signs=["en"]), out, tiny_checkpoint, 1)
    return out


def test_rewritten_english_has_all_nine_labels(rewritten, capsys):
    splits = read_index(rewritten)["sources"][0]["splits"].values()
    counts = np.sum([split["n_labels"] for split in splits], axis=0)
    per_text = {",": 3, ".": 1, "¿": 2, "?": 2, "¿?": 1, "¡": 1, "!": 1, "¡!": 1}
    assert {short: counts[IDS[short]] for short in per_text} == {
        short: 160 * n + 40 * (short == ".") for short, n in per_text.items()
    }


def test_a_label_that_no_source_has_is_an_error_with_the_counts(english, tiny_checkpoint, tmp_path, capsys):
    with pytest.raises(
        ValueError, match=r"got none of \['OPEN_EXCLAMATION', .*'FULL_QUESTION'\].*PERIOD 200.*signs mean"
    ):
        prepare(recipe(english), tmp_path / "out", tiny_checkpoint, 1)
    assert not (tmp_path / "out" / "index.json").exists()
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps(LABEL_KEYS))
    call = ["--texts", str(english), "--labels", str(labels), "--tokenizer", tiny_checkpoint, "--processes", "1"]
    assert run_prepare([*call, "--out", str(tmp_path / "out")]) == 1
    assert "prepare: Expected every label in some source" in capsys.readouterr().err


def test_every_other_zero_is_a_warning_with_the_counts(english, tiny_checkpoint, tmp_path, capsys):
    (tmp_path / "plain.txt").write_text("Hello you. You are the best. The day is you.", encoding="utf-8")
    made = recipe_for_texts([str(tmp_path / "plain.txt")], "en", 0.0)
    prepare(made, tmp_path / "one", tiny_checkpoint, 1)
    counts = "Counts: O 7, COMMA 0, PERIOD 3, QUESTION 0."
    assert f"Warning: no COMMA in plain; no QUESTION in plain. {counts}" in capsys.readouterr().err
    prepare(
        recipe_for_texts([str(english), str(tmp_path / "plain.txt")], "en", 0.0), tmp_path / "two", tiny_checkpoint, 1
    )
    assert "Warning: no COMMA in plain; no QUESTION in plain. Counts: O " in capsys.readouterr().err
    prepare(recipe_for_texts([str(english)], "en", 0.0), tmp_path / "three", tiny_checkpoint, 1)
    assert "Warning" not in capsys.readouterr().err
    prepare(recipe(english, source={"labelled": False}), tmp_path / "four", tiny_checkpoint, 1)
    assert "Warning" not in capsys.readouterr().err


def test_labels_that_a_model_has_learned_already_may_be_missing(knowing, english, tiny_tokenizer, tmp_path, capsys):
    for part in (knowing.model, tiny_tokenizer):
        part.save_pretrained(tmp_path / "nine")
    prepare(recipe_for_texts([str(english)], "en", 0.0), tmp_path / "out", str(tmp_path / "nine"), 1)
    assert "Warning: no OPEN_EXCLAMATION in english" in capsys.readouterr().err


def test_a_mark_that_only_gets_another_name_starts_where_it_was(tiny_model, knowing):
    old, new = tiny_model.classifier.out_proj, knowing.model.classifier.out_proj
    assert torch.equal(new.bias[IDS["?"]], old.bias[3])
    assert torch.equal(new.weight[[IDS["?"], IDS["¿?"], IDS["!"], IDS["¿"]]], old.weight[[3, 3, 2, 0]])
    assert new.bias[IDS["¿?"]] < old.bias[3]


def test_the_recipe_rewrites_english_and_the_stand_in_is_other_english():
    old, new = load_recipe(RECIPE), load_recipe(RECIPE.parent / "spanish-stand-in.yaml")
    assert {source.language for source in old.sources} == {"en"} == set(old.opening_signs) == set(new.opening_signs)
    assert len(NAMES) == 9
    assert old.model["labels"] == new.model["labels"]
    assert not {source.path for source in old.sources} & {source.path for source in new.sources}


def test_the_three_orders_run_end_to_end(rewritten, tiny_encoder, tmp_path, monkeypatch):
    from benchmarks.paired import main

    def run_here(command, check):
        AcceleratorState._reset_state(reset_partial_state=True)
        assert run_training([*command[3:], "--precision", "fp32", "--cpu"]) == 0

    monkeypatch.setattr("benchmarks.arms.subprocess", SimpleNamespace(run=run_here))
    monkeypatch.setattr("benchmarks.slots.SAMPLED_STEPS", 2)
    (tmp_path / "recipe.yaml").write_text(json.dumps({"name": "r", "sources": [], "model": LABEL_KEYS}))
    call = (
        f"--encoder {tiny_encoder} --layers 2 --old {rewritten} --new {rewritten} --recipe {tmp_path / 'recipe.yaml'}"
    )
    call += f" --words 100 --seeds 1 --validation-words 200 --work {tmp_path / 'work'} --out {tmp_path / 'found.json'}"
    assert main(call.split()) == 0
    rows = json.loads((tmp_path / "found.json").read_text())["runs"]
    assert [row["order"] for row in rows] == ["old", "old, then new", "new", "joint"]
    assert rows[2]["steps"] == rows[3]["steps"] == rows[0]["steps"] + rows[1]["steps"]
    assert all({"f1", *NAMES[1:]} <= set(row["marks"]) for row in rows)
    monkeypatch.setattr("benchmarks.arms.subprocess", None)  # nothing is done twice
    assert main(call.split()) == 0
    restore = pipeline("punctuation-restoration", model=str(tmp_path / "work" / "joint-1" / "final"), device="cpu")
    labels = [word["label"] for word in restore("hello are you the best you say the day is you", marks="all")["words"]]
    assert set(labels) <= set(NAMES)
