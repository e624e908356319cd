"""Pauses that are learned: their buckets, the model, the pipeline, and the times drawn for training."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from training_runs import arguments, weights
from transformers import AutoTokenizer, pipeline

from punctuation_restoration.cli.options import parse_args
from punctuation_restoration.cli.train import main as train
from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.pauses import NOISE, Pauses, PauseSimulator
from punctuation_restoration.data.recipe import build_recipe, load_recipe
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import make_words
from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS, PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.backends import make_backend
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.pipeline.streamer import PunctuationStreamer
from punctuation_restoration.pipeline.timing import pause_buckets, pause_lengths
from punctuation_restoration.transcripts import read_source, restore_transcript

EDGES = [0.1, 0.5, 1.0]
EXAMPLES = Path(__file__).parents[1] / "examples" / "transcripts"
BATCH = {
    "input_ids": torch.tensor([[0, 5, 9, 6, 9, 2], [0, 7, 9, 2, 1, 1]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]]),
    "slot_positions": torch.tensor([[1, 2, 4], [1, 2, 0]]),
}
HEARD = torch.tensor([[0, 3, 4], [2, 0, 0]])
WORDS = ["hello", "you", "are", "the", "saya", "awak"]
FAR = [(n * 2.0, n * 2.0 + 0.5) for n in range(6)]


@pytest.fixture(scope="module")
def hearing(tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tiny model with random vectors for pauses, in a folder."""
    model = PunctuationRestorationModel.from_pretrained(tiny_checkpoint, pause_edges=EDGES)
    torch.manual_seed(4)
    model.classifier.pauses.weight.data[1:] = 3 * torch.randn(len(EDGES) + 1, 32)
    folder = tmp_path_factory.mktemp("hearing")
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_checkpoint).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def restore(hearing: str) -> Any:
    return pipeline("punctuation-restoration", model=hearing, device="cpu")


def test_pauses_are_read_off_times_where_there_are_any():
    times = [(0.0, 0.5), (0.5, 1.0), (1.25, 2.0), (1.97, 3.0), (2.0, 3.0), (None, None), (6.0, None), (7.0, 8.0)]
    lengths = pause_lengths(times)
    np.testing.assert_allclose(lengths, [0, 0.25, 0, *[np.nan] * 5])
    assert pause_buckets(np.array([0, 0.09, 0.1, 0.6, 1.0, 60, np.nan]), EDGES).tolist() == [1, 1, 2, 3, 4, 4, 0]
    assert pause_lengths([]).shape == (0,)
    at_once = [(float(n), n + 1.0) for n in range(4)]
    assert np.isnan(pause_lengths(at_once)).all()  # a recogniser that measures no silence
    assert pause_lengths([*at_once, (4.5, 5.0)])[:4].tolist() == [0, 0, 0, 0.5]


def test_words_of_one_cue_have_no_pause_between_them():
    cues = [(0.0, 2.0), (0.0, 2.0), (3.0, 4.0), (3.0, 4.0), (4.0, 5.0), (5.0, 6.0)]
    np.testing.assert_array_equal(pause_lengths(cues), [np.nan, 1, np.nan, np.nan, 0, np.nan])


@torch.no_grad()
def test_without_pauses_nothing_changes_to_the_last_bit(tiny_checkpoint, hearing):
    plain, knowing = (PunctuationRestorationModel.from_pretrained(folder) for folder in (tiny_checkpoint, hearing))
    new = PunctuationRestorationModel.from_pretrained(tiny_checkpoint, pause_edges=EDGES)
    expected = plain(**BATCH).logits
    assert torch.equal(knowing(**BATCH).logits, expected)
    assert torch.equal(knowing(**BATCH, pauses=torch.zeros_like(HEARD)).logits, expected)
    assert torch.equal(new(**BATCH, pauses=HEARD).logits, expected)  # it has learned nothing yet


@torch.no_grad()
@pytest.mark.parametrize("head", ["linear", "bilstm-crf"])
def test_a_pause_counts_at_its_own_slot(hearing, head):
    model = PunctuationRestorationModel.from_pretrained(hearing)
    torch.manual_seed(1)
    model.set_head(head)
    differs = (model(**BATCH, pauses=HEARD).logits - model(**BATCH).logits).abs().sum(-1) > 1e-6
    assert differs[HEARD != 0].all()
    assert head != "linear" or not differs[HEARD == 0].any()
    longer = torch.nn.functional.pad(HEARD[1:], (0, 2))
    more = {name: BATCH[name][1:, : 4 if name != "slot_positions" else 2] for name in BATCH}
    alone = model(**more, pauses=longer[:, :2]).logits
    torch.testing.assert_close(model(**BATCH, pauses=HEARD).logits[1, :2], alone[0], atol=1e-4, rtol=1e-4)


def test_a_model_that_knows_no_pauses_refuses_them(tiny_model, tiny_pipeline, tiny_checkpoint):
    with pytest.raises(ValueError, match="the model has no pause_edges"):
        tiny_model(**BATCH, pauses=HEARD)
    with pytest.raises(ValueError, match=r"trained with pauses for pause='learned', got one without pause_edges"):
        tiny_pipeline("hello", pause="learned")
    with pytest.raises(ValueError, match="rising lengths above 0"):
        PunctuationRestorationModel.from_pretrained(tiny_checkpoint, pause_edges=[0.5, 0.5])


@pytest.mark.parametrize("edges", [[], [0.0, 1.0], [2.0, 1.0]])
def test_edges_must_rise(edges):
    with pytest.raises(ValueError, match="rising lengths above 0"):
        PunctuationRestorationConfig(pause_edges=edges)


def test_text_without_times_is_restored_as_before(restore, tiny_pipeline):
    text = "hello you are the saya awak 我们 大家 hello " * 8
    assert restore(text, pause="learned") == restore(text) == tiny_pipeline(text)
    item = {"words": WORDS, "timestamps": FAR}
    assert restore(item) == tiny_pipeline(item)  # times alone are no wish
    unknown = {"words": WORDS, "timestamps": [(None, None)] * 6}
    scores = [[word["score"] for word in one["words"]] for one in (restore(unknown, pause="learned"), restore(unknown))]
    assert scores[0] == scores[1]


def test_times_are_heard_in_every_window_and_batch(restore):
    words, times = WORDS * 8, [(n * 2.0, n * 2.0 + 1.0 + n % 3 * 0.4) for n in range(48)]
    timed = {"words": words, "timestamps": times}
    items = ["hello you", timed, {"text": "", "chunks": []}, {"words": WORDS, "timestamps": FAR}]
    options = {"pause": "learned", "all_scores": True, "window": 20, "left_context": 4, "right_context": 4}
    together = restore(items, batch_size=3, **options)
    for item, found in zip(items, together, strict=True):
        alone = restore(item, batch_size=1, **options)
        assert alone["text"] == found["text"]
        for one, other in zip(alone["words"], found["words"], strict=True):
            assert one["scores"] == pytest.approx(other["scores"], abs=1e-4)
    lengths = pause_buckets(pause_lengths(times), EDGES).tolist()
    seen = list(restore.preprocess(timed, pause="learned", window=20, left_context=4, right_context=4))
    assert len(seen) > 2
    assert all(one["pauses"] == lengths[one["window"].first : one["window"].end] for one in seen)
    heard, plain = (restore(timed, **options | {"pause": pause})["words"] for pause in ("learned", None))
    changed = [one["scores"] != other["scores"] for one, other in zip(heard, plain, strict=True)]
    assert changed == [True] * 47 + [False]


def test_a_wish_at_construction_can_be_taken_back(hearing, restore):
    wishing = pipeline("punctuation-restoration", model=hearing, device="cpu", pause="learned")
    item = {"words": WORDS, "timestamps": FAR}
    assert wishing(item) == restore(item, pause="learned") != restore(item)
    assert wishing(item, pause=None) == restore(item)
    assert wishing(item, pause=0.4) == restore(item, pause=0.4)
    with pytest.raises(ValueError, match="above 0, or 'learned', got 'long'"):
        restore(item, pause="long")


@pytest.mark.parametrize("name", ["whisper.json", "chunks.json", "meeting.ctm", "youtube.vtt"])
def test_transcripts_and_streams_bring_their_times(restore, name):
    transcript = read_source((EXAMPLES / name).read_text(encoding="utf-8"), name.rpartition(".")[2])
    heard, plain = (
        [word for speech in restore_transcript(transcript, restore, **options).speeches for word in speech.words]
        for options in ({"pause": "learned"}, {})
    )
    assert [word["word"] for word in heard] == [word["word"] for word in plain]
    changed = [one["score"] != other["score"] for one, other in zip(heard, plain, strict=True)]
    assert any(changed)
    assert not changed[-1]


def test_words_as_they_come_are_heard(restore):
    text = " ".join(WORDS)
    ends = np.cumsum([len(word) + 1 for word in WORDS]) - 1
    spans = [(end - len(word), end, time) for end, word, time in zip(ends.tolist(), WORDS, FAR, strict=True)]
    streamer = PunctuationStreamer(restore, look_ahead=1, spans=spans, pause="learned")
    words = [word for part in (text[:14], text[14:]) for word in streamer.feed(part).words] + streamer.flush().words
    whole = restore({"words": WORDS, "timestamps": FAR}, pause="learned")["words"]
    assert [word["word"] for word in words] == WORDS
    assert words[-1]["score"] == pytest.approx(whole[-1]["score"], abs=1e-4)


def test_the_command_takes_seconds_or_learned(capsys):
    assert parse_args(["--pause", "learned"]).pause == "learned"
    assert parse_args(["--pause", "0.5"]).pause == 0.5
    with pytest.raises(SystemExit):
        parse_args(["--pause", "long"])
    assert "number of 0.01 or more, got 'long'" in capsys.readouterr().err


def test_onnx_runtime_hears_them_too(hearing, tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from punctuation_restoration.pipeline import backends

    monkeypatch.setattr(backends, "CACHE_FOLDER", str(tmp_path))
    model = PunctuationRestorationModel.from_pretrained(hearing).eval()
    compute, expected = make_backend("onnx", model, 1), make_backend("torch", model, 1)
    with torch.no_grad():
        for heard in ({}, {"pauses": HEARD}):
            torch.testing.assert_close(
                compute(**BATCH, **heard)[:, :2], expected(**BATCH, **heard)[:, :2], atol=1e-4, rtol=1e-3
            )


def simulator(**fields: Any) -> PauseSimulator:
    return PauseSimulator(Pauses(**{"windows": 1.0, **fields}), DEFAULT_LABELS, [2, 3], EDGES)


def test_drawn_pauses_are_as_the_recipe_says():
    labels = np.tile([0, 1, 2, 3], 20_000)
    lengths, settings = simulator()(labels, (1,)), Pauses()
    known = ~np.isnan(lengths)
    assert known.mean() == pytest.approx(0.9, abs=0.01)
    for label, share, median in ((0, 0.075, 0.3), (1, 0.6, 0.3), (2, 0.95, 0.6), (3, 0.95, 0.6)):
        own = lengths[known & (labels == label)]
        silent = own[own >= NOISE]
        assert len(silent) / len(own) == pytest.approx(0.8 * share, abs=0.01)
        assert np.median(silent) == pytest.approx(median, rel=0.05)
        assert np.log(silent).std() == pytest.approx(settings.spread, rel=0.05)


def test_pauses_depend_on_the_window_alone_and_the_last_is_unknown():
    labels = np.array([0, 2, 0, 1, 2])
    one, again, other = (simulator()(labels, seed) for seed in ((1, 2), (1, 2), (1, 3)))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other, equal_nan=True)
    assert all(np.isnan(lengths[-1]) for lengths in (one, other))
    shown = [not np.isnan(simulator(windows=0.3)(labels, (seed,))).all() for seed in range(400)]
    assert 0.22 < np.mean(shown) < 0.38


def test_a_batch_is_as_before_but_for_its_pauses(tiny_tokenizer, tiny_config):
    slots = SlotEncoder(tiny_tokenizer, tiny_config)
    windows = [
        CutWindow(make_words(np.arange(5, 5 + n), np.ones(n, dtype=np.uint8), np.arange(n) % 4), (n,))
        for n in (3, 6, 1)
    ]
    plain, timed = WindowCollator(slots, 0.5)(windows), WindowCollator(slots, 0.5, simulator=simulator())(windows)
    assert timed["pauses"].shape == timed["slot_positions"].shape
    assert not timed["pauses"][timed["slot_positions"] == 0].any()
    assert timed["pauses"][1].any()
    assert timed.keys() - plain.keys() == {"pauses"}
    assert all(torch.equal(plain[name], timed[name]) for name in plain)


def test_what_is_drawn_can_be_learned_where_the_text_tells_nothing(tiny_tokenizer, tiny_checkpoint):
    torch.manual_seed(2)
    model = PunctuationRestorationModel.from_pretrained(tiny_checkpoint, pause_edges=EDGES, head_dropout=0.0)
    shares = {"no_marks": 0.0, "other_marks": 1.0, "sentence_ends": 1.0, "lost": 0.0, "unknown": 0.0}
    lengths = {"other_length": 0.3, "sentence_end_length": 0.8, "spread": 0.01}
    collator = WindowCollator(SlotEncoder(tiny_tokenizer, model.config), simulator=simulator(**shares, **lengths))
    generator, n_words = np.random.default_rng(1), 20

    def batch(seed: int) -> dict[str, torch.Tensor]:
        pieces, labels = generator.integers(5, 60, (8, n_words)), generator.integers(0, 3, (8, n_words))
        counts = np.ones(n_words, dtype=np.uint8)
        rows = enumerate(zip(pieces, labels, strict=True))
        return collator([CutWindow(make_words(ids, counts, own), (seed, row)) for row, (ids, own) in rows])

    optimiser = torch.optim.Adam(model.classifier.parameters(), lr=1e-2)
    for step in range(60):
        optimiser.zero_grad()
        model(**batch(step)).loss.backward()
        optimiser.step()
    test = batch(1000)
    right = [
        (model(**inputs).logits.argmax(-1) == test["labels"])[:, :-1].float().mean().item()
        for inputs in (test, {name: tensor for name, tensor in test.items() if name != "pauses"})
    ]
    assert right[0] > 0.9
    assert right[1] < 0.6


def test_a_run_learns_pauses_and_goes_on(prepared, no_dropout, tmp_path, capsys):
    recipe = tmp_path / "pauses.yaml"
    content = {"name": "timed", "model": {"pause_edges": EDGES}, "pauses": {"windows": 1.0}}
    recipe.write_text(yaml.safe_dump(content))
    call = arguments(prepared, tmp_path / "run", no_dropout, "--recipe", str(recipe))
    assert train([*call, "--max-steps", "4"]) == 0
    assert train(call) == 0
    learned = weights(tmp_path / "run")["classifier.pauses.weight"]
    assert learned.shape == (5, 32)
    assert not learned[0].any()
    assert learned[1:].any(dim=1).all()
    assert json.loads((tmp_path / "run" / "final" / "config.json").read_text())["pause_edges"] == EDGES
    recipe.write_text(yaml.safe_dump({"name": "timed", "pauses": {"windows": 1.0}}))
    assert train(arguments(prepared, tmp_path / "other", no_dropout, "--recipe", str(recipe))) != 0
    assert "got one without pause_edges" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"windows": 1.5}, "windows in"),
        ({"other_length": -1}, "other_length in .* from 0 to 60"),
        ({"share": 1}, "share"),
    ],
)
def test_recipes_with_impossible_pauses_are_refused(fields, said):
    with pytest.raises(ValueError, match=said):
        build_recipe({"name": "bad", "pauses": fields})


def test_the_recipe_fits_its_model():
    recipe = load_recipe(EXAMPLES.parents[1] / "recipes" / "pauses.yaml")
    assert recipe.pauses.windows == 0.5
    PunctuationRestorationConfig(pause_edges=recipe.model["pause_edges"])
