"""Capitals in training: what texts say of them, what is kept of it, and the second head of a model that learns them."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from capitals import MIXED_CASE, prepared_talks
from safetensors.torch import load_file
from training_runs import arguments, first_shard, rows_of, run_training, weights
from transformers import AutoModelForTokenClassification, AutoTokenizer

from punctuation_restoration.data.casings import LONG, UNKNOWN, casing_targets, sentence_begins, written_casings
from punctuation_restoration.data.collation import WindowCollator, windows_for_trainer
from punctuation_restoration.data.preparation import mixed_case_words
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import WordStream, make_words, open_shard, read_index
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED, PunctuationRestorationModel
from punctuation_restoration.pipeline.casing import AS_IS, CAPITAL, MIXED, UPPER
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.losses import total_loss
from punctuation_restoration.training.settings import TrainingSettings


def test_a_new_head_changes_nothing_until_it_is_trained_and_is_saved_with_its_list(
    tiny_checkpoint: str, cased_model: str, batch: Any
) -> None:
    plain = PunctuationRestorationModel.from_pretrained(tiny_checkpoint).eval()
    model = PunctuationRestorationModel.from_pretrained(tiny_checkpoint, casings=True).eval()
    assert plain.classifier.casings is plain(**batch).casing_logits is None
    torch.testing.assert_close(model(**batch).logits, plain(**batch).logits)
    assert model(**batch).casing_logits.argmax(-1).unique().tolist() == [AS_IS]
    with pytest.raises(ValueError, match="Expected no casings"):
        plain(**batch, casings=batch["slot_positions"])
    trained = PunctuationRestorationModel.from_pretrained(cased_model).eval()
    assert trained.config.mixed_case == MIXED_CASE
    again = AutoModelForTokenClassification.from_pretrained(cased_model).eval()
    torch.testing.assert_close(again(**batch).casing_logits, trained(**batch).casing_logits)
    assert trained(**batch).casing_logits.shape == (3, 3, 4)


def test_the_loss_of_casings_is_added(cased_model: str, batch: Any) -> None:
    model = PunctuationRestorationModel.from_pretrained(cased_model).eval()
    labels, casings = torch.full((3, 3), NOT_SCORED), torch.full((3, 3), NOT_SCORED)
    labels[0, 0], casings[1, 2], casings[2, 0] = 1, 2, 3
    marks, both = model(**batch, labels=labels), model(**batch, labels=labels, casings=casings)
    scores = both.casing_logits.log_softmax(-1)
    expected = -(scores[1, 2, 2] + scores[2, 0, 3])
    torch.testing.assert_close(both.loss, marks.loss + expected / 2)
    settings = TrainingSettings(casing_weight=0.25)
    summed = total_loss(both.logits, both.casing_logits, settings, labels, casings=casings)
    torch.testing.assert_close(summed, marks.loss + 0.25 * expected)


def test_a_run_learns_casings_and_goes_on(
    cased_data: Path, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = ["--encoder-rate", "3e-3", "--head-rate", "1e-2", "--casing-weight", "5", "--dropout", "0"]
    more = ["--casings", *rates, "--evaluate-every", "30", "--checkpoint-every", "60", "--max-steps"]
    for steps in ("2", "60"):
        assert run_training(arguments(str(cased_data), tmp_path, tiny_checkpoint, *more, steps)) == 0
    assert "F1 of capitals" in capsys.readouterr().out
    f1s = [row["validation"]["casings_f1"] for row in rows_of(tmp_path) if "validation" in row]
    assert f1s[-1] > 50 > f1s[0]
    model = PunctuationRestorationModel.from_pretrained(tmp_path / "final")
    assert model.config.mixed_case == ["McDonald", "iPhone"]


def test_text_without_capitals_says_nothing_trains_the_marks_and_leaves_the_head_of_casings(
    tiny_checkpoint: str, cased_model: str, cased_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = prepared_talks(tmp_path, tiny_checkpoint, str.lower)
    assert "casings" not in open_shard(first_shard(index))
    assert index["mixed_case"] == {}
    assert set(WordStream(first_shard(index)).words(0, 9).casings.tolist()) == {UNKNOWN}
    data, more = str(tmp_path / "data"), ["--max-steps", "2"]
    assert run_training(arguments(data, tmp_path / "asked", tiny_checkpoint, *more, "--casings")) == 1
    assert "Expected data with casings for --casings, got none" in capsys.readouterr().err
    assert run_training(arguments(data, tmp_path / "run", cased_model, *more)) == 0
    before, after = load_file(Path(cased_model) / "model.safetensors"), weights(tmp_path / "run")
    assert any("casings" in name for name in after)
    for name in before:
        if name.startswith("classifier."):
            assert torch.equal(after[name], before[name]) == ("casings" in name), name
    call = arguments(data, tmp_path / "both", tiny_checkpoint, *more, "--casings")  # beside data with casings
    assert run_training(["--data", str(cased_data), *call[1:]]) == 0
    assert "F1 of capitals" in capsys.readouterr().out


def test_transformers_trainer_learns_casings(cased_data: Path, cased_model: str) -> None:
    model = PunctuationRestorationModel.from_pretrained(cased_model).train()
    tokenizer = AutoTokenizer.from_pretrained(cased_model)
    windows, collator = windows_for_trainer(str(cased_data), tokenizer, model.config, 2)
    model(**collator(windows)).loss.backward()
    assert model.classifier.casings.weight.grad.abs().max() > 0


def said(text: str) -> list[int]:
    """The targets of the words of a text in which only periods end sentences, written behind a blank."""
    tokens = text.split()
    words = [token for token in tokens if token != "."]
    is_stop = np.array([after == "." for before, after in pairwise([*tokens, ""]) if before != "."])
    begins = sentence_begins(is_stop)
    return casing_targets(words, begins, written_casings(words, begins)).tolist()


def test_a_sentence_start_says_nothing_unless_it_is_certain() -> None:
    assert said("He met Mary . Mary came . NASA called her . iPhone . Her dog ran") == [
        UNKNOWN, AS_IS, CAPITAL, CAPITAL, AS_IS, UPPER, AS_IS, AS_IS, MIXED, AS_IS, AS_IS, AS_IS,
    ]  # fmt: skip
    assert said("We met May . May we go , as we may")[3] == UNKNOWN  # written in both ways
    assert said("She asked why . he left . Then we 我们 go . We 3 go")[3] == AS_IS


@pytest.mark.parametrize(
    "text",
    [
        "he met mary . mary came . nasa called . her dog ran",  # nobody cared
        "HE MET MARY . MARY CAME . NASA CALLED", "He Met Mary And Went . Mary Came To Town",
        "We go . " * 2 + "So " + "we go on " * LONG + ". Mary came",  # long, and no capital inside a sentence
        "", "我们 . 3",
    ],
)  # fmt: skip
def test_texts_whose_letters_say_nothing(text: str) -> None:
    assert set(said(text)) <= {UNKNOWN}


def test_headlines_in_a_text_say_nothing() -> None:
    text = "We met and went . Mary Met John In Paris . WE GO . They came to us and to them and left"
    assert said(text)[:12] == [UNKNOWN, *[AS_IS] * 3, *[UNKNOWN] * 8]


EXPECTED = [  # of the words of TALK
    UNKNOWN, AS_IS, AS_IS, CAPITAL, CAPITAL, AS_IS, AS_IS, AS_IS, AS_IS, UPPER, AS_IS, AS_IS, AS_IS, AS_IS,
    AS_IS, MIXED, AS_IS, AS_IS, AS_IS, AS_IS, MIXED, UNKNOWN, CAPITAL,
]  # fmt: skip


def test_shards_have_the_casing_of_each_word_and_the_index_the_mixed_ones(cased_data: Path) -> None:
    index = read_index(cased_data)
    arrays = open_shard(first_shard(index))
    n_words = len(EXPECTED) + 4
    assert arrays["casings"][:n_words].tolist() == [*EXPECTED, AS_IS, AS_IS, AS_IS, UNKNOWN]
    splits = index["sources"][0]["splits"]
    n_documents = splits["train"]["n_documents"]
    assert index["mixed_case"] == {"McDonald": n_documents, "iPhone": n_documents}
    assert sum(split["n_cased"] for split in splits.values()) == 8 * (n_words - 3)  # of eight talks
    assert read_index(cased_data, cased_data)["mixed_case"]["iPhone"] == 2 * n_documents


def test_a_word_is_mixed_where_most_documents_write_it_so() -> None:
    found = Counter({"Dr": 9, "dR": 2, "PH": 5, "pH": 5, "iPhone": 3, "Iphone": 1, "McDonald": 4, "once": 1, "eBay": 1})
    assert list(mixed_case_words(found).items()) == [("McDonald", 4), ("iPhone", 3)]
    assert "pH" in mixed_case_words(found + Counter(["pH"]))


def test_batches_have_casings_where_they_are_learned(tiny_tokenizer: Any, tiny_config: Any) -> None:
    casings = np.array([AS_IS, UPPER, UNKNOWN], dtype=np.uint8)
    windows = [
        CutWindow(make_words(np.arange(5, 8), np.ones(3, np.uint8), np.array([1, 2, 1]), own), (seed,))
        for seed, own in ((1, casings), (2, casings[:3]), (3, None))
    ]
    plain, cased = (type(tiny_config)(**{**tiny_config.to_dict(), "casings": knows}) for knows in (False, True))
    slots = SlotEncoder(tiny_tokenizer, cased)
    batch = WindowCollator(slots)(windows)
    assert batch["casings"].tolist() == [[AS_IS, UPPER, NOT_SCORED]] * 2 + [[NOT_SCORED] * 3]
    assert "casings" not in WindowCollator(SlotEncoder(tiny_tokenizer, plain))(windows)
