"""Losses, schedule, optimisers, averaged weights, embeddings and precision, against numbers worked out by hand."""

import math
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModel, BertConfig, LlamaConfig

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.training.losses import distillation_losses, slot_losses, total_loss
from punctuation_restoration.training.optimisation import (
    AveragedWeights,
    build_optimiser,
    parameter_groups,
    rate_factor,
)
from punctuation_restoration.training.precision import choose_precision, cpu_has_bf16, use_fp32_attention
from punctuation_restoration.training.settings import TrainingSettings
from punctuation_restoration.training.trained_rows import RowTrainedEmbedding, plain_weights, train_rows_only

# Two windows, two slots, two labels. Probabilities of label 0: 0.8 and 0.5; 0.25 and (not scored).
PROBABILITIES = torch.tensor([[[0.8, 0.2], [0.5, 0.5]], [[0.25, 0.75], [0.9, 0.1]]])
LOGITS = PROBABILITIES.log()
LABELS = torch.tensor([[0, 1], [0, -100]])
PSEUDO = torch.tensor([False, True])
LOG = math.log


def test_plain_loss_is_the_summed_cross_entropy_of_scored_slots() -> None:
    expected = -(LOG(0.8) + LOG(0.5) + LOG(0.25))
    assert slot_losses(LOGITS, LABELS, TrainingSettings()).sum().item() == pytest.approx(expected, abs=1e-6)


def test_pseudo_labels_have_their_own_weight_and_smoothing() -> None:
    settings = TrainingSettings(label_smoothing=0.1, pseudo_weight=0.5, pseudo_smoothing=0.4)
    # A label smoothed by beta: 1 - beta + beta / 2 on the label, beta / 2 on the other.
    human = -(0.95 * LOG(0.8) + 0.05 * LOG(0.2)) - LOG(0.5)
    pseudo = -0.5 * (0.8 * LOG(0.25) + 0.2 * LOG(0.75))
    loss = slot_losses(LOGITS, LABELS, settings, PSEUDO).sum()
    assert loss.item() == pytest.approx(human + pseudo, abs=1e-6)
    alone = slot_losses(LOGITS[:1], LABELS[:1], settings).sum()
    assert alone.item() == pytest.approx(human, abs=1e-6)


def test_focal_loss_by_hand() -> None:
    settings = TrainingSettings(focal_gamma=2.0, label_smoothing=0.1)
    # What is sure and right counts (1 - p)^2 times, its smoothing included; 0.5 with even odds is 0.25 of itself.
    expected = (
        0.04 * -(0.95 * LOG(0.8) + 0.05 * LOG(0.2)) + 0.25 * -LOG(0.5) + 0.5625 * -(0.95 * LOG(0.25) + 0.05 * LOG(0.75))
    )
    assert slot_losses(LOGITS, LABELS, settings).sum().item() == pytest.approx(expected, abs=1e-6)
    certain = torch.tensor([[[50.0, -50.0]]], requires_grad=True)
    slot_losses(certain, torch.tensor([[0]]), TrainingSettings(focal_gamma=0.5)).sum().backward()
    assert certain.grad is not None
    assert certain.grad.abs().max() < 1e-3


def test_smoothing_agrees_with_torch() -> None:
    torch.manual_seed(0)
    logits, labels = torch.randn(3, 5, 4), torch.randint(0, 4, (3, 5))
    ours = slot_losses(logits, labels, TrainingSettings(label_smoothing=0.2)).sum()
    theirs = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.2, reduction="sum")
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-4)


def test_distillation_by_hand() -> None:
    teacher = torch.tensor([[[0.6, 0.4], [0.5, 0.5]], [[0.1, 0.9], [0.3, 0.7]]])
    # KL(teacher, student) of the three scored slots; the second one agrees.
    expected = 0.6 * LOG(0.6 / 0.8) + 0.4 * LOG(0.4 / 0.2) + 0.1 * LOG(0.1 / 0.25) + 0.9 * LOG(0.9 / 0.75)
    assert distillation_losses(LOGITS, teacher, LABELS, 1.0).sum().item() == pytest.approx(expected, abs=1e-6)
    settings = TrainingSettings(distil_weight=0.3, temperature=1.0)
    hard = -(LOG(0.8) + LOG(0.5) + LOG(0.25))
    total = total_loss(LOGITS, LABELS, settings, None, teacher)
    assert total.item() == pytest.approx(0.7 * hard + 0.3 * expected, abs=1e-6)


def test_a_slot_without_soft_labels_learns_from_its_label_alone() -> None:
    teacher = torch.tensor([[[0.6, 0.4], [0.0, 0.0]], [[0.0, 0.0], [0.3, 0.7]]])
    settings = TrainingSettings(distil_weight=0.3, temperature=1.0)
    divergence = 0.6 * LOG(0.6 / 0.8) + 0.4 * LOG(0.4 / 0.2)
    total = total_loss(LOGITS, LABELS, settings, None, teacher)
    assert total.item() == pytest.approx(-0.7 * LOG(0.8) + 0.3 * divergence - LOG(0.5) - LOG(0.25), abs=1e-6)


def test_temperature_softens_the_student_and_squares_the_loss() -> None:
    # At temperature 2 the student's 0.8 and 0.2 become 2/3 and 1/3 (square roots, normalised).
    loss = distillation_losses(LOGITS[:1, :1], torch.tensor([[[0.5, 0.5]]]), LABELS[:1, :1], 2.0).sum()
    expected = 4 * (0.5 * LOG(0.5 / (2 / 3)) + 0.5 * LOG(0.5 / (1 / 3)))
    assert loss.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("step", "progress", "factor"),
    [(0, 0.0, 0.1), (4, 0.0, 0.5), (9, 0.0, 1.0), (50, 0.5, 0.5), (99, 1.0, 0.0), (120, 1.2, 0.0), (4, 0.5, 0.25)],
)
def test_rates_rise_over_ten_steps_and_fall_to_the_end(step: int, progress: float, factor: float) -> None:
    assert rate_factor(step, 10, progress) == pytest.approx(factor)


def test_rates_may_start_without_warm_up() -> None:
    assert rate_factor(0, 0, 0.0) == 1.0


def test_encoder_and_classifier_have_their_own_rates(tiny_model: Any) -> None:
    groups = parameter_groups(tiny_model, (1e-4, 5e-4, 0.0), 0.01)
    assert [(group["lr"], group["weight_decay"]) for group in groups] == [
        (1e-4, 0.0), (1e-4, 0.01), (5e-4, 0.0), (5e-4, 0.01),
    ]  # fmt: skip
    n_classifier = sum(p.numel() for group in groups[2:] for p in group["params"])
    assert n_classifier == sum(p.numel() for p in tiny_model.classifier.parameters())
    assert sum(p.numel() for g in groups for p in g["params"]) == sum(p.numel() for p in tiny_model.parameters())
    fields = {**tiny_model.config.to_dict(), "casings": True}
    cased = PunctuationRestorationModel(PunctuationRestorationConfig(**fields))
    groups = parameter_groups(cased, (1e-4, 5e-4, 1e-2), 0.01)
    assert [(group["lr"], len(group["params"])) for group in groups[2:]] == [(5e-4, 2), (5e-4, 2), (1e-2, 1), (1e-2, 1)]


@pytest.mark.parametrize("kind", ["adamw", "radam"])
def test_optimisers_take_a_first_step_of_the_size_of_the_rate(kind: str) -> None:
    weight = nn.Parameter(torch.tensor([[1.0, -2.0]]))
    optimiser = build_optimiser(kind, [{"params": [weight], "lr": 0.05, "weight_decay": 0.0}])
    weight.sum().backward()
    optimiser.step()
    # Both give sign(gradient) times the rate: RAdam is momentum alone at first (its variance is not yet to be trusted).
    assert weight.tolist()[0] == pytest.approx([0.95, -2.05], abs=1e-4)
    with pytest.raises(ValueError, match="got 'sgd'"):
        build_optimiser("sgd", [{"params": [weight]}])


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


def test_only_some_rows_of_an_embedding_are_trained_and_merged_back() -> None:
    torch.manual_seed(0)
    embedding = nn.Embedding(10, 4)
    before = embedding.weight.detach().clone()
    ids = torch.tensor([[1, 7, 2], [7, 3, 9]])
    plain = embedding(ids).detach()
    trained = RowTrainedEmbedding(embedding, [7, 3])
    assert torch.equal(trained(ids), plain)
    trained(ids).sum().backward()
    assert embedding.weight.grad is None
    assert trained.rows.grad is not None
    assert trained.rows.grad[:, 0].tolist() == [1.0, 2.0]  # row 3 stands once, row 7 twice
    with torch.no_grad():
        trained.rows += 1
    assert torch.equal(trained(ids)[0, 1], before[7] + 1)
    merged = plain_weights(nn.Sequential(trained))["0.weight"]
    assert set(plain_weights(nn.Sequential(trained))) == {"0.weight"}
    changed = (merged != before).any(1).nonzero().flatten().tolist()
    assert changed == [3, 7]


def test_scaled_word_embeddings_keep_their_scale_where_rows_are_trained() -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1}
    config = AutoConfig.for_model("gemma3_text", vocab_size=12, intermediate_size=24, head_dim=8, **sizes)
    encoder = AutoModel.from_config(config)
    ids = torch.arange(12).view(1, 12)
    before = encoder.get_input_embeddings()(ids)
    assert not torch.allclose(before, encoder.get_input_embeddings().weight[ids])
    train_rows_only(encoder, [4, 5])
    assert torch.allclose(encoder.get_input_embeddings()(ids), before)


def test_a_model_is_saved_with_plain_embeddings(tiny_config: Any) -> None:

    model = PunctuationRestorationModel(tiny_config)
    names = set(model.state_dict())
    train_rows_only(model, [4, 5])
    assert set(model.state_dict()) != names
    assert set(plain_weights(model)) == names
    assert isinstance(model.get_input_embeddings(), RowTrainedEmbedding)
    other = PunctuationRestorationModel(tiny_config)
    train_rows_only(other, [])
    assert not other.get_input_embeddings().weight.requires_grad
    assert set(other.state_dict()) == names


def test_bf16_is_used_only_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cpu_has_bf16("flags : fpu avx512_bf16 amx_bf16")
    assert not cpu_has_bf16("flags : fpu avx2 avx512f")
    monkeypatch.setattr("punctuation_restoration.training.precision.cpu_has_bf16", lambda: False)
    assert choose_precision("auto", "cpu") == ("no", None)
    precision, message = choose_precision("bf16", "cpu")
    assert precision == "no"
    assert message is not None
    assert "no bf16 instructions" in message
    monkeypatch.setattr("punctuation_restoration.training.precision.cpu_has_bf16", lambda: True)
    assert choose_precision("auto", "cpu") == ("bf16", None)
    assert choose_precision("fp32", "cpu") == ("no", None)
    with pytest.raises(ValueError, match="fp16, which needs a GPU"):
        choose_precision("fp16", "cpu")
    with pytest.raises(ValueError, match="got 'int8'"):
        choose_precision("int8", "cpu")


@pytest.mark.parametrize("kind", [BertConfig, LlamaConfig], ids=["bert", "llama"])
def test_attention_under_bf16_autocast_is_computed_in_fp32(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    encoder = kind(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, pad_token_id=1,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    fields = {"slot_style": "last-piece", "head_dropout": 0.0, "bidirectional_from": 1 if kind is LlamaConfig else None}
    model = PunctuationRestorationModel(PunctuationRestorationConfig(encoder_config=encoder.to_dict(), **fields))
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
