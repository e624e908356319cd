"""What holds for every text: nothing is lost, nothing is torn, nothing is marked twice.

The model has random weights, so that labels are as good as random ones. Texts are of two kinds: any characters of any
plane, and mixtures of what goes wrong: marks, quotes, scripts, pictures, blanks, look-alikes of special pieces.
"""

import json
import random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS, DEFAULT_MARK_LABELS
from punctuation_restoration.pipeline.conventions import known_marks
from punctuation_restoration.pipeline.edits import edited, marks_of, restoring_edits
from punctuation_restoration.pipeline.marks import find_marks
from punctuation_restoration.pipeline.restoration_pipeline import EXISTING
from punctuation_restoration.pipeline.segmentation import HAS_LETTER_OR_DIGIT
from punctuation_restoration.pipeline.words import WordFinder
from tools import fuzz

MARKS = set(known_marks(DEFAULT_MARK_LABELS))
NAMES = [label["name"] for label in DEFAULT_LABELS]
find_words = WordFinder(DEFAULT_MARK_LABELS)

FRAGMENTS = [
    *("hello", "you are ", "the saya awak ", "it’s", "don't", "I", "i", "J. ", "A", "Smith", "file(s)", "ß", "ǆ", "İ"),
    *("etc", "Dr.", "e.g.", "U.S", "no", "Ph.D", "3.5", "1,000", "12:30", "5", "1990–95", "x=", "a@b.c", "C:\\d"),
    *("http://a.com", "https://", "www.b.org", "file.txt", "#tag", "<mask>", "</s>", "<s>", "[MASK]", "▁", "▁a", "é"),
    *("你好", "我们今天", "大 家", "北京", "〇", "々", "𠀀", "ㄅ", "說", "冇", "私は", "気です", "API", "アー", "தமிழ்"),
    *("هذا", "שלום", "घर", "ক", "ក", "ሰላም", "նա", "한국", "\u2067", "\u2069", "\u200f", "\u200b", "\u200c", "\u200d"),
    *("'", '"', "“", "”", "‘", "’", "(", ")", "（", "）", "「", "」", "„", "«", "»", "`", "´", "¿", "¡", "*", "_", "/"),
    *(".", ",", "?", "!", ":", ";", "...", "…", "，", "。", "、", "？", "！", "：", "．", "·", "—", "–", "-", "--"),
    *(" ", " ", " ", " ", "  ", "\n", "\t", "\r\n", "\u3000", "\u00a0", "\u2028", "\x00", "\x85", "\ufffd", "\ue000"),
    *("1️⃣", "#️⃣", "👍", "👍🏽", "👩‍💻", "🇲🇾", "❤️", "☺", "™", "\ufe0f", "\u20e3", "\u0301", "\u0e31", "।", "،"),
    *(" - ", ":)", " :D", " <3 ", ";-(", "\ufeff", "\\"),
]  # fmt: skip
fragments = st.sampled_from(FRAGMENTS)
texts = st.one_of(
    st.text(max_size=30),
    st.lists(fragments, max_size=14).map("".join),
    st.lists(st.one_of(fragments, st.characters()), max_size=10).map("".join),
)
any_text = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
cheap = settings(any_text, max_examples=200)
through_the_model = settings(any_text, max_examples=25)


def assert_only_marks_were_inserted(text, restored):
    place = 0
    for sign in restored:
        if place < len(text) and sign == text[place]:
            place += 1
        else:
            assert sign in MARKS, f"{sign!r} was inserted"
    assert place == len(text), f"{text[place:]!r} was lost"


@cheap
@given(texts)
def test_words_lie_in_order_and_no_mark_place_lies_inside_one(text):
    end = 0
    for word in find_words(text):
        assert end <= word.mark_from <= word.start < word.end <= word.mark_at <= len(text)
        assert text[word.start : word.end] == word.text
        assert HAS_LETTER_OR_DIGIT.search(word.text)
        assert word.spoken
        assert not any(sign.isspace() for sign in word.spoken)
        end = word.mark_at


@cheap
@given(texts, st.randoms(use_true_random=False))
def test_words_and_marks_are_found_again_in_what_was_written(text, random):
    words = find_words(text)
    found = find_marks(text, words, DEFAULT_MARK_LABELS, NAMES)
    rows = [DEFAULT_LABELS[0 if mark else random.randrange(4)] for mark in found]
    marks = marks_of(words, rows)
    decided = [{"label": row["name"], "score": 1.0, "source": "model"} for row in rows]
    restored = edited(text, restoring_edits(text, words, marks, decided))
    assert_only_marks_were_inserted(text, restored)
    again = find_words(restored)
    assert [(word.spoken, word.script) for word in again] == [(word.spoken, word.script) for word in words]
    for old, new, row, (_, written), word in zip(
        found, find_marks(restored, again, DEFAULT_MARK_LABELS, NAMES), rows, marks, again, strict=True
    ):
        expected = old.label if old else row["name"] if written else None
        # A point that the word has made its own is no mark any more, and still stands once only.
        assert (new.label if new else None) == expected or (new is None and word.text.endswith(written))


def applied(text, edits):
    """Edits written into a text, in the plainest way."""
    for edit in reversed(edits):
        assert text.startswith(edit["removed"], edit["start"])
        text = text[: edit["start"]] + edit["inserted"] + text[edit["start"] + len(edit["removed"]) :]
    return text


@through_the_model
@given(texts, st.sampled_from(EXISTING), st.booleans(), st.randoms(use_true_random=False))
def test_the_edits_applied_to_the_input_give_the_text(tiny_pipeline, text, existing, truecase, random):
    known = {n: random.choice(NAMES) for n in range(len(find_words(text))) if random.random() < 0.3}
    given = {"text": text, "known": known}
    result = tiny_pipeline(given, existing=existing, truecase=truecase)
    edits = result["edits"]
    assert json.loads(json.dumps(edits)) == edits == sorted(edits, key=lambda edit: edit["start"])
    assert applied(text, edits) == result["text"]
    assert all(edit["inserted"] != edit["removed"] for edit in edits)
    decided = {(word["label"], word["score"], word["source"]) for word in result["words"]}
    for edit in edits:
        why = (edit["label"], edit["score"], edit["source"])
        assert why in decided if edit["label"] else why in ((None, None, "removal"), (None, None, "truecase"))
    spared = tiny_pipeline(given, existing=existing, truecase=truecase, return_words=False)
    assert spared == {"text": result["text"], "edits": edits}


@through_the_model
@given(st.lists(texts, max_size=4), st.sampled_from(["keep", "replace"]), st.booleans())
def test_the_edits_of_a_stream_applied_to_the_whole_text_give_what_it_gives(tiny_pipeline, some, existing, truecase):
    results = list(tiny_pipeline.stream_results(some, existing=existing, truecase=truecase))
    edits = [edit for result in results for edit in result["edits"]]
    assert applied("".join(some), edits) == "".join(result["text"] for result in results)


@through_the_model
@given(texts)
@example("a\ud800b \udfff 你\ud83d好")  # halves of characters
def test_kept_text_gets_marks_where_none_stands_and_loses_nothing(tiny_pipeline, text):
    words = find_words(text)
    restored = tiny_pipeline(text)["text"]
    assert tiny_pipeline(restored)["text"] == restored
    found = find_marks(text, words, DEFAULT_MARK_LABELS, NAMES)
    result = tiny_pipeline(text)
    assert_only_marks_were_inserted(text, result["text"])
    assert [text[entry["start"] : entry["end"]] for entry in result["words"]] == [word.text for word in words]
    assert [entry["source"] for entry in result["words"]] == ["input" if mark else "model" for mark in found]
    n_new = sum(bool(entry["mark"]) and entry["source"] == "model" for entry in result["words"])
    assert len(result["text"]) == len(text) + n_new


@through_the_model
@given(texts)
def test_replaced_text_agrees_with_the_input_but_for_known_marks(tiny_pipeline, text):
    restored = tiny_pipeline(text, existing="replace")["text"]
    bare, restored_bare = ("".join(sign for sign in side if sign not in MARKS) for side in (text, restored))
    assert restored_bare == bare
    spoken = [word.spoken for word in find_words(text)]
    assert "".join(word.spoken for word in find_words(restored)) == "".join(spoken)


@through_the_model
@given(st.lists(texts, max_size=5), st.integers(1, 4))
def test_batches_lists_and_generators_give_what_single_texts_give(tiny_pipeline, some, batch_size):
    single = [tiny_pipeline(text)["text"] for text in some]
    assert [result["text"] for result in tiny_pipeline(some, batch_size=batch_size)] == single
    assert [result["text"] for result in tiny_pipeline(text for text in some)] == single


@through_the_model
@given(st.lists(fragments.filter(lambda text: len(find_words(text)) == 1), min_size=1, max_size=12))
def test_windows_of_any_size_agree_where_the_whole_text_fits(tiny_pipeline, some):
    text, config = " ".join(some), tiny_pipeline.model.config
    whole = tiny_pipeline(text)
    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("window", max(len(find_words(text)), 1)), ("left_context", 0), ("right_context", 0)):
            patch.setattr(config, name, size)
        assert tiny_pipeline(text) == whole


@through_the_model
@given(texts)
def test_truecasing_changes_the_case_of_letters_only(tiny_pipeline, text):
    plain, cased = tiny_pipeline(text), tiny_pipeline(text, truecase=True)
    assert len(cased["text"]) == len(plain["text"])
    assert all(new in (old, old.upper(), old.lower()) for old, new in zip(plain["text"], cased["text"], strict=True))
    assert cased["words"] == plain["words"]


@through_the_model
@given(texts)
def test_sentences_cover_all_words_in_order(tiny_pipeline, text):
    result = tiny_pipeline(text, sentences=True)
    ends = [(sentence["start"], sentence["end"]) for sentence in result["sentences"]]
    assert ends == sorted(ends)
    for word in result["words"]:
        assert sum(start <= word["start"] and word["end"] <= end for start, end in ends) == 1
    place = 0
    for sentence in result["sentences"]:
        place = result["text"].index(sentence["text"], place) + len(sentence["text"])


@through_the_model
@given(texts, st.sampled_from(NAMES))
def test_given_labels_are_written(tiny_pipeline, text, name):
    n_words = len(find_words(text))
    words = tiny_pipeline({"text": text, "known": dict.fromkeys(range(n_words), name)}, existing="replace")["words"]
    assert len(words) == n_words
    for word, end in zip(words, [*(word["start"] for word in words[1:]), len(text)], strict=False):
        if word["source"] == "input":  # a mark that has to stay, as in `yes,no`
            assert not find_words.marks.isdisjoint(text[word["end"] : end]) or "-" in text[word["end"] : end]
        else:
            assert (word["label"], word["source"]) == (name, "known")


def words_of_json(text: str) -> str:
    """A recogniser's list of words."""
    return json.dumps(
        {"words": [{"word": word, "start": n, "end": n + 1} for n, word in enumerate(text.split())]}, ensure_ascii=False
    )


@pytest.mark.parametrize(
    ("source", "file_format"),
    [
        (words_of_json("hello you >> 」 mary is"), "json"),  # the mark does not go past the turn
        (words_of_json("大家 你 >> ” 你"), "json"),
        (words_of_json("saya - ) awak"), "json"),
        ("A[MARY]: 你 大家\nsee you", "txt"),  # nor does it make a name of what was none
        ("I[SPEAKER_00]:  【主持人】 1 你", "txt"),
        ("I(ON PHONE): hello you\nsee you", "txt"),
        (words_of_json("so 」 [door] ，*** you"), "json"),  # a mark does not part what is written without blanks
        ("we met Mr.-王 saya\nDr.-说话 you", "txt"),
        ("Ms.\nyou are\n\nMs.\nno\n\nLee\nMs. I\n\nMs.\nso", "txt"),  # nor changes who is named alone on a line
        ("Ms.\nyou are\n\nMs.\nno\n\n你好我们\nhello\n\nLee\nMs. I\n\nLee\nso", "txt"),
    ],
)
def test_nothing_changes_when_made_up_files_are_restored_again(source: str, file_format: str) -> None:
    restore = fuzz.StandIn()
    assert fuzz.problem_of(source, file_format, restore) is None
    draw = random.Random(source)
    for _ in range(40):
        assert fuzz.problem_of(*fuzz.made_source(draw), restore) is None
