"""Windows of a step: a function of seed and step, the same for any number of processes, with the shares asked for."""

import tempfile
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctuation_restoration.data import shards
from punctuation_restoration.data.recipe import Sampling
from punctuation_restoration.data.sampling import CutWindow, WindowSampler
from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS
from punctuation_restoration.training.batches import BatchSource, read_ahead

STOPS = [2, 3]


def document(first_piece: int, labels: list[int], seed: int = 0) -> shards.PackedDocument:
    """A document whose pieces count up, with one to three pieces a word."""
    counts = np.random.default_rng(seed).integers(1, 4, len(labels)).astype(np.uint8)
    ids = (first_piece + np.arange(counts.sum())).astype(np.uint16)
    return shards.PackedDocument(first_piece, shards.make_words(ids, counts, np.array(labels, dtype=np.uint8)))


def prepared(folder: Path, languages: dict[str, list[shards.PackedDocument]]) -> dict[str, Any]:
    """An index of one source a language."""
    rows = []
    for language, documents in sorted(languages.items()):
        splits = {"train": shards.write_split(folder, language, documents)}
        rows.append({"name": f"{language}-source", "language": language, "weight": 1.0, "splits": splits})
    index = {"labels": DEFAULT_LABELS, "n_vocabulary": 1 << 16, "languages": sorted(languages), "sources": rows}
    index |= {"words_alone": False}
    shards.write_index(folder, index)
    return shards.read_index(folder)


@pytest.fixture
def index(tmp_path: Path) -> dict[str, Any]:
    english = [document(10_000 + 500 * n, [0, 0, 1, 0, 2] * 20, n) for n in range(10)]
    malay = [document(40_000 + 500 * n, [0, 2, 0, 3] * 20, n) for n in range(5)]
    return prepared(tmp_path, {"en": english, "ms": malay})


def sampler(index: dict[str, Any], pieces: int = 512, **fields: Any) -> WindowSampler:
    return WindowSampler(index, Sampling(**{"lengths": {32: 0.5, 64: 0.5}, **fields}), pieces, seed=3)


def windows(sampler: WindowSampler, steps: range) -> list[CutWindow]:
    return [sampler.cut(plan, row) for step in steps for plan in [sampler.plan(step)] for row in range(len(plan))]


def is_malay(window: CutWindow) -> bool:
    return bool(window.words.piece_ids[0] >= 40_000)


def n_pieces(window: CutWindow) -> int:
    return len(window.words.piece_ids) + 2


def test_shards_come_back_as_written_and_split_when_full(tmp_path: Path) -> None:
    documents = [document(500 * n, [0, 1, 2] * 10, n) for n in range(4)]
    room_for_two = 2 * sum(array.nbytes for array in documents[0].words) + 50
    row = shards.write_split(tmp_path, "s", documents, n_bytes=room_for_two)
    assert [shard["n_words"] for shard in row["shards"]] == [60, 60]
    assert (row["n_words"], row["n_labels"]) == (120, [40, 40, 40])
    assert shards.open_shard(tmp_path / row["shards"][1]["file"])["document_starts"].tolist() == [0, 30]
    streams = [shards.WordStream(tmp_path / shard["file"]) for shard in row["shards"]]
    keys = [key for stream in streams for key in shards.document_keys(stream.arrays)]
    assert keys == [(one.hash, one.word_hash) for one in documents]
    found = [stream.words(first, end - first) for stream in streams for first, end in stream.borders]
    for words, other in zip(found, documents, strict=True):
        assert all(map(np.array_equal, words, other.words))
        assert words.piece_ids.dtype == np.uint16


@pytest.mark.parametrize("n_bytes", [0, 5, 300])
def test_what_is_no_whole_shard_is_an_error(tmp_path: Path, n_bytes: int) -> None:
    row = shards.write_split(tmp_path, "s", [document(0, [0, 1] * 40)])
    path = tmp_path / row["shards"][0]["file"]
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(ValueError, match=r"Expected a shard in .*Prepare the data again"):
        shards.open_shard(path)


@settings(deadline=None)
@given(st.integers(0, 1199), st.integers(1, 1200))
def test_a_stream_gives_the_words_of_any_place_and_goes_round(first: int, n_words: int) -> None:
    long = document(0, [0, 1, 2] * 400, 1).words
    soft, ends = np.arange(1200)[:, None], np.cumsum(long.piece_counts, dtype=int)
    with tempfile.TemporaryDirectory() as folder:
        row = shards.write_split(Path(folder), "s", [shards.PackedDocument(0, long)])
        stream = shards.WordStream(Path(folder) / row["shards"][0]["file"])
        stream.all = stream.all._replace(teacher_labels=soft)
        words, order = stream.words(first, n_words), np.arange(first, first + n_words) % 1200
        assert words.teacher_labels[:, 0].tolist() == order.tolist()
        assert words.labels.tolist() == long.labels[order].tolist()
        assert words.piece_counts.tolist() == long.piece_counts[order].tolist()
        pieces = [long.piece_ids[ends[n] - long.piece_counts[n] : ends[n]] for n in order]
        assert words.piece_ids.tolist() == np.concatenate(pieces).tolist()


@pytest.mark.parametrize(("n_processes", "n_accumulated"), [(1, 2), (2, 1), (2, 2)])
def test_processes_and_accumulation_share_out_the_same_windows(
    index: dict[str, Any], n_processes: int, n_accumulated: int
) -> None:
    drawn = sampler(index)
    sources: list[Any] = [BatchSource(drawn, list, n, n_processes, n_accumulated) for n in range(n_processes)]
    parts = [window for source in sources for batch in source[4] for window in batch]
    whole = {window.seed: window for window in windows(sampler(index), range(4, 5))}
    assert sorted(whole) == sorted(window.seed for window in parts)
    assert all(np.array_equal(one.words.piece_ids, whole[one.seed].words.piece_ids) for one in parts)


def test_windows_fill_their_length_and_never_exceed_it(index: dict[str, Any]) -> None:
    drawn = sampler(index)
    for plan in map(drawn.plan, range(20)):
        cut = [drawn.cut(plan, row) for row in range(len(plan))]
        assert plan.length in {32, 64}
        assert max(map(n_pieces, cut)) <= plan.length
        # The next word has at most three pieces; before a stream's first words there is none.
        whole = [window for window in cut if window.words.piece_ids[0] not in (10_000, 40_000)]
        assert min(map(n_pieces, whole)) > plan.length - 3


def test_every_step_mixes_the_languages_by_temperature_and_weight(index: dict[str, Any]) -> None:
    # 1,000 English words, 400 Malay ones: 2.5 to 1, at temperature 2 its root, and 2 more for the weight.
    flat = sampler(index, 2048, language_weights={"ms": 2.0}, temperature=2.0)
    share = 2 / (2 + 2.5**0.5)
    assert flat.probabilities.tolist() == pytest.approx([1 - share, share])
    for step in range(10):
        languages = [is_malay(window) for window in windows(flat, range(step, step + 1))]
        assert np.mean(languages) == pytest.approx(share, abs=1.5 / len(languages))
    for row in index["sources"]:
        row["weight"] = 0.0
    with pytest.raises(ValueError, match="weight above 0"):
        sampler(index)


def test_no_source_is_read_more_often_than_max_passes_allow(tmp_path: Path) -> None:
    """A small source with a large weight: other sources of its language fill up, then other languages."""
    n_words = {"small": 100, "large": 5_000, "other": 1_000}
    rows = []
    for name, language in (("small", "en"), ("large", "en"), ("other", "ms")):
        split = shards.write_split(tmp_path, name, [document(0, [0, 0, 0, 0, 2] * (n_words[name] // 5))])
        rows.append(
            {"name": name, "language": language, "weight": 50.0 if name == "small" else 1.0, "splits": {"train": split}}
        )
    index = {"sources": rows, "labels": DEFAULT_LABELS}
    for row in rows:
        for shard in row["splits"]["train"]["shards"]:
            shard["file"] = tmp_path / shard["file"]

    def passes(n_steps: int, max_passes: float | None) -> dict[str, float]:
        sampling = Sampling(lengths={32: 1.0}, language_weights={"en": 1.0, "ms": 9.0}, max_passes=max_passes)
        drawn = WindowSampler(index, sampling, 960, 3, n_steps)
        read = dict.fromkeys(n_words, 0)
        names = [row["name"] for row in sorted(rows, key=lambda row: row["language"])]
        for step in range(n_steps):
            plan = drawn.plan(step)
            for row, stream_id in enumerate(plan.stream_ids.tolist()):
                read[names[stream_id]] += len(drawn.cut(plan, row).words.labels)
        return {name: read[name] / n_words[name] for name in read}

    free, few, more = passes(20, None), passes(20, 2.0), passes(20, 5.0)
    assert free["small"] > 10
    assert free["other"] > 2.5
    assert few["small"] == pytest.approx(2, rel=0.25)
    assert few["other"] == pytest.approx(2, rel=0.25)
    assert few["large"] > more["large"] > free["large"]
    assert more["small"] == pytest.approx(5, rel=0.25)
    with pytest.raises(ValueError, match=r"max_passes allows \d+% of them"):
        passes(200, 1.0)


def test_windows_begin_and_end_where_they_should(index: dict[str, Any]) -> None:
    nowhere = dict.fromkeys(("document_starts", "document_ends", "sentence_ends", "sentence_starts"), 0.0)

    def cut(kind: str) -> list[CutWindow]:
        return windows(sampler(index, **{**nowhere, kind: 1.0}), range(4))

    assert all(int(window.words.piece_ids[0]) % 500 == 0 for window in cut("document_starts"))
    assert {int(window.words.labels[-1]) for window in cut("document_ends")} == {2, 3}
    assert all(window.words.labels[-1] in STOPS for window in cut("sentence_ends"))
    assert len({int(window.words.piece_ids[-1]) for window in cut("sentence_ends")}) > 2  # not only ends of documents
    for window in cut("sentence_starts"):  # five words and three stand before English stops, two before Malay ones
        first = next(n for n, label in enumerate(window.words.labels) if label in STOPS)
        assert first == (1 if is_malay(window) else 4)


def test_utterances_are_whole_sentences_in_the_numbers_asked_for(index: dict[str, Any]) -> None:
    drawn = sampler(index, 1024, utterances=1.0, stops={1: 0.5, 2: 0.5}, lengths={64: 1.0})
    steps = [windows(drawn, range(step, step + 1)) for step in range(60)]
    cut = [window for step in steps for window in step]
    assert all(window.words.labels[-1] in STOPS for window in cut)
    numbers = [int(np.isin(window.words.labels, STOPS).sum()) for window in cut]
    assert set(numbers) == {1, 2}
    assert 0.35 < numbers.count(1) / len(numbers) < 0.65
    n_padded = sum(len(step) * max(map(n_pieces, step)) for step in steps)
    assert sum(map(n_pieces, cut)) / n_padded > 0.9  # little is padded


def test_a_word_longer_than_the_window_is_cut(tmp_path: Path) -> None:
    counts, labels = np.array([30, 30, 30], np.uint8), np.array([0, 1, 2], np.uint8)
    words = shards.make_words(np.arange(90, dtype=np.uint16), counts, labels)
    index = prepared(tmp_path, {"en": [shards.PackedDocument(1, words)]})
    cut = windows(sampler(index, 16, lengths={16: 1.0}), range(3))
    assert [(len(window.words.labels), len(window.words.piece_ids)) for window in cut] == [(1, 14)] * 3


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("n_workers", [0, 2])
def test_batches_are_read_ahead_in_order_and_errors_come_through(index: dict[str, Any], n_workers: int) -> None:
    """By a thread, or by processes as beside a GPU."""
    source = BatchSource(sampler(index), lambda cut: [1 / (8 - window.seed[1]) for window in cut])  # type: ignore[arg-type]
    found = read_ahead(source, 5, 12, n_workers)
    assert [next(found)[0][0] for _ in range(3)] == [1 / 3, 1 / 2, 1]
    with pytest.raises(ZeroDivisionError) as raised:
        next(found)
    traceback.clear_frames(raised.tb)  # else processes are waited for, ten seconds


def test_two_prepared_folders_read_as_one(tmp_path: Path) -> None:
    for name, language in (("a", "en"), ("b", "ms")):
        (tmp_path / name).mkdir()
        prepared(tmp_path / name, {language: [document(10, [0, 2] * 30)]})
    index = shards.read_index(tmp_path / "a", tmp_path / "b")
    assert index["languages"] == ["en", "ms"]
    assert {number for step in range(3) for number in sampler(index).plan(step).stream_ids.tolist()} == {0, 1}
    with pytest.raises(ValueError, match=r"Expected prepared data in .*prepare --out"):
        shards.read_index(tmp_path)
