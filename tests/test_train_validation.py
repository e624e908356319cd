"""Validation cuts, reads and decides text as serving does; the example for transformers' Trainer runs."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from training_runs import first_shard
from transformers import AutoTokenizer, pipeline

from punctuation_restoration.data.preparation import prepare
from punctuation_restoration.data.recipe import Recipe, recipe_for_texts
from punctuation_restoration.data.shards import WordStream, read_index
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.batches import batch_source
from punctuation_restoration.training.building import load_own_model
from punctuation_restoration.training.settings import TrainingSettings
from punctuation_restoration.training.validation import Validation, scores_of, source_windows

WORDS = "hello you are the best is day say saya awak xyz".split()


@pytest.fixture
def model(tiny_config, tiny_tokenizer, tmp_path) -> str:
    """A model whose windows are short, so that their pieces bound them."""
    sizes = {"window": 40, "left_context": 8, "right_context": 4, "max_window_pieces": 24}
    model = PunctuationRestorationModel(PunctuationRestorationConfig(**{**tiny_config.to_dict(), **sizes}))
    model.save_pretrained(tmp_path / "model")
    tiny_tokenizer.save_pretrained(tmp_path / "model")
    return str(tmp_path / "model")


def test_validation_and_serving_cut_the_same_windows_and_training_none_longer(model, tmp_path):
    text = " ".join(WORDS[n * n % len(WORDS)] + "." * (n % 5 == 4) for n in range(150))
    (tmp_path / "text.txt").write_text(text)
    data = prepare(recipe_for_texts([str(tmp_path / "text.txt")], "en", 0.0), tmp_path / "data", model, 1)
    slots = SlotEncoder(AutoTokenizer.from_pretrained(model), load_own_model(model).config)
    restore = pipeline("punctuation-restoration", model=model, device="cpu")
    served = list(restore.preprocess(text, existing="replace"))
    checked = source_windows(WordStream(first_shard(data)), slots)
    assert len(served) > 5
    assert [one["window"].kept for one in served] == [one.scored for one in checked]
    for one, other in zip(served, checked, strict=True):
        assert len(one["input_ids"]) <= slots.config.max_window_pieces
        assert one["window"].end - one["window"].first == len(other.words.labels)
    batches = batch_source(TrainingSettings(pieces_per_batch=200), Recipe("r", ()), data, slots)
    widths = [batch["input_ids"].shape[1] for step in range(5) for batch in batches[step]]
    assert max(widths) <= slots.config.max_window_pieces


def test_the_trainer_example_runs_and_evaluates_as_training_does(
    tiny_checkpoint: str, prepared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (Path(__file__).parents[1] / "recipes" / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    changes = {
        '"checkpoints/en-zh-ms"': repr(tiny_checkpoint),
        '"prepared/"': repr(prepared),
        "n_windows=20_000": "n_windows=20",
        "max_steps=2000": "max_steps=2, use_cpu=True, report_to=[], disable_tqdm=True",
    }
    for old, new in changes.items():
        assert old in code
        code = code.replace(old, new)
    monkeypatch.chdir(tmp_path)
    made: dict[str, Any] = {}
    exec(compile(code, "recipes/README.md", "exec"), made)
    before = load_file(Path(tiny_checkpoint) / "model.safetensors")
    after = load_file(tmp_path / "runs" / "trainer" / "final" / "model.safetensors")
    assert any((before[name] != after[name]).any() for name in before)
    torch.nn.init.normal_(made["model"].classifier.out_proj.weight, std=3.0)  # so that it writes marks
    made["model"].save_pretrained("final")
    made["tokenizer"].save_pretrained("final")
    model = load_own_model("final").eval()
    slots = SlotEncoder(AutoTokenizer.from_pretrained("final"), model.config)
    validation = Validation(read_index(prepared), slots, 10**6)
    ours = scores_of(validation.read(model), model.config.label_names)["languages"]["en"]
    theirs = made["trainer"].evaluate()
    assert 0 < ours["f1"] == pytest.approx(100 * theirs["eval_micro_f1"])
    assert ours["PERIOD"] == pytest.approx(100 * theirs["eval_period_f1"])
    assert ours["n_words"] == theirs["eval_n_words"] > 100
    made["model"].config.words_alone = True  # its words are not those of the data
    for helper, more in (("windows_for_trainer", [20]), ("windows_to_evaluate", [])):
        with pytest.raises(ValueError, match="words_alone=True, got False"):
            made[helper](prepared, made["tokenizer"], made["model"].config, *more)
