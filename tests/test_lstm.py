"""The small encoder that reads to the right only: its shift, what it is shown, and where it goes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from training_runs import arguments
from transformers import AutoModel, AutoTokenizer, pipeline

from examples.from_nothing import main as start
from punctuation_restoration.cli.train import main as train
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.encoders import PunctuationLSTM
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.onnx_export import export_onnx
from punctuation_restoration.pipeline.slots import SlotEncoder

SHIFT = 2


def make_model(tokenizer: Any, n_layers: int = 2, shift: int = SHIFT, **fields: Any) -> Any:
    """Random weights, large enough that labels differ from word to word."""
    torch.manual_seed(5)
    sizes = {"vocab_size": len(tokenizer), "embedding_size": 12, "hidden_size": 24, "num_hidden_layers": n_layers}
    encoder = {"model_type": "punctuation-lstm", **sizes}
    config = PunctuationRestorationConfig(encoder_config=encoder, shift=shift, slot_style="last-piece", **fields)
    model = PunctuationRestorationModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4.0)
        model.encoder.embed_tokens.weight.mul_(10.0)
    return model


@pytest.fixture(scope="module")
def model(tiny_tokenizer: Any) -> Any:
    return make_model(tiny_tokenizer, max_window_pieces=2000)


def test_a_slot_is_read_so_many_pieces_behind_its_word(model: Any, tiny_tokenizer: Any) -> None:
    slots = SlotEncoder(tiny_tokenizer, model.config)
    pieces = slots.pieces(["hello", "josh", "is"])
    ids, places = slots.assemble(pieces)
    assert tiny_tokenizer.convert_ids_to_tokens(ids) == [
        "<s>", "▁hello", "▁j", "o", "s", "h", "▁is", "</s>", "<pad>", "<pad>",
    ]  # fmt: skip
    assert places == [1 + SHIFT, 5 + SHIFT, 6 + SHIFT]
    assert places[-1] < len(ids)


def test_a_piece_beyond_the_shift_changes_nothing_and_one_within_it_does(model: Any, tiny_tokenizer: Any) -> None:
    slots = SlotEncoder(tiny_tokenizer, model.config)
    words = ["you", "are", "the", "hello", "is", "you"]  # one piece each

    def logits(words: list[str]) -> torch.Tensor:
        ids, places = slots.assemble(slots.pieces(words))
        return model(input_ids=torch.tensor([ids]), slot_positions=torch.tensor([places])).logits[0]

    for place in range(1, 6):
        changed = (logits(words) != logits([*words[:place], "saya", *words[place + 1 :]])).any(-1)
        assert changed.tolist() == [index + SHIFT >= place for index in range(6)]


def test_the_encoder_saved_alone_loads_as_any(model: Any, tmp_path: Path) -> None:
    model.encoder.save_pretrained(tmp_path)
    loaded = AutoModel.from_pretrained(tmp_path)
    assert isinstance(loaded, PunctuationLSTM)
    ids = torch.tensor([[4, 9, 5]])
    torch.testing.assert_close(loaded(input_ids=ids).last_hidden_state, model.encoder(input_ids=ids).last_hidden_state)


def test_digits_are_zero_for_the_encoder_and_nowhere_else(tiny_tokenizer: Any, tiny_config: Any) -> None:
    fields = {**tiny_config.to_dict(), "digits_as_zero": True}
    slots = SlotEncoder(tiny_tokenizer, PunctuationRestorationConfig(**fields))
    assert slots.pieces(["3.5", "b2b"]) == slots.pieces(["0.0", "b0b"])
    assert SlotEncoder(tiny_tokenizer, tiny_config).pieces(["3.5"]) != slots.pieces(["3.5"])
    build: Any = pipeline
    model = make_model(tiny_tokenizer, digits_as_zero=True)
    digits = build("punctuation-restoration", model=model, tokenizer=tiny_tokenizer)
    assert [word["word"] for word in digits("pay 3.5 now")["words"]] == ["pay", "3.5", "now"]


@pytest.fixture(scope="module")
def started(texts: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model from nothing, with the pieces of a small text."""
    out = tmp_path_factory.mktemp("start") / "model"
    sizes = ["--pieces", "90", "--embedding-size", "16", "--hidden-size", "32", "--shift", "3"]
    assert start(["--texts", texts, "--output", str(out), *sizes]) == 0
    return out


def test_a_model_from_nothing_has_pieces_of_its_texts_and_no_mask(started: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(started)
    model = PunctuationRestorationModel.from_pretrained(started)
    assert model.config.shift == 3
    assert model.config.digits_as_zero
    assert len(tokenizer) == model.get_input_embeddings().num_embeddings <= 90
    assert tokenizer.mask_token is None
    slots = SlotEncoder(tokenizer, model.config)
    (hello,) = slots.pieces(["Hello"])
    assert "".join(tokenizer.convert_ids_to_tokens(hello)) == "▁hello"
    assert len(hello) < 5  # pairs were joined
    assert slots.pieces(["大家"]) == [[slots.unk_id] * 2]  # not in its texts


def test_it_is_trained_whole_from_plain_text_and_goes_on(started: Path, texts: str, tmp_path: Path) -> None:
    before = PunctuationRestorationModel.from_pretrained(started)
    for steps in ("2", "4"):
        run_arguments = arguments(texts, tmp_path, str(started), "--encoder-rate", "0.01", "--max-steps", steps)
        assert train(run_arguments) == 0
    after = PunctuationRestorationModel.from_pretrained(tmp_path / "final")
    for name, weight in after.encoder.named_parameters():
        assert not torch.equal(weight, before.encoder.get_parameter(name)), name


def test_onnx_is_refused_by_name(tiny_tokenizer: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"without an LSTM or a CRF for ONNX.*Use backend 'torch'"):
        export_onnx(make_model(tiny_tokenizer), tmp_path / "model.onnx", 1, in_int8=False)
