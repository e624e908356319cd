"""The terms of Gemma go with every model that is made from one of its family."""

import shutil
from pathlib import Path

from transformers import AutoModelForTokenClassification, Gemma3TextConfig

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import NOTICES, PunctuationRestorationModel


def test_models_of_the_family_keep_notice_and_terms(tmp_path: Path) -> None:
    encoder = Gemma3TextConfig(
        vocab_size=16, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, head_dim=8,
        num_key_value_heads=1, use_bidirectional_attention=True,
    )  # fmt: skip
    model = PunctuationRestorationModel(PunctuationRestorationConfig(encoder_config=encoder))
    first, second = tmp_path / "first", tmp_path / "second"
    model.save_pretrained(first)
    assert not any((first / name).exists() for name in NOTICES)
    for name in NOTICES:
        (first / name).write_text(f"the {name}")
    (first / "other.txt").write_text("not theirs")
    loaded = AutoModelForTokenClassification.from_pretrained(first)
    shutil.rmtree(first)  # as a run removes the checkpoint that it went on from
    loaded.save_pretrained(second)
    assert [(second / name).read_text() for name in NOTICES] == [f"the {name}" for name in NOTICES]
    assert not (second / "other.txt").exists()
    loaded.encoder.save_pretrained(tmp_path / "encoder")
    for name in NOTICES:
        shutil.copy(second / name, tmp_path / "encoder")
    begun = PunctuationRestorationModel.from_encoder(str(tmp_path / "encoder"))
    begun.save_pretrained(tmp_path / "begun")
    assert (tmp_path / "begun" / "NOTICE").read_text() == "the NOTICE"


def test_a_model_that_learned_from_one_keeps_both_and_a_notice_alone_is_of_others(tiny_checkpoint: str, tmp_path: Path):
    model = Path(shutil.copytree(tiny_checkpoint, tmp_path / "model"))
    for name, kept in (("NOTICE", set()), ("GEMMA_TERMS_OF_USE.txt", set(NOTICES))):
        (model / name).write_text(f"the {name}")
        AutoModelForTokenClassification.from_pretrained(model).save_pretrained(saved := tmp_path / f"after {name}")
        assert {path.name for path in saved.iterdir()} & set(NOTICES) == kept
    assert [(saved / name).read_text() for name in NOTICES] == [f"the {name}" for name in NOTICES]
