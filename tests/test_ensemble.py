"""Several models that decide together give the mean of what each gives alone, whatever they are made of."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, pipeline

from punctuation_restoration.cli.evaluate import main as evaluate
from punctuation_restoration.cli.punctuate import main as punctuate
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel

TEXTS = ["hello how are you, 我们今天在北京 awak saya it's 3.5 the end", "", "you are the best " * 30]


def build(**options: Any) -> Any:
    return pipeline("punctuation-restoration", device="cpu", **options)


@pytest.fixture(scope="module")
def tiny_tagger(tiny_config: PunctuationRestorationConfig, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tagger with another encoder, other pieces (letters), other windows, and its labels in another order."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    letters = {piece: index for index, piece in enumerate([*special, *"abcdefghijklmnopqrstuvwxyz我们今天在北京"])}
    splitter = Tokenizer(models.WordPiece(letters, unk_token="[UNK]", continuing_subword_prefix=""))
    splitter.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=splitter, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )
    labels = [tiny_config.labels[index] for index in (0, 3, 1, 2)]
    encoder = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
        max_position_embeddings=120, pad_token_id=0,
    )  # fmt: skip
    config = PunctuationRestorationConfig(
        encoder_config=encoder.to_dict(), labels=labels, slot_style="last-piece", window=15, left_context=3,
        right_context=2, max_window_pieces=100, thresholds={"COMMA": 0.2, "PERIOD": 0.4},
    )  # fmt: skip
    torch.manual_seed(11)
    model = PunctuationRestorationModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    folder = tmp_path_factory.mktemp("tagger")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def scores(results: list[dict[str, Any]]) -> torch.Tensor:
    names = ("O", "COMMA", "PERIOD", "QUESTION")
    return torch.tensor([[word["scores"][name] for name in names] for result in results for word in result["words"]])


@pytest.mark.parametrize("existing", ["keep", "condition", "replace"])
def test_scores_are_the_means_of_what_each_model_gives_alone(
    tiny_checkpoint: str, tiny_tagger: str, existing: str
) -> None:
    alone = [build(model=name) for name in (tiny_checkpoint, tiny_tagger)]
    both = build(model=tiny_checkpoint, ensemble=[tiny_tagger])
    items = [*TEXTS, {"text": "hello you are the best", "known": {1: "QUESTION"}}]
    expected = sum(scores(restore(items, all_scores=True, existing=existing)) for restore in alone) / 2
    for batch_size in (None, 2):
        given = {"batch_size": batch_size} if batch_size else {}
        found = both(items, all_scores=True, existing=existing, **given)
        torch.testing.assert_close(scores(found), expected, atol=1e-5, rtol=0)
    again = pickle.loads(pickle.dumps(both))(items, all_scores=True, existing=existing)
    torch.testing.assert_close(scores(again), expected, atol=1e-5, rtol=0)


def test_a_model_with_itself_changes_nothing_and_pipelines_may_be_averaged(tiny_checkpoint: str) -> None:
    alone = build(model=tiny_checkpoint)
    twice = build(model=tiny_checkpoint, ensemble=alone.model.name_or_path)
    assert twice(TEXTS) == alone(TEXTS)
    thrice = build(model=tiny_checkpoint, ensemble=[twice])
    assert len(thrice.others) == 2
    for one, other in zip(thrice(TEXTS), alone(TEXTS), strict=True):
        assert one["text"] == other["text"]
    assert "".join(thrice.stream(["hello you are", " the best"])) == alone("hello you are the best")["text"]


def test_thresholds_are_means_where_all_models_have_one(tiny_checkpoint: str, tiny_tagger: str) -> None:
    first = build(model=tiny_checkpoint)
    first.model.config.thresholds = {"COMMA": 0.4, "QUESTION": 0.1}
    both = build(model=tiny_tagger, ensemble=[first], marks="all")
    assert both.thresholds == {"COMMA": pytest.approx(0.3)}
    assert first.thresholds == {"COMMA": 0.4, "QUESTION": 0.1}
    items = [TEXTS[0], TEXTS[2]]
    assert both(items) == both(items, marks="all", thresholds={"COMMA": 0.3})
    assert both(items) != both(items, thresholds={"COMMA": 0.9})


def test_each_model_has_its_own_temperature_before_the_mean(tiny_checkpoint: str, tiny_tagger: str) -> None:
    alone = [build(model=name) for name in (tiny_checkpoint, tiny_tagger)]
    for one, temperature in zip(alone, (0.5, 3.0), strict=True):
        one.model.config.calibration_temperature = temperature
    means = [
        [(first["scores"][label] + second["scores"][label]) / 2 for label in first["scores"]]
        for first, second in zip(*(one(TEXTS[0], all_scores=True)["words"] for one in alone), strict=True)
    ]
    both = build(model=alone[0].model, tokenizer=alone[0].tokenizer, ensemble=[alone[1]])
    words = both(TEXTS[0], all_scores=True)["words"]
    assert [list(word["scores"].values()) for word in words] == [pytest.approx(row, abs=1e-6) for row in means]


def test_what_cannot_be_averaged_is_refused(
    tiny_model: Any, tiny_tokenizer: Any, tiny_tagger: str, tmp_path: Path
) -> None:
    config = copy.deepcopy(tiny_model.config)
    config.labels = [*config.labels, {"name": "COLON", "before": "", "after": ":", "fill": ":"}]
    more = PunctuationRestorationModel(config)
    other = build(model=more, tokenizer=tiny_tokenizer)
    given = {"model": tiny_model, "tokenizer": tiny_tokenizer}
    with pytest.raises(ValueError, match=r"same labels in an ensemble, \['O', .*\], got .*'COLON'\].* --labels"):
        build(**given, ensemble=[other])
    BertModel(BertConfig.from_dict(tiny_model.config.encoder_config.to_dict())).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"Expected a model of the type 'punctuation-restoration' at .*, got 'bert'"):
        build(**given, ensemble=[str(tmp_path)])
    with pytest.raises(OSError, match="nowhere"):
        build(**given, ensemble=[str(tmp_path / "nowhere")])
    with pytest.raises(ValueError, match="Expected one model to save, got 2"):
        build(**given, ensemble=[build(**given)]).save_pretrained(tmp_path / "out")
    both = build(model=tiny_tagger, ensemble=[build(**given)])
    with pytest.raises(ValueError, match="window greater than left_context"):  # the contexts of the other are wider
        both("hello", window=8)


def test_the_commands_take_further_models(
    tiny_checkpoint: str, tiny_tagger: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    both = build(model=tiny_checkpoint, ensemble=[tiny_tagger])
    models_ = ["--model", tiny_checkpoint, "--ensemble", tiny_tagger]
    assert punctuate([*models_, "--device", "cpu", "--text", TEXTS[2]]) == 0
    assert capfd.readouterr().out.rstrip() == both(TEXTS[2])["text"].rstrip()
    text, out = tmp_path / "talk.txt", tmp_path / "out.json"
    text.write_text("Hello, you are here. Is the day? " * 4)
    assert evaluate([*models_, "--benchmark", str(text), "--output", str(out), "--device", "cpu"]) == 0
    (named,) = json.loads(out.read_text())["signature"]["settings"]["ensemble"]
    assert named["model"] == Path(tiny_tagger).name
    assert len(named["model_sha256"]) == 64
    assert punctuate(["--model", tiny_checkpoint, "--ensemble", str(tmp_path / "none"), "--text", "hello"]) == 3
    assert "--ensemble" in capfd.readouterr().err
