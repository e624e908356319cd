"""Masks that run beside the words: they start from the mask's own embedding, read the words, and are read by nobody."""

import pytest
import torch
from transformers import BertConfig, DistilBertConfig, XLMRobertaConfig, pipeline

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.backends import make_backend
from punctuation_restoration.pipeline.onnx_export import fingerprint
from punctuation_restoration.pipeline.slots import SlotEncoder

PAD_ID, MASK_ID = 1, 63
N_LAYERS = 3


def model_with(kind=BertConfig, **fields):
    torch.manual_seed(5)
    encoder = kind(
        vocab_size=64, hidden_size=32, num_hidden_layers=N_LAYERS, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40, pad_token_id=PAD_ID, initializer_range=0.2,
    )  # fmt: skip
    fields = {"slot_style": "mask-stream", "mask_token_id": MASK_ID, "mask_layers": N_LAYERS, **fields}
    return PunctuationRestorationModel(PunctuationRestorationConfig(encoder_config=encoder.to_dict(), **fields)).eval()


@pytest.fixture(params=range(1, N_LAYERS + 1))
def model(request):
    return model_with(mask_layers=request.param)


@pytest.fixture(scope="module")
def tiny_stream(tiny_config, tiny_tokenizer):
    """A model of large random weights, on whose slots the words around them tell."""
    fields = {"slot_style": "mask-stream", "mask_token_id": tiny_tokenizer.mask_token_id, "mask_layers": 2}
    torch.manual_seed(7)
    model = PunctuationRestorationModel(type(tiny_config)(**{**tiny_config.to_dict(), **fields})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    return model


def masks_behind(batch):
    """Pieces with one mask a slot put behind them, their places, and who reads whom: (B, 1, N, N), true where read."""
    n_texts, n_pieces = batch["input_ids"].shape
    n_slots = batch["slot_positions"].shape[1]
    ids = torch.cat([batch["input_ids"], torch.full((n_texts, n_slots), MASK_ID)], dim=1)
    places = torch.cat([torch.arange(n_pieces).expand(n_texts, -1), batch["slot_positions"] + 1], dim=1)
    is_read = torch.cat([batch["attention_mask"], torch.zeros(n_texts, n_slots, dtype=torch.long)], dim=1)
    return ids, places, is_read.bool()[:, None, None, :].expand(-1, 1, ids.shape[1], -1)


@torch.no_grad()
def test_a_stream_through_all_layers_is_masks_behind_the_text_that_nobody_reads(batch):
    model = model_with()
    ids, places, is_read = masks_behind(batch)
    states = model.encoder(input_ids=ids, position_ids=places, attention_mask=is_read).last_hidden_state
    expected = model.classifier(states[:, batch["input_ids"].shape[1] :])
    assert model.reads_short
    torch.testing.assert_close(model(**batch).logits, expected, atol=1e-5, rtol=1e-5)
    # The text itself is what it is without masks.
    alone = model.encoder(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    is_piece = batch["attention_mask"].bool()
    torch.testing.assert_close(states[:, : alone.shape[1]][is_piece], alone[is_piece], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_stream_through_the_last_layers_is_a_loop_over_them(model, batch):
    ids, places, is_read = masks_behind(batch)
    n_pieces = batch["input_ids"].shape[1]
    states = embedded = model.encoder.embeddings(input_ids=ids, position_ids=places)
    for number, layer in enumerate(model.encoder.encoder.layer):
        if number == N_LAYERS - model.config.mask_layers:
            states = torch.cat([states[:, :n_pieces], embedded[:, n_pieces:]], dim=1)
        states = layer(states, attention_mask=is_read)
        states = states[0] if isinstance(states, tuple) else states  # before 5.0
    expected = model.classifier(states[:, n_pieces:])
    torch.testing.assert_close(model(**batch).logits, expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("kind", [BertConfig, XLMRobertaConfig], ids=["bert", "xlm-roberta"])
@pytest.mark.parametrize("n_layers", [1, N_LAYERS])
def test_whole_or_short_with_ids_or_embeddings_it_reads_alike(kind, n_layers, batch):
    model = model_with(kind, mask_layers=n_layers)
    whole = model(**batch, output_hidden_states=True)
    torch.testing.assert_close(model(**batch).logits, whole.logits, atol=1e-5, rtol=1e-5)
    bare = PunctuationRestorationModel(PunctuationRestorationConfig(**{**model.config.to_dict(), "slot_style": "mask"}))
    bare.load_state_dict(model.state_dict())
    words = bare.eval()(**batch, output_hidden_states=True)
    for with_stream, without in zip(whole.hidden_states, words.hidden_states, strict=True):
        assert torch.equal(with_stream, without)
    rows = slice(2)  # of embeddings, RoBERTa counts padding too
    embedded = model.get_input_embeddings()(batch["input_ids"][rows])
    got = model(inputs_embeds=embedded, slot_positions=batch["slot_positions"][rows]).logits
    torch.testing.assert_close(got, whole.logits[rows], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_roberta_counts_the_place_of_a_mask_as_that_of_a_piece(batch):
    model = model_with(XLMRobertaConfig)
    start = model.slot_states(model.encoder.embeddings(batch["input_ids"]), batch["slot_positions"])
    among = batch["input_ids"].clone()
    among.scatter_(1, batch["slot_positions"] + 1, MASK_ID)
    states = model.encoder.embeddings(among)
    for row, places in enumerate((batch["slot_positions"] + 1).tolist()):
        torch.testing.assert_close(start[row], states[row, places])


@torch.no_grad()
def test_a_mask_does_not_depend_on_the_other_masks(model, batch):
    whole = model(**batch).logits
    alone = model(**{**batch, "slot_positions": batch["slot_positions"][:, 1:2]}).logits
    torch.testing.assert_close(alone, whole[:, 1:2], atol=1e-5, rtol=1e-5)


def test_it_learns_with_checkpoints_of_gradients_as_without(batch):
    model = model_with(head_dropout=0.0)
    for module in model.encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    labels = torch.tensor([[0, 1, 2]] * 3)
    gradients = []
    for is_kept in (True, False):
        if not is_kept:
            enable = "activation_checkpointing_enable"
            getattr(model, enable if hasattr(model, enable) else "gradient_checkpointing_enable")()  # before 5.23
        assert model.train().reads_short == is_kept
        model.zero_grad()
        model(**batch, labels=labels).loss.backward()
        gradients.append(model.get_input_embeddings().weight.grad.clone())
    assert gradients[0][MASK_ID].abs().sum() > 0
    torch.testing.assert_close(*gradients, atol=1e-6, rtol=1e-4)


def test_it_is_saved_and_read_again_and_tagging_is_read_as_it(batch, tmp_path):
    model = model_with(mask_layers=2)
    model.save_pretrained(tmp_path / "stream")
    again = PunctuationRestorationModel.from_pretrained(tmp_path / "stream").eval()
    torch.testing.assert_close(again(**batch).logits, model(**batch).logits)
    fields = {"slot_style": "last-piece", "mask_token_id": None}
    tagging = PunctuationRestorationModel(PunctuationRestorationConfig(**{**model.config.to_dict(), **fields}))
    tagging.load_state_dict(model.state_dict())
    tagging.save_pretrained(tmp_path / "tagging")
    given = {"slot_style": "mask-stream", "mask_token_id": MASK_ID, "mask_layers": 2}
    switched = PunctuationRestorationModel.from_pretrained(tmp_path / "tagging", **given).eval()
    torch.testing.assert_close(switched(**batch).logits, model(**batch).logits)
    with pytest.raises(ValueError, match=r"mask_token_id=tokenizer.mask_token_id"):
        PunctuationRestorationModel.from_pretrained(tmp_path / "tagging", slot_style="mask-stream")
    assert fingerprint(tagging) != fingerprint(switched)


@pytest.mark.slow
def test_onnx_reads_as_torch_does(tiny_stream, tmp_path, monkeypatch):
    monkeypatch.setattr("punctuation_restoration.pipeline.backends.CACHE_FOLDER", str(tmp_path))
    config = type(tiny_stream.config)(**{**tiny_stream.config.to_dict(), "mask_layers": 1})
    model = PunctuationRestorationModel(config).eval()
    model.load_state_dict(tiny_stream.state_dict())
    compute = make_backend("onnx", model, PAD_ID)
    torch.manual_seed(3)
    for n_texts, n_pieces in ((1, 9), (3, 20)):
        ids, mask = torch.randint(4, 60, (n_texts, n_pieces)), torch.ones(n_texts, n_pieces, dtype=torch.long)
        mask[-1, n_pieces - 2 :] = 0
        places = torch.tensor([[2, 4, 6]] * n_texts)
        with torch.no_grad():
            expected = model(input_ids=ids, attention_mask=mask, slot_positions=places).logits.softmax(-1)
        found = compute(input_ids=ids, attention_mask=mask, slot_positions=places)
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_pieces_are_those_of_the_text_and_known_marks(tiny_tokenizer, tiny_stream):
    slots = SlotEncoder(tiny_tokenizer, tiny_stream.config)
    ids, places = slots.assemble(slots.pieces(["hello", "is", "the"]), [None, 1, 0])
    shown = tiny_tokenizer.convert_ids_to_tokens(ids)
    assert (shown, places) == (["<s>", "▁hello", "▁is", ",", "▁the", "</s>"], [1, 2, 4])
    assert slots.n_pieces([[5], [6], [7]], [None, 1, 0]) == [1, 2, 1]
    assert slots.mask_id == tiny_tokenizer.mask_token_id


def test_texts_are_restored_in_batches_windows_and_with_known_marks(tiny_stream, tiny_tokenizer):
    restore = pipeline("punctuation-restoration", model=tiny_stream, tokenizer=tiny_tokenizer)
    text = "hello you are the saya awak hello"
    plain, empty = restore([text, ""])
    assert (empty["text"], empty["words"]) == ("", [])
    told = restore({"text": text, "known": {1: "COMMA", 3: "O"}})
    assert [told["words"][n]["label"] for n in (1, 3)] == ["COMMA", "O"]
    assert [word["score"] for word in plain["words"]][5] != told["words"][5]["score"]
    shown, kept = (restore("hello you, are the saya", existing=way)["words"] for way in ("condition", "keep"))
    assert shown[1]["mark"] == kept[1]["mark"] == ","
    assert shown[3]["score"] != kept[3]["score"]
    long = " ".join([text] * 12)
    batched, single = restore([long, text], batch_size=4)[0], restore(long, batch_size=1)
    scores = [[word["score"] for word in result["words"]] for result in (batched, single)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)
    assert len(scores[0]) == 84


def test_a_run_trains_the_row_of_the_mask_and_goes_on(prepared, tiny_encoder, tmp_path, capsys):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("name: tiny\nsources: []\nmodel: {slot_style: mask-stream, mask_layers: 2}\n")
    fixed = "--device cpu --warmup-steps 1 --pieces-per-batch 128 --validation-words 100 --threads 1 --precision fp32"
    call = ["--recipe", str(recipe), "--data", prepared, "--output", str(tmp_path / "out"), *fixed.split()]
    assert run_training([*call, "--encoder", str(tiny_encoder), "--max-steps", "2"]) == 0
    said = capsys.readouterr().out
    assert "slot style mask-stream" in said
    trained = PunctuationRestorationModel.from_pretrained(tmp_path / "out" / "final")
    before = PunctuationRestorationModel.from_encoder(str(tiny_encoder)).get_input_embeddings().weight
    mask_id = trained.config.mask_token_id
    changed = (trained.get_input_embeddings().weight != before).any(dim=1)
    assert changed[mask_id]
    assert not changed[5]
    assert run_training([*call, "--encoder", str(tiny_encoder), "--max-steps", "3"]) == 0
    assert "Going on from" in capsys.readouterr().out


def test_a_tagging_checkpoint_is_trained_on_as_a_stream(prepared, tiny_checkpoint, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("name: tiny\nsources: []\nmodel: {mask_layers: 2}\n")
    call = ["--recipe", str(recipe), "--data", prepared, "--output", str(tmp_path / "out"), "--model", tiny_checkpoint]
    fixed = (
        "--device cpu --max-steps 1 --pieces-per-batch 128 --validation-words 100 --threads 1 --slot-style mask-stream"
    )
    assert run_training([*call, *fixed.split()]) == 0
    config = PunctuationRestorationConfig.from_pretrained(tmp_path / "out" / "final")
    assert (config.slot_style, config.mask_layers) == ("mask-stream", 2)


def test_what_cannot_work_is_refused(tiny_tokenizer, tiny_stream):
    with pytest.raises(ValueError, match=r"mask_token_id below the encoder's 64 pieces .* got None"):
        model_with(mask_token_id=None)
    with pytest.raises(ValueError, match=r"got 64. Give mask_token_id=tokenizer.mask_token_id"):
        model_with(mask_token_id=64)
    with pytest.raises(ValueError, match="mask_layers from 1 to the encoder's 3 layers, got 4"):
        model_with(mask_layers=N_LAYERS + 1)
    other = DistilBertConfig(vocab_size=64, dim=32, n_layers=2, n_heads=4, hidden_dim=48)
    fields = {"slot_style": "mask-stream", "mask_token_id": 3, "encoder_config": other.to_dict()}
    with pytest.raises(ValueError, match=r"got DistilBertModel. Use slot_style 'mask'"):
        PunctuationRestorationModel(PunctuationRestorationConfig(**fields))
    config = type(tiny_stream.config)(**{**tiny_stream.config.to_dict(), "mask_token_id": 3})
    with pytest.raises(ValueError, match="whose mask has the id 3"):
        SlotEncoder(tiny_tokenizer, config)
