"""What texts say of capitals, and what is kept of it."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capitals import prepared_talks

from punctuation_restoration.data.casings import LONG, UNKNOWN, casing_targets, sentence_begins, written_casings
from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.preparation import mixed_case_words
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import WordStream, make_words, open_shard, read_index
from punctuation_restoration.modeling.heads import NOT_SCORED
from punctuation_restoration.pipeline.casing import AS_IS, CAPITAL, MIXED, UPPER
from punctuation_restoration.pipeline.slots import SlotEncoder


def said(text: str, has_casing: bool | None = None) -> list[int]:
    """The targets of the words of a text in which only periods end sentences, written behind a blank."""
    tokens = text.split()
    words = [token for token in tokens if token != "."]
    is_stop = np.array([after == "." for before, after in pairwise([*tokens, ""]) if before != "."])
    begins = sentence_begins(is_stop)
    return casing_targets(words, begins, written_casings(words, begins, has_casing)).tolist()


def test_a_sentence_start_says_nothing_unless_it_is_certain() -> None:
    assert said("He met Mary . Mary came . NASA called her . iPhone . Her dog ran") == [
        UNKNOWN, AS_IS, CAPITAL, CAPITAL, AS_IS, UPPER, AS_IS, AS_IS, MIXED, AS_IS, AS_IS, AS_IS,
    ]  # fmt: skip
    assert said("We met May . May we go , as we may")[3] == UNKNOWN  # written in both ways
    assert said("She asked why . he left . Then we 我们 go . We 3 go")[3] == AS_IS


@pytest.mark.parametrize(
    "text",
    [
        "he met mary . mary came . nasa called . her dog ran",  # nobody cared
        "HE MET MARY . MARY CAME . NASA CALLED",
        "He Met Mary And Went . Mary Came To Town",
        "We go . " * 2 + "So " + "we go on " * LONG + ". Mary came",  # long, and no capital inside a sentence
        "",
        "我们 . 3",
    ],
)
def test_texts_whose_letters_say_nothing(text: str) -> None:
    assert set(said(text)) <= {UNKNOWN}


def test_headlines_in_a_text_say_nothing_and_a_recipe_knows_better() -> None:
    text = "We met and went . Mary Met John In Paris . WE GO . They came to us and to them and left"
    assert said(text)[:12] == [UNKNOWN, *[AS_IS] * 3, *[UNKNOWN] * 8]
    assert said("he met mary . mary came", has_casing=True) == [AS_IS] * 5
    assert said("He met Mary . Mary came", has_casing=False) == [UNKNOWN] * 5


def first_shard(index: Any) -> Path:
    return Path(index["sources"][0]["splits"]["train"]["shards"][0]["file"])


EXPECTED = [  # of the words of TALK
    UNKNOWN, AS_IS, AS_IS, CAPITAL, CAPITAL, AS_IS, AS_IS, AS_IS, AS_IS, UPPER, AS_IS, AS_IS, AS_IS, AS_IS,
    AS_IS, MIXED, AS_IS, AS_IS, AS_IS, AS_IS, MIXED, UNKNOWN, CAPITAL,
]  # fmt: skip


def test_shards_have_the_casing_of_each_word_and_the_index_the_mixed_ones(cased_data: Path) -> None:
    index = read_index(cased_data)
    arrays = open_shard(first_shard(index))
    n_words = len(EXPECTED) + 4
    assert arrays["casings"][:n_words].tolist() == [*EXPECTED, AS_IS, AS_IS, AS_IS, UNKNOWN]
    n_documents = index["sources"][0]["splits"]["train"]["n_documents"]
    assert index["mixed_case"] == {"McDonald": n_documents, "iPhone": n_documents}
    assert index["sources"][0]["splits"]["train"]["n_cased"] == n_documents * (n_words - 3)
    assert read_index(cased_data, cased_data)["mixed_case"]["iPhone"] == 2 * n_documents


def test_a_word_is_mixed_where_most_documents_write_it_so() -> None:
    found = Counter({"Dr": 9, "dR": 2, "PH": 5, "pH": 5, "iPhone": 3, "Iphone": 1, "McDonald": 4, "once": 1, "eBay": 1})
    assert list(mixed_case_words(found).items()) == [("McDonald", 4), ("iPhone", 3)]
    assert "pH" in mixed_case_words(found + Counter(["pH"]))


def test_a_recipe_may_say_that_letters_mean_nothing(tiny_checkpoint: str, tmp_path: Path) -> None:
    index = prepared_talks(tmp_path, tiny_checkpoint, casing=False)
    assert "casings" not in open_shard(first_shard(index))
    assert index["mixed_case"] == {}
    stream = WordStream(first_shard(index))
    assert set(stream.words(0, 9).casings.tolist()) == {UNKNOWN}


def test_batches_have_casings_where_they_are_learned(tiny_tokenizer: Any, tiny_config: Any) -> None:
    casings = np.array([AS_IS, UPPER, UNKNOWN], dtype=np.uint8)
    windows = [
        CutWindow(make_words(np.arange(5, 8), np.ones(3, np.uint8), np.array([1, 2, 1]), own), (seed,))
        for seed, own in ((1, casings), (2, casings[:3]), (3, None))
    ]
    slots = SlotEncoder(tiny_tokenizer, tiny_config)
    batch = WindowCollator(slots, filled_windows=1.0, max_filled=1.0, casings=True)(windows)
    assert batch["casings"].tolist() == [[AS_IS, UPPER, NOT_SCORED]] * 2 + [[NOT_SCORED] * 3]
    assert (batch["labels"] == NOT_SCORED).any()  # slots that show their mark have casings all the same
    assert "casings" not in WindowCollator(slots)(windows)
