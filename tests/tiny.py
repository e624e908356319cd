"""What the tests share: a tiny tokenizer and model, made here, and data for them."""

import copy
import gc
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest
import torch
from capitals import MIXED_CASE, prepared_talks
from restorers import Command, StandIn
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, BertConfig, PreTrainedTokenizerFast, pipeline

import punctuation_restoration  # noqa: F401  (registers the task)
from punctuation_restoration.cli import punctuate
from punctuation_restoration.data.preparation import prepare
from punctuation_restoration.data.recipe import recipe_for_texts
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel

torch.set_num_threads(1)
gc.collect()
gc.freeze()  # the libraries' own objects, which every full collection would walk through for 0.2 seconds

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
WHOLE_PIECES = ["▁", "▁the", "▁you", "▁are", "▁hello", "▁is", "ing", "▁saya", "▁awak", "我们", "大家", "你好", "▁我们"]
PUNCTUATED = "Hello, you are the best. Is the day you say? Saya awak, hello the is. We say: the best you. "
CHARACTERS = list("abcdefghijklmnopqrstuvwxyz0123456789.,?!'-:/@<>_我们你好大家今天是的了不在他说吗很北京人")


@pytest.fixture(autouse=True)
def _fresh_accelerator() -> Iterator[None]:
    """accelerate keeps the first number format of a process, and refuses another; training flushes tiny numbers."""
    yield
    torch.set_flush_denormal(False)
    if state := sys.modules.get("accelerate.state"):
        state.AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture(scope="session")
def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """A SentencePiece-like tokenizer of about eighty pieces, with the normalisation of XLM-R's (NFKC)."""
    pieces = [*SPECIAL, *WHOLE_PIECES, *CHARACTERS, *(f"▁{letter}" for letter in ascii_lowercase), "<mask>"]
    scores = [(piece, -float(10 - min(len(piece), 8))) for piece in dict.fromkeys(pieces)]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=3))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>",
        pad_token="<pad>", unk_token="<unk>", mask_token="<mask>", model_max_length=512,
    )  # fmt: skip


@pytest.fixture
def batch() -> dict[str, torch.Tensor]:
    """Three windows, the last of which is padded (with 1), for models whose slots stand at the words' last pieces."""
    torch.manual_seed(3)
    mask = torch.ones(3, 20, dtype=torch.long)
    mask[-1, 14:] = 0
    input_ids = torch.where(mask.bool(), torch.randint(4, 60, mask.shape), 1)
    return {"input_ids": input_ids, "attention_mask": mask, "slot_positions": torch.tensor([[2, 5, 9]] * 3)}


@pytest.fixture(scope="session")
def tiny_config(tiny_tokenizer: PreTrainedTokenizerFast) -> PunctuationRestorationConfig:
    encoder = BertConfig(
        vocab_size=len(tiny_tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=160, pad_token_id=tiny_tokenizer.pad_token_id,
    )  # fmt: skip
    sizes = {"head_width": 48, "window": 24, "left_context": 8, "right_context": 4, "max_window_pieces": 128}
    return PunctuationRestorationConfig(encoder_config=encoder.to_dict(), **sizes)


@pytest.fixture(scope="session")
def tiny_model(tiny_config: PunctuationRestorationConfig) -> PunctuationRestorationModel:
    """Random weights, large enough that labels differ from word to word; it knows nothing."""
    torch.manual_seed(7)
    model = PunctuationRestorationModel(copy.deepcopy(tiny_config)).eval()  # saving a pipeline changes its model's own
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
        model.classifier.out_proj.weight.mul_(8.0)
    return model


@pytest.fixture(scope="session")
def tiny_checkpoint(tiny_model, tiny_tokenizer, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tiny") / "checkpoint"
    tiny_model.save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def tiny_encoder(tiny_model, tiny_tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The encoder of the tiny model, with its tokenizer, in a folder."""
    folder = tmp_path_factory.mktemp("encoder") / "bert"
    tiny_model.encoder.save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_pipeline(tiny_model, tiny_tokenizer):
    return pipeline("punctuation-restoration", model=tiny_model, tokenizer=tiny_tokenizer, device="cpu")


@pytest.fixture(scope="session")
def restore(tiny_model, tiny_tokenizer):
    """Marks every word, so that no place can be missed: what is most probable of the marks alone."""
    thresholds = {"COMMA": 0.0, "PERIOD": 0.0, "QUESTION": 0.0}
    return pipeline("punctuation-restoration", model=tiny_model, tokenizer=tiny_tokenizer, thresholds=thresholds)


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("texts")
    paragraphs = [f"{PUNCTUATED * 4}You are {'abcdefghij'[n % 10] * (n // 10 + 1)}." for n in range(40)]
    (folder / "talks.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
    return str(folder)


@pytest.fixture(scope="session")
def prepared(texts: str, tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("prepared")
    prepare(recipe_for_texts([texts], "en", validation=0.15), folder, tiny_checkpoint, n_processes=1)
    return str(folder)


@pytest.fixture(scope="session")
def no_dropout(tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tiny model without dropout in its classifier: dropout is drawn by batch, so it hides what is to be equal."""
    folder = tmp_path_factory.mktemp("no-dropout")
    PunctuationRestorationModel.from_pretrained(tiny_checkpoint, head_dropout=0.0).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_checkpoint).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def cased_data(tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cased")
    prepared_talks(folder, tiny_checkpoint)
    return folder / "data"


@pytest.fixture(scope="session")
def cased_model(tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tiny model with a random head for casings, in a folder."""
    model = PunctuationRestorationModel.from_pretrained(tiny_checkpoint, casings=True)
    torch.manual_seed(4)
    torch.nn.init.normal_(model.classifier.casings.weight, std=3.0)
    model.config.mixed_case = MIXED_CASE
    folder = tmp_path_factory.mktemp("cased-model")
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_checkpoint).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def cased_pipeline(cased_model: str) -> Any:
    return pipeline("punctuation-restoration", model=cased_model, device="cpu")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Runs `punctuate` in an empty folder; gives its exit code, output and messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: Any, stdin: Any = None) -> tuple[int, bytes, str]:
        given = stdin if isinstance(stdin, io.RawIOBase) else io.BytesIO(stdin or b"")
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": given, "isatty": lambda self: False})())
        try:
            code = punctuate.main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capfdbinary.readouterr()
        return code, out, err.decode()

    return run


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """What the command `punctuate` restores with in the place of a model."""
    restore = StandIn(lambda n, word: "." * (n % 3 == 0))
    monkeypatch.setattr("punctuation_restoration.cli.punctuate.load_pipeline", lambda *args, **kwargs: restore)
    return restore


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command `punctuate` may load no model."""

    def load(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("Expected no model to be loaded.")

    monkeypatch.setattr("punctuation_restoration.cli.punctuate.load_pipeline", load)
