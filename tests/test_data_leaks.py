"""The leak check finds a copied passage, however it is written, and nothing else."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from punctuation_restoration.data.leaks import LETTERS, STEP, LeakCheck, letters_of

WORDS = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(300)]
PASSAGE = " ".join(WORDS)


@pytest.fixture
def check(tmp_path: Path) -> LeakCheck:
    with pytest.raises(ValueError, match="found none"):  # it would be none that is checked
        LeakCheck([tmp_path])
    (tmp_path / "test.tsv").write_text("".join(f"{word}\tO\n" for word in WORDS), encoding="utf-8")
    return LeakCheck([tmp_path])


def test_a_copy_is_found_whatever_its_marks_blanks_and_case(check: LeakCheck) -> None:
    assert check.found_in(PASSAGE.upper().replace(" ", ",  ")) == "in a benchmark"


def test_a_copy_in_traditional_characters_is_found(tmp_path: Path) -> None:
    simplified, traditional = "他们说这个问题应该让学生自己来讨论", "他們說這個問題應該讓學生自己來討論"
    rows = [json.dumps({"text": "".join(f"{simplified}{n:03}" for n in range(first, first + 5))}) for first in (0, 5)]
    (tmp_path / "zh.jsonl").write_text("\n".join(rows), encoding="utf-8")
    check = LeakCheck([tmp_path])
    assert check.found_in("，".join(f"{traditional}{n:03}" for n in range(10))) == "in a benchmark"


def test_a_copy_with_its_translation_between_the_lines_is_found(check: LeakCheck, tmp_path: Path) -> None:
    lines = [f"他们说第{n:03}个问题应该让学生自己来讨论而不是由老师来回答" for n in range(20)]
    both = [*lines, *(" ".join(WORDS[n : n + 15]) for n in range(0, 300, 15))]
    assert check.found_in("\n".join(both)) == "in a benchmark"
    (tmp_path / "zh.jsonl").write_text(json.dumps({"text": "".join(lines)}), encoding="utf-8")
    both = [f"{line}\nthey say that question {n} should be left to the students" for n, line in enumerate(lines)]
    assert LeakCheck([tmp_path / "zh.jsonl"]).found_in("\n".join(both)) == "in a benchmark"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(PASSAGE)))
def test_a_long_passage_is_always_found_and_a_short_one_never(check: LeakCheck, first: int) -> None:
    letters = letters_of(PASSAGE)
    first = min(first, len(letters) - (LETTERS + STEP))
    around = "éé", "éé"  # which could not be part of the passage
    found = check.found_in(letters[first : first + LETTERS + STEP - 1].join(around))
    assert found == "in a benchmark"
    assert check.found_in(letters[first : first + LETTERS - 1].join(around)) is None


def test_a_share_of_a_text_may_be_a_benchmarks(check: LeakCheck) -> None:
    other = " ".join(f"other{n}" for n in range(1000))
    assert check.found_in(other + " ".join(WORDS[50:150])) == "in a benchmark"
    a_little = 10 * other + " ".join(WORDS[50:75])
    assert [check.found_in(text) for text in (a_little, other, "short")] == [None] * 3


def test_a_table_of_sentences_is_looked_for_sentence_by_sentence(tmp_path: Path) -> None:
    table = 'kind\tsentence\talso\nk\t你吃了没？ jom makan.\nk\t"so, it is\n'
    (tmp_path / "hard.tsv").write_text(table, encoding="utf-8")
    check = LeakCheck([tmp_path])
    for text in ("他说：“你吃了没，Jom, makan！” ", "And so it is."):
        assert check.found_in(text) == "holds a sentence of a benchmark"
    for text in ("你吃了没？ jom pergi. So is it.", PASSAGE):
        assert check.found_in(text) is None
