"""Losses, schedule, optimiser, averaged weights and precision, against numbers worked out by hand."""

import math
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoConfig

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.training.building import set_dropout
from punctuation_restoration.training.losses import total_loss
from punctuation_restoration.training.optimisation import AveragedWeights, build_optimiser, rate_factor
from punctuation_restoration.training.precision import choose_format, use_fp32_attention
from punctuation_restoration.training.settings import TrainingSettings, completed

# Two windows, two slots, two labels. Probabilities of label 0: 0.8 and 0.5; 0.25 and (not scored).
PROBABILITIES = torch.tensor([[[0.8, 0.2], [0.5, 0.5]], [[0.25, 0.75], [0.9, 0.1]]])
LOGITS = PROBABILITIES.log()
LABELS = torch.tensor([[0, 1], [0, -100]])
LOG = math.log


# Probabilities of another model; none of the second slot.
SOFT = torch.tensor([[[0.6, 0.4], [0.0, 0.0]], [[0.1, 0.9], [0.3, 0.7]]])
EVEN = torch.tensor([[[0.5, 0.5], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])


def nll(p: float, beta: float = 0.0) -> float:
    """Of a label with probability p of two, smoothed by beta."""
    return -((1 - beta / 2) * LOG(p) + beta / 2 * LOG(1 - p))


def kl(q: float, p: float) -> float:
    return q * LOG(q / p) + (1 - q) * LOG((1 - q) / (1 - p))


@pytest.mark.parametrize(
    ("fields", "soft", "expected"),
    [
        ({}, None, nll(0.8) + nll(0.5) + nll(0.25)),
        ({"label_smoothing": 0.1}, None, nll(0.8, 0.1) + nll(0.5, 0.1) + nll(0.25, 0.1)),
        # Two of the three scored slots; the second one learns from its label alone.
        ({"distil_weight": 0.3}, SOFT,
         0.7 * (nll(0.8) + nll(0.25)) + nll(0.5) + 0.3 * (kl(0.6, 0.8) + kl(0.1, 0.25))),
        ({"distil_weight": 1.0}, EVEN, kl(0.5, 0.8) + nll(0.5) + nll(0.25)),
    ],
)  # fmt: skip
def test_losses_by_hand(fields: Any, soft: Any, expected: float) -> None:
    loss = total_loss(LOGITS, None, TrainingSettings(**fields), LABELS, soft)
    assert loss.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("step", "warmup", "factor"), [(0, 10, 0.1), (9, 10, 0.91), (50, 10, 0.5), (100, 10, 0), (4, 100, 0.048), (0, 0, 1)]
)
def test_rates_rise_over_the_warm_up_and_fall_to_the_end(step: int, warmup: int, factor: float) -> None:
    assert rate_factor(step, warmup, 100) == pytest.approx(factor)


def test_encoder_classifier_and_casings_have_their_own_rates(tiny_model: Any) -> None:
    config = PunctuationRestorationConfig(**{**tiny_model.config.to_dict(), "casings": True})
    model = PunctuationRestorationModel(config)
    settings = TrainingSettings(encoder_rate=1e-4, head_rate=5e-4, casing_rate=1e-2)
    built = build_optimiser(model, settings)
    expected = [(rate, decay) for rate in (1e-4, 5e-4, 1e-2) for decay in (0.0, 0.01)]
    assert [(group["lr"], group["weight_decay"]) for group in built.param_groups] == expected
    assert [len(group["params"]) for group in built.param_groups[2:]] == [2, 2, 1, 1]
    bias = model.classifier.out_proj.bias
    before = bias.detach().clone()
    bias.sum().backward()
    built.step()
    # AdamW's first step is sign(gradient) times the rate.
    torch.testing.assert_close(bias.detach(), before - 5e-4, atol=1e-5, rtol=0)


def test_averaged_weights_by_hand() -> None:
    layer = nn.Linear(1, 1, bias=False)
    layer.weight.data.fill_(1.0)
    averages = AveragedWeights(layer, decay=0.5)
    layer.weight.data.fill_(2.0)
    averages.update(0)  # the first step is taken over
    layer.weight.data.fill_(4.0)
    averages.update(1)  # decay min(0.5, 2/11)
    expected = 2 + 9 / 11 * (4 - 2)
    with averages.applied():
        assert layer.weight.item() == pytest.approx(expected)
    assert layer.weight.item() == 4.0
    off = AveragedWeights(layer, decay=0.0)
    off.update(0)
    with off.applied():
        assert layer.weight.item() == 4.0


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_no_dropout_is_none_anywhere_whoever_draws_it(kind: str) -> None:
    """In modules, in functions with a share of their own, and in what the encoder's configuration says."""
    torch.manual_seed(2)
    sizes = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 2, "intermediate_size": 24}
    shares = {"llama": ["attention_dropout"]}
    shares["bert"] = ["hidden_dropout_prob", "attention_probs_dropout_prob"]
    encoder = AutoConfig.for_model(kind, **sizes, **dict.fromkeys(shares[kind], 0.5))
    model = PunctuationRestorationModel(PunctuationRestorationConfig(encoder_config=encoder.to_dict())).train()
    batch = {"input_ids": torch.randint(4, 40, (2, 6)), "slot_positions": torch.tensor([[1, 3], [2, 3]])}
    assert not torch.equal(model(**batch).logits, model(**batch).logits)
    if kind == "llama":  # it has none of hidden states
        set_dropout(model, None)
        with pytest.raises(ValueError, match="LlamaModel has none"):
            set_dropout(model, 0.2)
    set_dropout(model, 0.0)
    assert torch.equal(model(**batch).logits, model(**batch).logits)
    said = {key: share for key, share in model.encoder.config.to_dict().items() if "dropout" in key and share}
    assert not {key for key, share in said.items() if isinstance(share, float)}


def test_bf16_is_used_only_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for has_bf16, found in ((False, "no"), (True, "bf16")):
        told = {"avx2": True, "avx512_bf16": has_bf16}
        monkeypatch.setattr("torch.cpu.get_capabilities", lambda told=told: told, raising=False)
        with nullcontext() if has_bf16 else pytest.warns(UserWarning, match="No bf16 instructions"):
            assert choose_format("bfloat16", "cpu") == choose_format("auto", "cpu") == found
        assert choose_format("float32", "cpu") == "no"
    with pytest.raises(ValueError, match="got float16"):
        choose_format("float16", "cpu")


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_attention_under_bf16_autocast_is_computed_in_fp32(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    encoder = AutoConfig.for_model(kind, vocab_size=40, pad_token_id=1, **sizes, **no_dropout).to_dict()
    model = PunctuationRestorationModel(PunctuationRestorationConfig(encoder_config=encoder, head_dropout=0.0)).train()
    use_fp32_attention(model)
    attend, seen = nn.functional.scaled_dot_product_attention, []

    def watched(query: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        seen.append((query.dtype, torch.is_autocast_enabled("cpu")))
        return attend(query, *args, **kwargs)

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", watched)
    mask, slots = torch.tensor([[1] * 6, [1] * 4 + [0] * 2]), torch.tensor([[1, 3], [2, 3]])
    batch = {"input_ids": torch.randint(4, 40, (2, 6)), "attention_mask": mask, "slot_positions": slots}
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(**batch).logits
    assert logits.dtype == torch.bfloat16
    assert seen == [(torch.float32, False)] * 2
    logits.float().square().sum().backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())
    torch.testing.assert_close(logits.float(), model(**batch).logits, atol=0.02, rtol=0.05)
    assert "sdpa" not in model.config.to_json_string()


@pytest.mark.parametrize(("hidden_size", "rates"), [(384, (2e-4, 4e-4)), (512, (2e-4, 4e-4)), (768, (2e-5, 1e-4))])
def test_wide_encoders_learn_slowly_unless_told_otherwise(hidden_size: int, rates: tuple[float, float]) -> None:
    chosen = completed(TrainingSettings(), hidden_size, 100, 1.0, True)
    assert (chosen.encoder_rate, chosen.head_rate) == rates
    given = TrainingSettings(encoder_rate=0.0, head_rate=3e-3)
    told = completed(given, hidden_size, 100, 1.0, True)
    assert (told.encoder_rate, told.head_rate) == (0.0, 3e-3)
