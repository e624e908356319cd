"""Losses, schedule, optimisers, averaged weights, embeddings and precision, against numbers worked out by hand."""

import math
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModel, BertConfig, LlamaConfig

from punctuation_restoration.modeling.configuration_punctuation import (
    PunctuationLSTMConfig,
    PunctuationRestorationConfig,
)
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.backends import cpu_has_bf16
from punctuation_restoration.training.building import set_dropout
from punctuation_restoration.training.losses import divergences, total_loss
from punctuation_restoration.training.optimisation import (
    AveragedWeights,
    build_optimiser,
    plain_weights,
    rate_factor,
    train_rows_only,
)
from punctuation_restoration.training.precision import choose_format, use_fp32_attention
from punctuation_restoration.training.settings import TrainingSettings

# Two windows, two slots, two labels. Probabilities of label 0: 0.8 and 0.5; 0.25 and (not scored).
PROBABILITIES = torch.tensor([[[0.8, 0.2], [0.5, 0.5]], [[0.25, 0.75], [0.9, 0.1]]])
LOGITS = PROBABILITIES.log()
LABELS = torch.tensor([[0, 1], [0, -100]])
PSEUDO = torch.tensor([False, True])
LOG = math.log


def test_pseudo_labels_have_their_own_weight_and_smoothing() -> None:
    plain = total_loss(LOGITS, LABELS, TrainingSettings())
    assert plain.item() == pytest.approx(-(LOG(0.8) + LOG(0.5) + LOG(0.25)), abs=1e-6)
    settings = TrainingSettings(label_smoothing=0.1, pseudo_weight=0.5, pseudo_smoothing=0.4)
    # A label smoothed by beta: 1 - beta + beta / 2 on the label, beta / 2 on the other.
    human = -(0.95 * LOG(0.8) + 0.05 * LOG(0.2)) - LOG(0.5)
    pseudo = -0.5 * (0.8 * LOG(0.25) + 0.2 * LOG(0.75))
    assert total_loss(LOGITS, LABELS, settings, PSEUDO).item() == pytest.approx(human + pseudo, abs=1e-6)
    assert total_loss(LOGITS[:1], LABELS[:1], settings).item() == pytest.approx(human, abs=1e-6)


def test_focal_loss_by_hand() -> None:
    settings = TrainingSettings(focal_gamma=2.0, label_smoothing=0.1)
    # What is sure and right counts (1 - p)^2 times, its smoothing included; 0.5 with even odds is 0.25 of itself.
    expected = (
        0.04 * -(0.95 * LOG(0.8) + 0.05 * LOG(0.2)) + 0.25 * -LOG(0.5) + 0.5625 * -(0.95 * LOG(0.25) + 0.05 * LOG(0.75))
    )
    assert total_loss(LOGITS, LABELS, settings).item() == pytest.approx(expected, abs=1e-6)
    certain = torch.tensor([[[50.0, -50.0]]], requires_grad=True)
    total_loss(certain, torch.tensor([[0]]), TrainingSettings(focal_gamma=0.5)).backward()
    assert certain.grad is not None
    assert certain.grad.abs().max() < 1e-3


def test_smoothing_agrees_with_torch() -> None:
    torch.manual_seed(0)
    logits, labels = torch.randn(3, 5, 4), torch.randint(0, 4, (3, 5))
    ours = total_loss(logits, labels, TrainingSettings(label_smoothing=0.2))
    theirs = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.2, reduction="sum")
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-4)


def test_soft_labels_count_for_their_share_where_there_are_some() -> None:
    teacher = torch.tensor([[[0.6, 0.4], [0.0, 0.0]], [[0.1, 0.9], [0.3, 0.7]]])
    # KL(teacher, student) of two of the three scored slots; the second one learns from its label alone.
    first, third = 0.6 * LOG(0.6 / 0.8) + 0.4 * LOG(0.4 / 0.2), 0.1 * LOG(0.1 / 0.25) + 0.9 * LOG(0.9 / 0.75)
    settings = TrainingSettings(distil_weight=0.3, temperature=1.0)
    expected = -0.7 * (LOG(0.8) + LOG(0.25)) - LOG(0.5) + 0.3 * (first + third)
    assert total_loss(LOGITS, LABELS, settings, None, teacher).item() == pytest.approx(expected, abs=1e-6)
    # At temperature 2 the student's 0.8 and 0.2 become 2/3 and 1/3 (square roots, normalised).
    expected = 4 * (0.5 * LOG(0.5 / (2 / 3)) + 0.5 * LOG(0.5 / (1 / 3)))
    assert divergences(LOGITS[:1, :1], torch.tensor([[[0.5, 0.5]]]), 2.0).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("step", "warmup", "progress", "factor"),
    [(0, 10, 0, 0.1), (9, 10, 0, 1), (50, 10, 0.5, 0.5), (120, 10, 1.2, 0), (4, 10, 0.5, 0.25), (0, 0, 0, 1)],
)
def test_rates_rise_over_the_warm_up_and_fall_to_the_end(
    step: int, warmup: int, progress: float, factor: float
) -> None:
    assert rate_factor(step, warmup, progress) == pytest.approx(factor)


@pytest.mark.parametrize("optimiser", ["adamw", "radam"])
def test_encoder_classifier_and_casings_have_their_own_rates(tiny_model: Any, optimiser: Any) -> None:
    model = PunctuationRestorationModel(
        PunctuationRestorationConfig(**{**tiny_model.config.to_dict(), "casings": True})
    )
    settings = TrainingSettings(optimiser=optimiser, encoder_rate=1e-4, head_rate=5e-4, casing_rate=1e-2)
    built = build_optimiser(model, settings)
    assert [(group["lr"], group["weight_decay"], len(group["params"])) for group in built.param_groups[2:]] == [
        (5e-4, 0.0, 2), (5e-4, 0.01, 2), (1e-2, 0.0, 1), (1e-2, 0.01, 1),
    ]  # fmt: skip
    assert [group["lr"] for group in built.param_groups[:2]] == [1e-4, 1e-4]
    assert sum(p.numel() for g in built.param_groups for p in g["params"]) == sum(p.numel() for p in model.parameters())
    bias = model.classifier.out_proj.bias
    before = bias.detach().clone()
    bias.sum().backward()
    built.step()
    # Both give sign(gradient) times the rate: RAdam is momentum alone at first (its variance is not yet to be trusted).
    torch.testing.assert_close(bias.detach(), before - 5e-4, atol=1e-5, rtol=0)


def test_averaged_weights_by_hand() -> None:
    layer = nn.Linear(1, 1, bias=False)
    layer.weight.data.fill_(1.0)
    averages = AveragedWeights(layer, decay=0.5)
    layer.weight.data.fill_(2.0)
    averages.update()  # the first step is taken over
    layer.weight.data.fill_(4.0)
    averages.update()  # decay min(0.5, 2/11)
    expected = 2 + 9 / 11 * (4 - 2)
    with averages.applied():
        assert layer.weight.item() == pytest.approx(expected)
    assert layer.weight.item() == 4.0
    other = AveragedWeights(layer, decay=0.5)
    other.averaged.load_state_dict(averages.averaged.state_dict())
    with other.applied():
        assert layer.weight.item() == pytest.approx(expected)
    off = AveragedWeights(layer, decay=0.0)
    off.update()
    with off.applied():
        assert layer.weight.item() == 4.0


def test_only_some_rows_of_an_embedding_are_trained_and_merged_back(tiny_config: Any) -> None:
    torch.manual_seed(0)
    model = PunctuationRestorationModel(tiny_config)
    embedding: Any = model.get_input_embeddings()
    names = set(model.state_dict())
    before, ids = embedding.weight.detach().clone(), torch.tensor([[1, 7, 2], [7, 3, 9]])
    plain = embedding(ids).detach()
    train_rows_only(model, [7, 3])
    assert torch.equal(embedding(ids), plain)
    embedding(ids).sum().backward()
    assert embedding.weight.grad is None
    assert embedding.rows.grad[:, 0].tolist() == [1.0, 2.0]  # row 3 stands once, row 7 twice
    with torch.no_grad():
        embedding.rows += 1
    assert torch.equal(embedding(ids)[0, 1], before[7] + 1)
    merged = plain_weights(model)
    assert set(merged) == names != set(model.state_dict())
    (name,) = (name for name in names if name.endswith("word_embeddings.weight"))
    assert (merged[name] != before).any(1).nonzero().flatten().tolist() == [3, 7]
    other = PunctuationRestorationModel(tiny_config)
    train_rows_only(other, [])
    assert not other.get_input_embeddings().weight.requires_grad
    assert set(other.state_dict()) == names


def test_scaled_word_embeddings_keep_their_scale_where_rows_are_trained() -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1}
    config = AutoConfig.for_model("gemma3_text", vocab_size=12, intermediate_size=24, head_dim=8, **sizes)
    encoder = AutoModel.from_config(config)
    ids = torch.arange(12).view(1, 12)
    before = encoder.get_input_embeddings()(ids)
    assert not torch.allclose(before, encoder.get_input_embeddings().weight[ids])
    train_rows_only(encoder, [4, 5])
    assert torch.allclose(encoder.get_input_embeddings()(ids), before)


@pytest.mark.parametrize("kind", ["bert", "llama", "lstm"])
def test_no_dropout_is_none_anywhere_whoever_draws_it(kind: str) -> None:
    """In modules, in functions with a share of their own, and in what the encoder's configuration says."""
    torch.manual_seed(2)
    sizes = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2}
    if kind == "lstm":
        encoder: Any = PunctuationLSTMConfig(**sizes, dropout=0.5)
    else:
        shares = {"hidden_dropout_prob": 0.5, "attention_probs_dropout_prob": 0.5, "attention_dropout": 0.5}
        more = {"num_attention_heads": 2, "intermediate_size": 24, **shares}
        encoder = AutoConfig.for_model(kind, **sizes, **more)
    model = PunctuationRestorationModel(PunctuationRestorationConfig(encoder_config=encoder.to_dict())).train()
    batch = {"input_ids": torch.randint(4, 40, (2, 6)), "slot_positions": torch.tensor([[1, 3], [2, 3]])}
    assert not torch.equal(model(**batch).logits, model(**batch).logits)
    set_dropout(model, 0.0)
    assert torch.equal(model(**batch).logits, model(**batch).logits)
    said = {key: share for key, share in model.encoder.config.to_dict().items() if "dropout" in key and share}
    assert not {key for key, share in said.items() if isinstance(share, float)}


def test_bf16_is_used_only_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cpu_has_bf16("flags : fpu avx512_bf16 amx_bf16")
    assert not cpu_has_bf16("flags : fpu avx2 avx512f")
    monkeypatch.setattr("punctuation_restoration.training.precision.cpu_has_bf16", lambda: False)
    assert choose_format("auto", "cpu") == "no"
    with pytest.warns(UserWarning, match="No bf16 instructions"):
        assert choose_format("bfloat16", "cpu") == "no"
    monkeypatch.setattr("punctuation_restoration.training.precision.cpu_has_bf16", lambda: True)
    assert (choose_format("auto", "cpu"), choose_format("float32", "cpu")) == ("bf16", "no")
    with pytest.raises(ValueError, match="got float16"):
        choose_format("float16", "cpu")


@pytest.mark.parametrize("kind", [BertConfig, LlamaConfig], ids=["bert", "llama"])
def test_attention_under_bf16_autocast_is_computed_in_fp32(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    encoder = kind(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, pad_token_id=1,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = PunctuationRestorationModel(
        PunctuationRestorationConfig(encoder_config=encoder.to_dict(), head_dropout=0.0)
    )
    model.train()
    use_fp32_attention(model)
    attend, seen = nn.functional.scaled_dot_product_attention, []

    def watched(query: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        seen.append((query.dtype, torch.is_autocast_enabled("cpu")))
        return attend(query, *args, **kwargs)

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", watched)
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
    batch = {"input_ids": torch.randint(4, 40, (2, 6)), "attention_mask": mask}
    slots = torch.tensor([[1, 3], [2, 3]])
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(**batch, slot_positions=slots).logits
    assert logits.dtype == torch.bfloat16
    assert seen == [(torch.float32, False)] * 2
    logits.float().square().sum().backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())
    exact = model(**batch, slot_positions=slots).logits
    torch.testing.assert_close(logits.float(), exact, atol=0.02, rtol=0.05)
    assert "sdpa" not in model.config.to_json_string()
