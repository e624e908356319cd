"""The leak check finds a copied passage, however it is written, and nothing else."""

from pathlib import Path

import numpy as np
import pytest

from punctuation_restoration.data.leaks import LeakCheck, letters_of, stretch_hashes

WORDS = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(300)]
PASSAGE = " ".join(WORDS)


@pytest.fixture
def check(tmp_path: Path) -> LeakCheck:
    (tmp_path / "test.tsv").write_text("".join(f"{word}\tO\n" for word in WORDS), encoding="utf-8")
    return LeakCheck([tmp_path])


def test_a_copy_is_found_whatever_its_marks_blanks_and_case(check: LeakCheck) -> None:
    copy = PASSAGE.upper().replace(" ", ",  ")
    n_shared, n_stretches = check(copy)[1:]
    assert n_shared == n_stretches > 50


def test_a_copy_in_traditional_characters_is_found() -> None:
    simplified, traditional = "他们说这个问题应该让学生自己来讨论", "他們說這個問題應該讓學生自己來討論"
    copies = [f"{text}{place:03}" for text in (simplified, traditional) for place in range(50)]
    first, second = (stretch_hashes(letters_of("".join(half))) for half in (copies[:50], copies[50:]))
    assert np.array_equal(first, second)
    assert len(np.unique(first)) > 50


def test_a_passage_inside_other_text_is_found(check: LeakCheck) -> None:
    other = " ".join(f"other{n}" for n in range(1000))
    n_shared, n_stretches = check(other + " ".join(WORDS[50:150]) + other)[1:]
    assert 30 < n_shared < n_stretches / 4


def test_other_text_shares_nothing(check: LeakCheck) -> None:
    assert check(" ".join(f"other{n}" for n in range(1000)))[1] == 0
    assert check("short") == (None, 0, 0)


def test_hashes_of_a_stretch_do_not_depend_on_what_is_around_it() -> None:
    inner = set(stretch_hashes(letters_of(PASSAGE[300:900])).tolist())
    assert inner <= set(stretch_hashes(letters_of(PASSAGE)).tolist())
    assert np.array_equal(stretch_hashes("中文字" * 10), stretch_hashes(letters_of("中 文，字" * 10)))


def test_a_table_of_sentences_is_looked_for_sentence_by_sentence(tmp_path: Path) -> None:
    (tmp_path / "hard.tsv").write_text(
        'kind\tsentence\talso\nk\t你吃了没？ jom makan.\nk\t"so, it is\n', encoding="utf-8"
    )
    check = LeakCheck([tmp_path])
    assert check("他说：“你吃了没，Jom, makan！” ")[0] == "你吃了没jommakan"
    assert check("And so it is.")[0] == "soitis"
    assert check("你吃了没？ jom pergi. So is it.")[0] is None
    assert check(PASSAGE)[1] == 0


def test_an_empty_benchmark_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found none"):
        LeakCheck([tmp_path])
