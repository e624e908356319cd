"""The second head of a model that knows capitals: saved, exported, trained."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from capitals import MIXED_CASE, prepared_talks
from training_runs import arguments
from transformers import AutoModelForTokenClassification, AutoTokenizer

from punctuation_restoration.cli.train import main as train
from punctuation_restoration.data.collation import windows_for_trainer
from punctuation_restoration.data.shards import open_shard, save_arrays
from punctuation_restoration.modeling.heads import NOT_SCORED
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.casing import AS_IS
from punctuation_restoration.training.losses import total_loss
from punctuation_restoration.training.settings import TrainingSettings


def test_a_new_head_changes_nothing_until_it_is_trained(tiny_checkpoint: str, batch: Any) -> None:
    plain = PunctuationRestorationModel.from_pretrained(tiny_checkpoint).eval()
    model = PunctuationRestorationModel.from_pretrained(tiny_checkpoint, casings=True).eval()
    assert plain.classifier.casings is None
    assert plain(**batch).casing_logits is None
    torch.testing.assert_close(model(**batch).logits, plain(**batch).logits)
    assert model(**batch).casing_logits.argmax(-1).unique().tolist() == [AS_IS]
    with pytest.raises(ValueError, match="Expected no casings"):
        plain(**batch, casings=batch["slot_positions"])


def test_the_head_is_saved_with_its_list(cased_model: str, batch: Any) -> None:
    loaded = PunctuationRestorationModel.from_pretrained(cased_model).eval()
    assert loaded.config.casings
    assert loaded.config.mixed_case == MIXED_CASE
    again = AutoModelForTokenClassification.from_pretrained(cased_model).eval()
    torch.testing.assert_close(again(**batch).casing_logits, loaded(**batch).casing_logits)
    assert loaded(**batch).casing_logits.shape == (3, 3, 4)


def test_the_loss_of_casings_is_added(cased_model: str, batch: Any) -> None:
    model = PunctuationRestorationModel.from_pretrained(cased_model).eval()
    labels, casings = torch.full((3, 3), NOT_SCORED), torch.full((3, 3), NOT_SCORED)
    labels[0, 0], casings[1, 2], casings[2, 0] = 1, 2, 3
    marks, both = model(**batch, labels=labels), model(**batch, labels=labels, casings=casings)
    scores = both.casing_logits.log_softmax(-1)
    expected = -(scores[1, 2, 2] + scores[2, 0, 3])
    torch.testing.assert_close(both.loss, marks.loss + expected / 2)
    settings = TrainingSettings(casing_weight=0.25)
    summed = total_loss(both.logits, labels, settings, casing_logits=both.casing_logits, casings=casings)
    torch.testing.assert_close(summed, marks.loss + 0.25 * expected)


def test_a_run_learns_casings_and_goes_on(
    cased_data: Path, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = ["--encoder-rate", "3e-3", "--head-rate", "1e-2", "--casing-weight", "5", "--dropout", "0"]
    more = ["--casings", *rates, "--evaluate-every", "30", "--max-steps"]
    for steps in ("2", "60"):
        assert train(arguments(str(cased_data), tmp_path, tiny_checkpoint, *more, steps)) == 0
    assert "of casings " in capsys.readouterr().out
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    f1s = [row["validation"]["casings_f1"] for row in rows if "validation" in row]
    assert f1s[-1] > 50 > f1s[0]
    model = PunctuationRestorationModel.from_pretrained(tmp_path / "final")
    assert model.config.mixed_case == ["McDonald", "iPhone"]


def test_casings_that_are_not_there_cannot_be_learned(
    tiny_checkpoint: str, cased_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepared_talks(tmp_path, tiny_checkpoint, casing=False)
    data, more = str(tmp_path / "data"), ["--max-steps", "2"]
    assert train(arguments(data, tmp_path / "a", tiny_checkpoint, *more, "--casings")) == 1
    assert "Expected data with casings for --casings, got none" in capsys.readouterr().err
    assert train(arguments(data, tmp_path / "b", tiny_checkpoint, *more)) == 0


def test_text_without_capitals_trains_the_marks_and_leaves_the_head_of_casings(
    tiny_checkpoint: str, cased_model: str, tmp_path: Path
) -> None:
    prepared_talks(tmp_path, tiny_checkpoint, casing=False)
    assert train(arguments(str(tmp_path / "data"), tmp_path / "run", cased_model, "--max-steps", "3")) == 0
    before, after = (
        PunctuationRestorationModel.from_pretrained(place) for place in (cased_model, tmp_path / "run/final")
    )
    assert after.config.casings
    for name, weight in before.classifier.casings.state_dict().items():
        assert torch.equal(after.classifier.casings.state_dict()[name], weight)
    assert not torch.equal(after.classifier.out_proj.weight, before.classifier.out_proj.weight)


def test_old_shards_train_a_model_without_casings(
    cased_data: Path, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    for path in cased_data.glob("*.safetensors"):
        save_arrays({name: rows for name, rows in open_shard(path).items() if name != "casings"}, old / path.name)
    index = json.loads((cased_data / "index.json").read_text())
    del index["mixed_case"]
    for counts in index["sources"][0]["splits"].values():
        counts.pop("n_cased")
    (old / "index.json").write_text(json.dumps(index))
    assert train(arguments(str(old), tmp_path / "run", tiny_checkpoint, "--max-steps", "2")) == 0
    # beside data with casings, it goes on learning them
    both = arguments(str(cased_data), tmp_path / "both", tiny_checkpoint, "--max-steps", "2", "--casings")
    both[2:2] = [str(old)]
    assert train(both) == 0
    assert "of casings" in capsys.readouterr().out


def test_transformers_trainer_learns_casings(cased_data: Path, cased_model: str) -> None:
    before = PunctuationRestorationModel.from_pretrained(cased_model)
    windows, collator = windows_for_trainer(
        str(cased_data), AutoTokenizer.from_pretrained(cased_model), before.config, 2
    )
    outputs = before.train()(**collator(windows))
    outputs.loss.backward()
    assert before.classifier.casings.weight.grad.abs().max() > 0
