"""What the tests of the page share: its modules, a restorer and a recogniser with random weights, a recording."""

import html
import json
import re
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import Wav2Vec2Config, Wav2Vec2CTCTokenizer, Wav2Vec2FeatureExtractor, Wav2Vec2ForCTC

import punctuation_restoration

ROOT = Path(punctuation_restoration.__file__).resolve().parents[1]
SPACE = ROOT / "space"
TEXT = "hello are you the 你好我们大家今天 saya is the awak in 北京"
sys.path.insert(0, str(SPACE))
import restorer  # noqa: E402  (the page is no package)
import sound  # noqa: E402, F401
import views  # noqa: E402


@pytest.fixture(scope="module")
def page_restorer(tiny_checkpoint):
    return restorer.PageRestorer({"accurate": tiny_checkpoint})


def last(steps):
    """What is shown at the end."""
    return list(steps)[-1]


def chosen(shown, file_format, number=0, only=None):
    """A download, with the first choice at each place, or another one; perhaps for only one mark and its letter."""
    before, *rest = views.NUMBER.split(shown.files[file_format])
    by_sign = {
        views.number_sign(n): one.signs if only in (None, n, one.of) else one.signs[:1]
        for n, one in enumerate(shown.choices)
    }
    for sign, following in zip(rest[::2], rest[1::2], strict=True):
        signs = by_sign[sign]
        before += signs[number % len(signs)] + following.removeprefix(signs[0]) if number else following
    return before


def seen(card):
    """The text that a visitor reads in a card."""
    said = re.search('<p class="shown"[^>]*>(.*?)</p>', card, re.DOTALL)[1]
    return html.unescape(re.sub("<[^>]*>", "", re.sub('<span class="choices".*?</span></span>', "", said)))


@pytest.fixture(scope="module")
def tiny_recogniser(tmp_path_factory):
    """A recogniser with random weights: it hears letters in anything."""
    folder = tmp_path_factory.mktemp("recogniser")
    letters = ["<pad>", "<s>", "</s>", "<unk>", "|", *"aehlortuy"]
    (folder / "vocab.json").write_text(json.dumps({letter: n for n, letter in enumerate(letters)}))
    tokenizer = Wav2Vec2CTCTokenizer(str(folder / "vocab.json"))
    torch.manual_seed(3)
    config = Wav2Vec2Config(
        vocab_size=len(letters), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        conv_dim=(8, 8), conv_stride=(20, 16), conv_kernel=(20, 16), num_feat_extract_layers=2, pad_token_id=0,
        num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    model = Wav2Vec2ForCTC(config)
    torch.nn.init.normal_(model.lm_head.weight, std=20.0)
    for part in (model, tokenizer, Wav2Vec2FeatureExtractor()):
        part.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def recording(tmp_path):
    """Two seconds of noise in two channels."""
    samples = np.random.default_rng(5).integers(-9000, 9000, size=2 * 22_050 * 2, dtype=np.int16)
    with wave.open(str(tmp_path / "noise.wav"), "wb") as file:
        file.setparams((2, 2, 22_050, 0, "NONE", ""))
        file.writeframes(samples.tobytes())
    return tmp_path / "noise.wav"
