"""What holds several texts: read like a list of them, or refused with what to pass instead."""

from typing import Any

import numpy as np
import pytest

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


@pytest.mark.parametrize("kind", [iter, list, tuple, lambda given: map(dict, given)])
def test_words_of_one_transcript_are_one_item_in_any_of_them(tiny_pipeline: Any, kind: Any) -> None:
    words = [{"word": "hello", "start": 0.0, "end": 1.0}, {"word": "you", "start": 1.0, "end": 2.0}]
    assert [word["start"] for word in tiny_pipeline(kind(words))] == [0.0, 1.0]


def test_tables_are_refused_with_what_to_pass(tiny_pipeline: Any) -> None:
    rows = pytest.importorskip("datasets").Dataset.from_dict({"text": TEXTS, "name": ["a", "b", "c"]})
    for table in (rows, rows.to_iterable_dataset(), rows.to_pandas()):
        with pytest.raises(TypeError, match=r"list\(rows\['text'\]\).*KeyDataset"):
            tiny_pipeline(table)


def test_an_array_of_numbers_is_refused_by_place(tiny_pipeline: Any) -> None:
    with pytest.raises(TypeError, match="Item 0: Expected a string"):
        tiny_pipeline(np.arange(3))
