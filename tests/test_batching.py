"""Windows in batches: each once, like lengths together, within what a batch may hold."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from punctuation_restoration.pipeline.batching import batches_by_length, collate

lengths = st.lists(st.integers(1, 300), max_size=60)


@given(lengths, st.integers(1, 9))
def test_a_batch_size_is_how_many_windows_a_batch_has_at_most(n_pieces, batch_size):
    batches = list(batches_by_length(n_pieces, batch_size, budget=1))
    assert sorted(index for batch in batches for index in batch) == list(range(len(n_pieces)))
    assert all(len(batch) == batch_size for batch in batches[:-1])
    assert all(1 <= len(batch) <= batch_size for batch in batches)


@given(lengths, st.integers(1, 1000))
def test_without_a_batch_size_padded_pieces_stay_within_the_budget(n_pieces, budget):
    batches = list(batches_by_length(n_pieces, None, budget))
    assert sorted(index for batch in batches for index in batch) == list(range(len(n_pieces)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(n_pieces[index] for index in batch) <= budget


def test_windows_of_like_length_go_together():
    assert list(batches_by_length([9, 2, 8, 3], 2, budget=1)) == [[1, 3], [2, 0]]
    assert list(batches_by_length([9, 2, 8, 3], None, budget=9)) == [[1, 3], [2], [0]]


@pytest.mark.parametrize("second", [[5, 6], [5, 6, 7]], ids=["padded", "not padded"])
def test_there_is_a_mask_only_where_something_is_padded(second):
    windows = [{"input_ids": [2, 3, 4], "slot_positions": [1]}, {"input_ids": second, "slot_positions": [1]}]
    batch = collate(windows, pad_id=0)
    torch.testing.assert_close(batch["input_ids"], torch.tensor([[2, 3, 4], [*second, 0][:3]]))
    if len(second) == 3:
        assert batch["attention_mask"] is None
    else:
        torch.testing.assert_close(batch["attention_mask"], torch.tensor([[1, 1, 1], [1, 1, 0]]))
