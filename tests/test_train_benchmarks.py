"""The measuring programs run and write what they say, on a tiny model."""

import importlib
import itertools
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.training.labelling import label_folder_softly

ROOT = Path(__file__).parents[1]


def load(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{name}")


@pytest.fixture(scope="module")
def folders(tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`old` and `new` prepared text."""
    from punctuation_restoration.data.prepare import prepare, recipe_for_texts

    place = tmp_path_factory.mktemp("benchmark")
    for name, language in (("old", "en"), ("new", "id")):
        texts = place / f"{name}.txt"
        texts.write_text("\n\n".join(f"Hello, you are {letter}. Is the day? " * 6 for letter in "abcdefghijklmnopqrst"))
        prepare(recipe_for_texts([str(texts)], language, 0.3), place / name, tiny_checkpoint, 1)
    return place


def test_training_speed_compares_with_the_bare_encoder(
    folders: Path, tiny_encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "speed.json"
    call = ["--data", str(folders / "old"), "--encoder", str(tiny_encoder), "--rounds", "1", "--steps", "2"]
    for n_runs in (1, 2):
        assert load("training_speed").main([*call, "--pieces-per-batch", "256", "--output", str(out)]) == 0
        said = capsys.readouterr().out  # first how the encoder is read, then the result
        row = json.loads(said[said.index("{") :])
        runs = json.loads(out.read_text())["runs"]
        assert len(runs) == n_runs
        assert row.items() <= runs[-1].items()
        assert 0 < row["ratio"] < 2
        assert row["padding"] < 0.1


def test_a_new_language_is_scored_in_every_order(
    folders: Path, tiny_encoder: Path, tiny_checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load("new_language")
    from benchmarks import arms as experiments

    calls: list[list[str]] = []

    def run_here(command: list[str], **_: Any) -> None:
        calls.append(command)
        assert run_training([*command[3:], "--cpu", "--max-steps", "2", "--pieces-per-batch", "128"]) == 0

    monkeypatch.setattr(experiments, "subprocess", SimpleNamespace(run=run_here))
    call = ["--from", tiny_checkpoint, "--encoder", str(tiny_encoder), "--layers", "1", "--threads", "1"]
    more = ["--old", str(folders / "old"), "--new", str(folders / "new"), "--minutes", "1", "--amounts", "100"]
    out, document = tmp_path / "out.json", tmp_path / "doc.md"
    document.write_text(f"Before.\n{module.BEGIN}\nold\n{module.END}\nAfter.\n")
    more += ["--document", str(document)]
    assert module.main([*call, *more, "--work", str(tmp_path / "work"), "--out", str(out)]) == 0
    assert "| old, then new | 2 |" in document.read_text()
    assert "old\n<!--" not in document.read_text()
    rows = json.loads(out.read_text())["runs"]
    assert [row["order"] for row in rows] == [
        "before", "new only", "old, then new", "joint", "adapted", "from the encoder",
    ]  # fmt: skip
    assert all(set(row["f1"]) == {"en", "id"} for row in rows)
    assert len(calls) == 5
    assert module.main([*call, *more, "--work", str(tmp_path / "work"), "--out", str(out)]) == 0
    assert len(calls) == 5  # started again, it trains nothing twice
    assert json.loads(out.read_text())["runs"] == rows
    index = json.loads((tmp_path / "work" / "words-100" / "index.json").read_text())
    assert 100 <= index["sources"][0]["splits"]["train"]["n_words"] < 150


def test_arms_differ_in_one_thing_and_are_trained_once(
    folders: Path,
    tiny_encoder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = load("experiments")
    from benchmarks import arms as experiments

    calls: list[list[str]] = []

    def run_here(command: list[str], **_: Any) -> None:
        calls.append(command)
        assert run_training([*command[3:], "--cpu"]) == 0

    monkeypatch.setattr(experiments, "subprocess", SimpleNamespace(run=run_here))
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("name: tiny\nsources:\n- {path: old.txt, name: old, language: en}\nmodel: {mask_layers: 1}\n")
    out = tmp_path / "out.json"
    call = ["--data", str(folders / "old"), "--encoder", str(tiny_encoder), "--layers", "1", "--threads", "1"]
    more = ["--recipe", str(recipe), "--steps", "2", "--pieces-per-batch", "128", "--seeds", "1", "--out", str(out)]
    arms = ["--arms", "late masks", "tagging", "CRF", "a tenth of the text", "half the batch, double steps"]
    for _ in range(2):
        assert module.main([*call, *more, *arms, "--work", str(tmp_path / "work")]) == 0
    rows = json.loads(out.read_text())["runs"]
    assert [(row["arm"], row["steps"]) for row in rows] == [*((name, 2) for name in arms[1:-1]), (arms[-1], 4)]
    assert len(calls) == 5
    folders_of = [tmp_path / "work" / f"{name}-1" for name in ("late-masks", "tagging")]
    styles = [json.loads((folder / "settings.json").read_text()) for folder in folders_of]
    assert {key for key in styles[0] if styles[0][key] != styles[1][key]} == {"slot_style"}
    assert "| tagging | 1 |" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"Expected in .*tagging-1 a run of .*'--max-steps', '9'.*, it holds one of"):
        experiments.run(folders_of[1], [folders / "old"], [folders / "old"], "--max-steps", "9")


def test_arms_learn_from_teachers_more_or_less(
    folders: Path, tiny_checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load("experiments")
    from benchmarks import arms as experiments

    def run_here(command: list[str], **_: Any) -> None:
        assert run_training([*command[3:], "--cpu"]) == 0

    monkeypatch.setattr(experiments, "subprocess", SimpleNamespace(run=run_here))
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("name: tiny\nsources:\n- {path: old.txt, name: old, language: en}\n")
    old, soft, work = str(folders / "old"), tmp_path / "soft", tmp_path / "work"
    label_folder_softly(tiny_checkpoint, [old], soft)
    call = ["--data", old, "--from", tiny_checkpoint, "--threads", "1", "--recipe", str(recipe), "--steps", "2"]
    call += ["--pieces-per-batch", "128", "--seeds", "1", "--arms", "teachers", "--out", str(tmp_path / "out.json")]
    with pytest.raises(SystemExit):
        module.main(call)
    assert module.main([*call, "--soft-labels", str(soft), "--work", str(work)]) == 0
    runs = sorted(work.glob("teachers-*-1"))
    learned = [json.loads((run / "settings.json").read_text()) for run in runs]
    assert [(row["distil_weight"], row["temperature"]) for row in learned] == [(1.0, 2.0), (0.5, 2.0), (0.5, 1.0)]
    heads = [load_file(run / "final" / "model.safetensors")["classifier.out_proj.weight"] for run in runs]
    assert not any(torch.equal(one, other) for one, other in itertools.combinations(heads, 2))


def test_four_ways_of_reading_slots_see_the_same_words_and_are_compared(
    folders: Path, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load("slots")
    from benchmarks import arms as experiments

    calls: list[list[str]] = []

    def run_here(command: list[str], **_: Any) -> None:
        calls.append(command)
        assert run_training([*command[3:], "--cpu", "--log-every", "1"]) == 0

    monkeypatch.setattr(experiments, "subprocess", SimpleNamespace(run=run_here))
    recipe, text, document = tmp_path / "recipe.yaml", tmp_path / "talk.txt", tmp_path / "log.md"
    recipe.write_text(
        "name: tiny\nsources:\n- {path: old.txt, name: old, language: en}\nsampling: {lengths: {40: 0.5, 60: 0.5}}\n"
    )
    text.write_text("\n\n".join(["Hello, you are here. Is the day? " * 4] * 6))
    document.write_text(f"before\n{module.BEGIN}\n{module.END}\n")
    out, work = tmp_path / "slots.json", tmp_path / "work"
    call = ["--data", str(folders / "old"), "--encoder", str(tiny_encoder), "--layers", "2", "--recipe", str(recipe)]
    call += ["--pieces-per-batch", "128", "--words", "500", "--seeds", "1", "--sets", str(text), "--rounds", "1"]
    call += ["--texts", str(tmp_path), "--document", str(document), "--work", str(work), "--out", str(out)]
    for arms in ([module.BASELINE], list(module.ARMS)[1:]):  # on two evenings
        assert module.main([*call, "--validation-words", "50", "--arms", *arms]) == 0
    assert module.main([*call, "--validation-words", "50", "--arms", module.BASELINE]) == 0
    assert len(calls) == len(module.ARMS) == 4
    found = json.loads(out.read_text())
    rows = {row["arm"]: row for row in found["runs"]}
    assert [row.get("mask_layers") for row in rows.values()] == [2, 1, None, None]
    planned = found["signature"]["settings"]
    assert {row["steps"] for row in rows.values()} == {round(500 / planned["words_a_step"])}
    n_words, n_pieces = words_and_pieces_a_step(work / "masks-among-the-pieces-1", folders / "old")
    assert n_words == pytest.approx(planned["words_a_step"], rel=0.05)
    assert n_pieces - n_words == pytest.approx(planned["pieces_a_step"], rel=0.05)
    tagging, masks = rows["tagging"], rows["masks among the pieces"]
    assert list(tagging["curve"])[-1] == str(tagging["steps"])
    assert len(tagging["curve"]) > 3
    assert tagging["against_tagging"] == {}
    difference = masks["against_tagging"]["talk.txt"]["micro"]
    assert 100 * difference == pytest.approx(masks["f1"]["talk.txt"] - tagging["f1"]["talk.txt"], abs=0.011)
    pieces = {name: row["pieces_per_word"] for name, row in found["serving"].items()}
    assert pieces["masks among the pieces"] >= pieces["tagging"] + 1  # more where windows overlap
    assert pieces["mask stream, all layers"] == pieces["tagging"]
    assert f"| tagging | 1 | {tagging['f1']['talk.txt']:.1f} |" in document.read_text()


def words_and_pieces_a_step(place: Path, folder: Path) -> tuple[float, float]:
    """Means over the first steps of a run, as its recipe and its settings make them."""
    from transformers import AutoConfig, AutoTokenizer

    from punctuation_restoration.data.recipe import load_recipe
    from punctuation_restoration.data.shards import read_index
    from punctuation_restoration.pipeline.slots import SlotEncoder
    from punctuation_restoration.training.building import batch_source
    from punctuation_restoration.training.settings import TrainingSettings

    settings = TrainingSettings(**json.loads((place / "settings.json").read_text()))
    config = AutoConfig.from_pretrained(place / "final")
    slots = SlotEncoder(AutoTokenizer.from_pretrained(place / "final"), config)
    recipe = load_recipe(place.with_suffix(".yaml"))
    source = batch_source(settings, recipe, read_index(folder), slots, config, (0, 1))
    batches = [batch for step in range(100) for batch in source.step(step)]
    return (
        sum(int((batch["slot_positions"] != 0).sum()) for batch in batches) / 100,
        sum(int(batch["attention_mask"].sum()) for batch in batches) / 100,
    )


def test_a_group_names_its_arms_and_words_are_steps(folders: Path) -> None:
    module = load("experiments")
    call = ["--data", str(folders / "old"), "--encoder", "any", "--out", "out.json", "--pieces-per-batch", "100"]
    args = module.parse_args([*call, "--arms", "heads", "CRF", "augmentations", "--words", "2e4"])
    assert args.arms == [module.BASELINE, *module.HEADS, *module.AUGMENTATIONS]
    train = [row["splits"]["train"] for row in json.loads((folders / "old" / "index.json").read_text())["sources"]]
    n_pieces, n_words = (sum(row[unit] for row in train) for unit in ("n_pieces", "n_words"))
    assert args.steps == round(2e4 * n_pieces / n_words / 100)
    assert set(args.arms) <= set(module.ARMS)


def test_pieces_as_words_keep_the_mark_at_the_last_piece() -> None:
    module = load("experiments")
    from punctuation_restoration.data.shards import PackedDocument

    words = PackedDocument(7, np.array([11, 12, 13, 14]), np.array([2, 1, 1], np.uint8), np.array([1, 0, 2], np.uint8))
    pieces = module.by_pieces(words)
    assert pieces.labels.tolist() == [0, 1, 0, 2]
    assert pieces.piece_counts.tolist() == [1, 1, 1, 1]
    assert pieces.piece_ids.tolist() == [11, 12, 13, 14]


def test_the_table_shows_means_and_distances_from_the_baseline() -> None:
    module = load("experiments")
    rows = [
        {"arm": "late masks", "f1": {"en": 60.0}},
        {"arm": "late masks", "f1": {"en": 62.0}},
        {"arm": "tagging", "f1": {"en": 60.5}},
    ]
    assert module.table(rows).splitlines()[2:] == ["| late masks | 2 | 61.0 |", "| tagging | 1 | 60.5 (-0.5) |"]


def test_a_part_of_the_text_holds_the_first_documents_and_all_held_out_ones(folders: Path, tmp_path: Path) -> None:
    from benchmarks.arms import cut_folder
    from punctuation_restoration.data.shards import open_shard, read_index

    (whole,) = read_index(folders / "old")["sources"]
    (part,) = read_index(cut_folder(folders / "old", tmp_path / "part", 0.3))["sources"]
    arrays = [open_shard(Path(row["splits"]["train"]["shards"][0]["file"])) for row in (whole, part)]
    n_words = part["splits"]["train"]["n_words"]
    assert 0.3 <= n_words / whole["splits"]["train"]["n_words"] < 0.3 + 1 / whole["splits"]["train"]["n_documents"]
    assert np.array_equal(arrays[0]["labels"][:n_words], arrays[1]["labels"])
    assert part["splits"]["validation"]["n_words"] == whole["splits"]["validation"]["n_words"] > 0
    assert Path(part["splits"]["validation"]["shards"][0]["file"]).is_file()


def test_the_vector_of_a_late_mask_is_measured_and_set_to_zero(tiny_config: Any, tiny_tokenizer: Any) -> None:
    from transformers import pipeline

    from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel

    config = type(tiny_config)(**{**tiny_config.to_dict(), "slot_style": "late-mask"})
    model = PunctuationRestorationModel(config).eval()
    with torch.no_grad():
        model.mask_state.fill_(0.0)
        model.mask_state[0] = 3.0
    build: Any = pipeline
    restore = build("punctuation-restoration", model=model, tokenizer=tiny_tokenizer, device="cpu")
    found = load("late_mask").measure(restore, ["hello, you are here. is he the man?"])
    assert (found["vector_length"], found["n_words"]) == (3.0, 8)
    assert 0 <= found["n_changed"] <= 8
    assert found["state_length"] > 0
    assert not model.mask_state.any()
    model.config.slot_style = "last-piece"
    with pytest.raises(ValueError, match="late masks"):
        load("late_mask").measure(restore, ["hello"])


def test_the_table_of_the_data_keeps_the_counts_alone(folders: Path, tmp_path: Path) -> None:
    module = load("data_table")
    out, document = tmp_path / "data.json", tmp_path / "data.md"
    document.write_text(f"before\n{module.BEGIN}\nold\n{module.END}\nafter\n")
    assert module.main([str(folders / "old"), "--output", str(out), "--document", str(document)]) == 0
    found = json.loads(out.read_text())
    (source,) = found["sources"]
    train = source["splits"]["train"]
    assert sum(train["n_labels"]) == train["n_words"] > 0
    assert str(folders) not in out.read_text()
    assert f"| en | old | {train['n_documents']:,} | {train['n_words']:,} |" in document.read_text()
    assert module.as_json(found) == out.read_text()


def test_the_document_on_the_data_quotes_its_counts() -> None:
    module = load("data_table")
    found = json.loads((ROOT / "results" / "data.json").read_text(encoding="utf-8"))
    text = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    assert module.fill(text, found) == text


def test_what_lies_beyond_a_cap_is_held_out(tiny_checkpoint: str, tmp_path: Path) -> None:
    from punctuation_restoration.data.prepare import prepare
    from punctuation_restoration.data.recipe import load_recipe
    from punctuation_restoration.data.shards import hash_id, read_hashes

    rows = [{"id": f"d{n}", "text": f"Hello, you are {n}. Is the day? " * 6} for n in range(9)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    recipe = tmp_path / "recipe.yaml"
    source = "{path: a.jsonl, language: en, max_words: 200}"  # 42 words a document: the fifth is the last one
    recipe.write_text(f"name: r\nroot: {tmp_path}\nsources: [{source}]\n", encoding="utf-8")
    prepare(load_recipe(recipe), tmp_path / "prepared", tiny_checkpoint, n_processes=1)
    output = tmp_path / "held_out" / "a.txt"
    arguments = [str(tmp_path / "prepared"), "a", str(output), "--recipe", str(recipe)]
    assert load("beyond_cap").main(arguments) == 0
    assert read_hashes(str(output)) == {hash_id(f"d{n}") for n in range(5, 9)}
    with pytest.raises(ValueError, match="0 of 0"):
        load("beyond_cap").main([str(tmp_path / "prepared"), "other", str(output), "--recipe", str(recipe)])


def test_steps_done_twice_after_a_stop_are_counted_once(tmp_path: Path) -> None:
    from benchmarks.arms import read_log, seen

    rows = [
        {"step": 10, "minutes": 1.0, "words_per_second": 10.0},
        {"step": 20, "minutes": 9.0, "words_per_second": 10.0},
        {"step": 30, "minutes": 12.0, "words_per_second": 10.0},
        {"step": 20, "minutes": 2.0, "words_per_second": 20.0},  # went on from a checkpoint at step 10
        {"step": 20, "validation": {"f1": 1.0}},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, rows)))
    assert read_log(log) == [rows[0], rows[3], rows[4]]
    assert seen(read_log(log), "words") == 60 * 10 + 60 * 20
