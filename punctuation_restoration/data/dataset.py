"""Training windows for transformers' own `Trainer`. Takes prepared data, gives a data set and its collator."""

from typing import Any

from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.conversion import stop_label_ids
from punctuation_restoration.data.recipe import Sampling
from punctuation_restoration.data.sampling import CutWindow, WindowSampler
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.pipeline.slots import SlotEncoder


def windows_for_trainer(
    folder: str, tokenizer: Any, config: Any, n_windows: int
) -> tuple[list[CutWindow], WindowCollator]:
    """Windows as long as the model serves, for `train_dataset`, and the `data_collator` that makes batches of them.

    `n_windows` are drawn from all sources of prepared data by their weights, for a model of that tokenizer and config.

    Raises:
        ValueError: if the folder was not prepared.
    """
    slots = SlotEncoder(tokenizer, config)
    sampling = Sampling(lengths={config.max_window_pieces: 1.0})
    stops = stop_label_ids(config.labels)
    sampler = WindowSampler(read_index(folder), sampling, 1, int(slots.has_masks), stops, seed=1)
    windows = [sampler.cut(sampler.plan(number), 0) for number in range(n_windows)]
    return windows, WindowCollator(slots, sampling.filled_windows, sampling.max_filled, casings=config.casings)
