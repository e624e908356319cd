"""Heads over the slots of a window: linear, BiLSTM, CRF, and both."""

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from training_runs import arguments
from transformers import pipeline

from punctuation_restoration.cli.train import main as train
from punctuation_restoration.modeling.configuration_punctuation import HEADS, PunctuationRestorationConfig
from punctuation_restoration.modeling.heads import NOT_SCORED, BiLSTMClassifier, LinearChain
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.onnx_export import export_onnx
from punctuation_restoration.training.losses import total_loss
from punctuation_restoration.training.settings import TrainingSettings

N_SLOTS = (4, 1, 3)
IS_SLOT = torch.arange(4) < torch.tensor(N_SLOTS)[:, None]  # (3, 4)
BATCH = {
    "input_ids": torch.tensor([[0, 5, 9, 6, 9, 2], [0, 7, 9, 2, 1, 1]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]]),
    "slot_positions": torch.tensor([[1, 2, 4], [1, 2, 0]]),
}
SLOTS = BATCH["slot_positions"] != 0


@pytest.fixture
def chain() -> tuple[LinearChain, torch.Tensor]:
    """A CRF of three labels, and scores of three windows."""
    torch.manual_seed(3)
    chain = LinearChain(3)
    nn.init.normal_(chain.transitions)
    return chain, 2 * torch.randn(3, 4, 3)


def model_with(tiny_config: Any, head: str, **fields: Any) -> Any:
    """A model with random weights, transitions among them."""
    torch.manual_seed(5)
    fields = tiny_config.to_dict() | {"head": head} | fields
    model = PunctuationRestorationModel(PunctuationRestorationConfig(**fields))
    for weight in model.parameters():
        weight.data.mul_(3.0)
    if model.classifier.crf is not None:
        nn.init.normal_(model.classifier.crf.transitions)
    return model.eval()


def weights_of_sequences(chain: LinearChain, scores: torch.Tensor) -> dict[tuple[int, ...], float]:
    """What each sequence of labels of one window weighs: `scores` (W, M) are those of its own slots."""
    return {
        labels: float(
            (sum(scores[i, label] for i, label in enumerate(labels)) + sum(map(chain.transitions.__getitem__, pairs)))
            .exp()
            .detach()
        )
        for labels in itertools.product(range(scores.shape[1]), repeat=len(scores))
        for pairs in [list(itertools.pairwise(labels))]
    }


def test_marginals_are_those_of_all_sequences_counted(chain):
    crf, scores = chain
    marginals = crf(scores, IS_SLOT).exp()
    for window, n_slots in enumerate(N_SLOTS):
        weights = weights_of_sequences(crf, scores[window, :n_slots])
        for slot, label in itertools.product(range(n_slots), range(3)):
            expected = sum(w for labels, w in weights.items() if labels[slot] == label) / sum(weights.values())
            assert marginals[window, slot, label].item() == pytest.approx(expected, rel=1e-4)


def test_the_loss_is_the_likelihood_of_all_sequences_with_the_scored_labels(chain):
    crf, scores = chain
    labels = torch.tensor([[1, NOT_SCORED, 2, 0], [2, *[NOT_SCORED] * 3], [NOT_SCORED] * 4])
    losses = crf.losses(scores, IS_SLOT, labels)
    for window, n_slots in enumerate(N_SLOTS):
        weights = weights_of_sequences(crf, scores[window, :n_slots])
        wanted = labels[window, :n_slots].tolist()
        fits = [all(w in (NOT_SCORED, label) for w, label in zip(wanted, own, strict=True)) for own in weights]
        share = sum(itertools.compress(weights.values(), fits)) / sum(weights.values())
        assert losses[window].sum().exp().item() == pytest.approx(1 / share, rel=1e-4)
    assert losses[0].tolist() == [losses[0, 0].item(), 0, losses[0, 0].item(), losses[0, 0].item()]


def test_long_windows_stay_probabilities_and_have_gradients(chain):
    crf, _ = chain
    scores, slots = 30 * torch.randn(2, 300, 3), torch.arange(300) < torch.tensor([[300], [7]])
    marginals = crf(scores.requires_grad_(), slots)
    torch.testing.assert_close(marginals.exp().sum(-1), torch.ones(2, 300))
    torch.testing.assert_close(marginals[1, :7], crf(scores[1:, :7], slots[1:, :7])[0], atol=1e-3, rtol=1e-4)
    crf.losses(scores, slots, torch.full((2, 300), NOT_SCORED).fill_diagonal_(1)).sum().backward()
    assert torch.isfinite(scores.grad).all()
    assert torch.isfinite(crf.transitions.grad).all()


def test_the_bilstm_is_the_one_of_torch_over_the_slots_of_each_text():
    torch.manual_seed(2)
    head, states = BiLSTMClassifier(6, 4, dropout=0.0), torch.randn(3, 4, 6)
    both = nn.LSTM(6, 6, batch_first=True, bidirectional=True)
    weights = head.lstm.state_dict() | {f"{name}_reverse": w for name, w in head.lstm_reverse.state_dict().items()}
    both.load_state_dict(weights)
    packed = nn.utils.rnn.pack_padded_sequence(states, torch.tensor(N_SLOTS), True, enforce_sorted=False)
    expected, _ = nn.utils.rnn.pad_packed_sequence(both(packed)[0], batch_first=True)
    torch.testing.assert_close(head(states, IS_SLOT)[IS_SLOT], head.projection(expected)[IS_SLOT])


@pytest.mark.parametrize("head", HEADS)
def test_every_head_is_saved_whole_and_learns_and_padding_changes_nothing(tiny_config, tmp_path, head):
    model = model_with(tiny_config, head)
    model.save_pretrained(tmp_path)
    loaded = PunctuationRestorationModel.from_pretrained(tmp_path)
    logits = model(**BATCH).logits
    torch.testing.assert_close(loaded(**BATCH).logits[SLOTS], logits[SLOTS])
    alone = {"input_ids": BATCH["input_ids"][1:, :4], "slot_positions": BATCH["slot_positions"][1:, :2]}
    torch.testing.assert_close(loaded(**alone).logits[0], logits[1, :2], atol=1e-4, rtol=1e-4)
    # It learns in half precision too.
    model.train()
    with torch.autocast("cpu", torch.bfloat16):
        outputs = model(**BATCH, labels=torch.tensor([[1, NOT_SCORED, 2], [0, 3, NOT_SCORED]]))
    assert outputs.loss.dtype == torch.float32
    outputs.loss.backward()
    missing = [name for name, weight in model.named_parameters() if weight.grad is None and "embeddings" not in name]
    assert not missing
    half = model.eval().to(torch.bfloat16)(**BATCH).logits.float().softmax(-1)[SLOTS]
    torch.testing.assert_close(half, logits.softmax(-1)[SLOTS], atol=0.25, rtol=0.0)


def test_the_loss_of_a_run_is_that_of_the_crf_with_weights_and_smoothing(tiny_config):
    labels = torch.tensor([[1, NOT_SCORED, 2], [0, 3, NOT_SCORED]])
    model = model_with(tiny_config, "crf")
    outputs = model(**BATCH, labels=labels)
    nll = model.classifier.crf.losses(outputs.scores, SLOTS, labels)
    plain = total_loss(outputs.logits, labels, TrainingSettings(), nll=nll)
    torch.testing.assert_close(plain, 4 * outputs.loss)
    pseudo = torch.tensor([False, True])
    weighted = total_loss(outputs.logits, labels, TrainingSettings(pseudo_weight=0.5), pseudo, nll=nll)
    torch.testing.assert_close(weighted, nll[0].sum() + 0.5 * nll[1].sum())
    taught = torch.eye(4)[torch.tensor([[1, 0, 2], [0, 3, 0]])]
    soft = total_loss(outputs.logits, labels, TrainingSettings(distil_weight=1.0, temperature=1.0), None, taught, nll)
    marginals = outputs.logits.log_softmax(-1)
    expected = -(marginals[0, 0, 1] + marginals[0, 2, 2] + marginals[1, 0, 0] + marginals[1, 1, 3])
    torch.testing.assert_close(soft, expected)


def test_another_head_keeps_the_weights_that_both_have(tiny_config):
    model = model_with(tiny_config, "linear")
    before, names = model(**BATCH).logits, list(model.classifier.state_dict())
    assert names == ["dense.weight", "dense.bias", "out_proj.weight", "out_proj.bias"]
    model.set_head("crf")
    torch.testing.assert_close(model(**BATCH).logits[SLOTS], before.log_softmax(-1)[SLOTS])  # no transitions yet
    model.set_head("bilstm-crf")
    assert model(**BATCH).logits.shape == before.shape
    with pytest.raises(ValueError, match="Expected head to be one of"):
        model.set_head("tree")


def test_text_is_restored_with_the_marginals_as_scores(tiny_config, tiny_tokenizer):
    model = model_with(tiny_config, "bilstm-crf")
    restore = pipeline("punctuation-restoration", model=model, tokenizer=tiny_tokenizer, device="cpu")
    assert restore("")["text"] == ""  # a window without slots
    results = restore(["hello, you are the best " * 9, "hello"], all_scores=True)
    for word in (word for result in results for word in result["words"]):
        assert sum(word["scores"].values()) == pytest.approx(1.0, abs=1e-4)
    alone = restore("hello", all_scores=True)["words"][0]["scores"]
    assert results[1]["words"][0]["scores"] == pytest.approx(alone, abs=1e-5)


def test_a_run_trains_another_head_from_a_checkpoint_and_goes_on(prepared: str, tiny_checkpoint: str, tmp_path: Path):
    for steps in ("2", "3"):
        more = ["--head", "bilstm-crf", "--label-smoothing", "0.1", "--max-steps", steps]
        assert train(arguments(prepared, tmp_path, tiny_checkpoint, *more)) == 0
    model = PunctuationRestorationModel.from_pretrained(tmp_path / "final")
    assert model.config.head == "bilstm-crf"
    assert model.classifier.crf.transitions.abs().max() > 0


@pytest.mark.parametrize("head", HEADS[1:])
def test_only_linear_heads_are_written_as_onnx(tiny_config, tmp_path, head):
    with pytest.raises(ValueError, match=f"for ONNX, BertModel with head '{head}' has one. Use backend 'torch'"):
        export_onnx(model_with(tiny_config, head), tmp_path / "model.onnx", pad_id=1, in_int8=False)
