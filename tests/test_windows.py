"""Long word lists into overlapping windows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from punctuation_restoration.pipeline.windows import Window, plan_windows


def test_a_text_that_fits_is_one_window():
    assert plan_windows([2] * 10, 10, 4, 2, 100) == [Window(0, 10, 0, 10)]
    assert plan_windows([], 10, 4, 2, 100) == []
    assert plan_windows([300], 10, 4, 2, 100) == [Window(0, 1, 0, 1)]


def test_windows_overlap_by_their_contexts():
    assert plan_windows([1] * 20, 10, 4, 2, 100) == [
        Window(0, 10, 0, 8),
        Window(4, 14, 8, 12),
        Window(8, 18, 12, 16),
        Window(12, 20, 16, 20),
    ]


def test_without_contexts_windows_stand_side_by_side():
    assert plan_windows([1] * 5, 2, 0, 0, 100) == [Window(0, 2, 0, 2), Window(2, 4, 2, 4), Window(4, 5, 4, 5)]


def test_long_words_shorten_windows():
    windows = plan_windows([50] * 10, 10, 4, 2, 100)
    assert [window.keep_to for window in windows] == [2, 4, 6, 8, 10]
    assert all(window.end - window.first <= 2 for window in windows)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(1, 40), max_size=120),
    st.integers(1, 40).flatmap(
        lambda window: st.tuples(st.just(window), st.integers(0, window - 1)).flatmap(
            lambda pair: st.tuples(st.just(pair[0]), st.just(pair[1]), st.integers(0, pair[0] - pair[1] - 1))
        )
    ),
    st.integers(40, 200),
)
def test_every_word_is_decided_once_and_every_window_fits(n_pieces, sizes, max_pieces):
    window, left, right = sizes
    windows = plan_windows(n_pieces, window, left, right, max_pieces)
    assert [index for one in windows for index in range(one.keep_from, one.keep_to)] == list(range(len(n_pieces)))
    for one in windows:
        assert 0 <= one.first <= one.keep_from < one.keep_to <= one.end <= len(n_pieces)
        assert one.end - one.first <= window
        assert sum(n_pieces[one.first : one.end]) <= max_pieces
        assert one.keep_from - one.first <= left
        assert one.end - one.keep_to <= right


@settings(max_examples=100, deadline=None)
@given(st.integers(20, 200))
def test_contexts_are_whole_where_words_are_short(n_words):
    for one in plan_windows([2] * n_words, 16, 5, 3, 200):
        assert one.keep_from - one.first == min(5, one.keep_from)
        assert one.end - one.keep_to == (0 if one.end == n_words else 3)


def test_the_number_of_windows_grows_with_the_text():
    counts = [len(plan_windows([2] * n_words, 120, 40, 15, 254)) for n_words in (1_000, 10_000, 100_000)]
    assert counts[1] <= 11 * counts[0]
    assert counts[2] <= 11 * counts[1]
