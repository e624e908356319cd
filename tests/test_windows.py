"""Long word lists into overlapping windows; windows into batches of like lengths."""

from hypothesis import given, settings
from hypothesis import strategies as st

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.pipeline.windows import Window, batches_by_length, collate, windows_of

CONFIG = PunctuationRestorationConfig(window=10, left_context=4, right_context=2, max_window_pieces=102)


def test_a_text_that_fits_is_one_window():
    assert windows_of([2] * 10, CONFIG) == [Window(0, 10, 0, 10)]
    assert windows_of([], CONFIG) == []
    assert windows_of([300], CONFIG) == [Window(0, 1, 0, 1)]


def test_windows_overlap_by_their_contexts():
    expected = [(0, 10, 0, 8), (4, 14, 8, 12), (8, 18, 12, 16), (12, 20, 16, 20)]
    assert windows_of([1] * 20, CONFIG) == [Window(*places) for places in expected]


def test_long_words_shorten_windows():
    windows = windows_of([50] * 10, CONFIG)
    assert [window.keep_to for window in windows] == [2, 4, 6, 8, 10]
    assert all(window.end - window.first <= 2 for window in windows)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(1, 40), max_size=120),
    st.tuples(st.integers(0, 20), st.integers(0, 15), st.integers(1, 20)).map(lambda parts: (sum(parts), *parts[:2])),
    st.integers(40, 200),
)
def test_every_word_is_decided_once_and_every_window_fits(n_pieces, sizes, max_pieces):
    window, left, right = sizes
    sizes = {"window": window, "left_context": left, "right_context": right, "max_window_pieces": max_pieces + 2}
    windows = windows_of(n_pieces, PunctuationRestorationConfig(**sizes))
    assert [index for one in windows for index in range(one.keep_from, one.keep_to)] == list(range(len(n_pieces)))
    for one in windows:
        assert 0 <= one.first <= one.keep_from < one.keep_to <= one.end <= len(n_pieces)
        assert one.end - one.first <= window
        assert sum(n_pieces[one.first : one.end]) <= max_pieces
        assert one.keep_from - one.first <= left
        assert one.end - one.keep_to <= right


def test_the_number_of_windows_grows_with_the_text():
    counts = [len(windows_of([2] * n_words, CONFIG)) for n_words in (1_000, 10_000, 100_000)]
    assert counts[1] <= 11 * counts[0]
    assert counts[2] <= 11 * counts[1]


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 9), st.integers(1, 1000))
def test_each_window_is_in_one_batch_within_its_size_or_the_budget_of_padded_pieces(n_pieces, batch_size, budget):
    by_size, by_budget = (list(batches_by_length(n_pieces, size, budget)) for size in (batch_size, None))
    for batches in (by_size, by_budget):
        assert sorted(index for batch in batches for index in batch) == list(range(len(n_pieces)))
    assert all(len(batch) == batch_size for batch in by_size[:-1])
    assert all(1 <= len(batch) <= batch_size for batch in by_size)
    for batch in by_budget:
        assert len(batch) == 1 or len(batch) * max(n_pieces[index] for index in batch) <= budget


def test_windows_of_like_length_go_together():
    assert list(batches_by_length([9, 2, 8, 3], 2, budget=1)) == [[1, 3], [2, 0]]
    assert list(batches_by_length([9, 2, 8, 3], None, budget=9)) == [[1, 3], [2], [0]]


def test_the_mask_tells_pieces_from_padding():
    first = {"input_ids": [2, 3, 4], "slot_positions": [1]}
    for second, ids, mask in (([5, 6], [5, 6, 0], [1, 1, 0]), ([5, 6, 7], [5, 6, 7], [1, 1, 1])):
        batch = collate([first, {"input_ids": second, "slot_positions": [1]}], pad_id=0)
        assert batch["input_ids"].tolist() == [[2, 3, 4], ids]
        assert batch["attention_mask"].tolist() == [[1, 1, 1], mask]
