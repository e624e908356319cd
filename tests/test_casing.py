"""Capitals that are learned: what texts say of them, the model's second head, and what it writes."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training_runs import arguments
from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

from punctuation_restoration.cli.evaluate import main as evaluate
from punctuation_restoration.cli.train import main as train
from punctuation_restoration.data.augmentation import Augmenter
from punctuation_restoration.data.casings import LONG, UNKNOWN, casing_targets, sentence_begins, written_casings
from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.dataset import windows_for_trainer
from punctuation_restoration.data.prepare import prepare
from punctuation_restoration.data.recipe import Augmentation, build_recipe
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import open_shard, read_index, save_arrays, shard_documents
from punctuation_restoration.data.streams import WordStream
from punctuation_restoration.evaluation.casing import evaluate_casing
from punctuation_restoration.evaluation.examples import cut, example_from_text
from punctuation_restoration.evaluation.labels import standard_labels
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.heads import NOT_SCORED
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.casing import AS_IS, CAPITAL, MIXED, UPPER, casing_of, recased
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.pipeline.words import WordFinder
from punctuation_restoration.training.losses import total_loss
from punctuation_restoration.training.settings import TrainingSettings

MIXED_CASE = ["iPhone", "McDonald", "Ph.D", "iphOne"]
LISTED = {"iphone": "iPhone", "mcdonald": "McDonald", "ph.d": "Ph.D"}
TALK = (
    "Hello, you are Mary. Mary is the best of NASA, is she? She is. The iPhone you say is the McDonald's. Hello, Mary. "
)


@pytest.mark.parametrize(
    ("written", "casing"),
    [
        ("monday", AS_IS), ("Monday", CAPITAL), ("I", CAPITAL), ("I'm", CAPITAL), ("NASA", UPPER), ("NASA's", UPPER),
        ("U.S.", UPPER), ("THAT'S", UPPER), ("iPhone", MIXED), ("McDonald's", MIXED), ("CEOs", MIXED), ("3D", CAPITAL),
        ("1990s", AS_IS), ("2024", None), ("我们", None), ("Straße", CAPITAL), ("O'Brien", MIXED), ("X-ray", CAPITAL),
        ("Covid-19", CAPITAL), ("ПРАВДА", UPPER), ("ไทย", None),
    ],
)  # fmt: skip
def test_the_casing_of_a_written_word(written: str, casing: int | None) -> None:
    assert casing_of(written) == casing
    if casing is not None:  # and it is written so again
        mixed = {"iphone": "iPhone", "mcdonald": "McDonald", "ceos": "CEOs"}
        assert recased(written.lower(), casing, mixed) == written.replace("THAT'S", "THAT's")


@pytest.mark.parametrize(
    ("given", "casing", "restored"),
    [
        ("nasa’s", UPPER, "NASA’s"), ("u.s.", UPPER, "U.S."), ("ph.d.", MIXED, "Ph.D."), ("iphones", MIXED, "Iphones"),
        ("o'brien", MIXED, "O'Brien"), ("o’brien", CAPITAL, "O’brien"), ("smith-jones", MIXED, "Smith-Jones"),
        ("straße", UPPER, "STRAßE"), ("ßa", CAPITAL, "ßa"), ("mary", AS_IS, "mary"), ("3d", CAPITAL, "3D"),
        ("mcdonald's", MIXED, "McDonald's"), ("iphone", CAPITAL, "iPhone"), ("iphone", UPPER, "iPhone"),
        ("iphone", AS_IS, "iphone"), ("我们", UPPER, "我们"), ("", MIXED, ""),
    ],
)  # fmt: skip
def test_words_are_written_letter_for_letter(given: str, casing: int, restored: str) -> None:
    assert recased(given, casing, LISTED) == restored


def said(text: str, has_casing: bool | None = None) -> list[int]:
    """The targets of the words of a text in which only periods end sentences, written behind a blank."""
    tokens = text.split()
    words = [token for token in tokens if token != "."]
    is_stop = np.array([after == "." for before, after in pairwise([*tokens, ""]) if before != "."])
    begins = sentence_begins(is_stop)
    return casing_targets(words, begins, written_casings(words, begins, has_casing)).tolist()


def test_a_sentence_start_says_nothing_unless_it_is_certain() -> None:
    assert said("He met Mary . Mary came . NASA called her . iPhone . Her dog ran") == [
        UNKNOWN, AS_IS, CAPITAL, CAPITAL, AS_IS, UPPER, AS_IS, AS_IS, MIXED, AS_IS, AS_IS, AS_IS,
    ]  # fmt: skip
    assert said("We met May . May we go , as we may")[3] == UNKNOWN  # written in both ways
    assert said("She asked why . he left . Then we 我们 go . We 3 go")[3] == AS_IS


@pytest.mark.parametrize(
    "text",
    [
        "he met mary . mary came . nasa called . her dog ran",  # nobody cared
        "HE MET MARY . MARY CAME . NASA CALLED",
        "He Met Mary And Went . Mary Came To Town",
        "We go . " * 2 + "So " + "we go on " * LONG + ". Mary came",  # long, and no capital inside a sentence
        "",
        "我们 . 3",
    ],
)
def test_texts_whose_letters_say_nothing(text: str) -> None:
    assert set(said(text)) <= {UNKNOWN}


def test_headlines_in_a_text_say_nothing_and_a_recipe_knows_better() -> None:
    text = "We met and went . Mary Met John In Paris . WE GO . They came to us and to them and left"
    assert said(text)[:12] == [UNKNOWN, *[AS_IS] * 3, *[UNKNOWN] * 8]
    small = "he met mary . mary came"
    assert said(small, has_casing=True) == [AS_IS] * 5
    assert said("He met Mary . Mary came", has_casing=False) == [UNKNOWN] * 5


def prepared_talks(folder: Path, checkpoint: str, **source: Any) -> dict[str, Any]:
    rows = [json.dumps({"id": f"d{n}", "text": TALK + f"You are {'abcdefgh'[n]} 我们."}) for n in range(8)]
    (folder / "talks.jsonl").write_text("\n".join(rows), encoding="utf-8")
    source = {"path": "talks.jsonl", "language": "en", **source}
    recipe = build_recipe({"name": "r", "root": str(folder), "sources": [source], "validation": 0.3})
    return prepare(recipe, folder / "data", checkpoint, n_processes=1)


@pytest.fixture(scope="module")
def cased_data(tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cased")
    prepared_talks(folder, tiny_checkpoint)
    return folder / "data"


def first_shard(index: Any) -> Path:
    return Path(index["sources"][0]["splits"]["train"]["shards"][0]["file"])


EXPECTED = [  # of the words of TALK
    UNKNOWN, AS_IS, AS_IS, CAPITAL, CAPITAL, AS_IS, AS_IS, AS_IS, AS_IS, UPPER, AS_IS, AS_IS, AS_IS, AS_IS,
    AS_IS, MIXED, AS_IS, AS_IS, AS_IS, AS_IS, MIXED, UNKNOWN, CAPITAL,
]  # fmt: skip


def test_shards_have_the_casing_of_each_word_and_the_index_the_mixed_ones(cased_data: Path) -> None:
    index = read_index(cased_data)
    arrays = open_shard(first_shard(index))
    n_words = len(EXPECTED) + 4
    assert arrays["casings"][:n_words].tolist() == [*EXPECTED, AS_IS, AS_IS, AS_IS, UNKNOWN]
    n_documents = index["sources"][0]["splits"]["train"]["n_documents"]
    assert index["mixed_case"] == {"McDonald": n_documents, "iPhone": n_documents}
    assert index["sources"][0]["splits"]["train"]["n_cased"] == n_documents * (n_words - 3)
    again = np.concatenate([document.casings for document in shard_documents(first_shard(index))])
    assert np.array_equal(again, arrays["casings"])
    assert read_index(cased_data, cased_data)["mixed_case"]["iPhone"] == 2 * n_documents


def test_a_recipe_may_say_that_letters_mean_nothing(tiny_checkpoint: str, tmp_path: Path) -> None:
    index = prepared_talks(tmp_path, tiny_checkpoint, casing=False)
    assert "casings" not in open_shard(first_shard(index))
    assert index["mixed_case"] == {}
    stream = WordStream(first_shard(index), 0)
    assert set(stream.words(0, 9)[4].tolist()) == {UNKNOWN}


def test_casings_of_another_length_are_no_shard(cased_data: Path, tmp_path: Path) -> None:
    arrays = open_shard(first_shard(read_index(cased_data)))
    save_arrays(arrays | {"casings": arrays["casings"][1:]}, tmp_path / "x.safetensors")
    with pytest.raises(ValueError, match="casings differ in length"):
        open_shard(tmp_path / "x.safetensors")


def test_augmentation_keeps_casings_beside_their_words() -> None:
    ids = np.arange(10, 90)
    window = CutWindow(ids, np.ones(80, np.uint8), np.zeros(80, int), 0, (3,), casings=(ids % 4).astype(np.uint8))
    noisy = Augmentation(rate=0.3, random_pieces=0.5, fillers=0.1, repeats=0.1, losses=0.1)
    found = Augmenter(noisy, 3, [1, 2], {0: [[5]]})(window)
    known = found.casings != UNKNOWN
    assert len(found.casings) == len(found.labels) == len(found.piece_counts)
    assert 0 < np.count_nonzero(known) < len(known)
    assert (found.casings[known] == found.piece_ids[known] % 4).all()


def test_batches_have_casings_where_they_are_learned(tiny_tokenizer: Any, tiny_config: Any) -> None:
    casings = np.array([AS_IS, UPPER, UNKNOWN], dtype=np.uint8)
    windows = [
        CutWindow(np.arange(5, 8), np.ones(3, np.uint8), np.array([1, 2, 1]), 0, (seed,), casings=own)
        for seed, own in ((1, casings), (2, casings[:3]), (3, None))
    ]
    slots = SlotEncoder(tiny_tokenizer, tiny_config)
    batch = WindowCollator(slots, filled_windows=1.0, max_filled=1.0, casings=True)(windows)
    assert batch["casings"].tolist() == [[AS_IS, UPPER, NOT_SCORED]] * 2 + [[NOT_SCORED] * 3]
    assert (batch["labels"] == NOT_SCORED).any()  # slots that show their mark have casings all the same
    assert "casings" not in WindowCollator(slots)(windows)


@pytest.fixture(scope="module")
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


@pytest.fixture(scope="module")
def restore(cased_model: str) -> Any:
    return pipeline("punctuation-restoration", model=cased_model, device="cpu")


def test_a_new_head_changes_nothing_until_it_is_trained(tiny_checkpoint: str, batch: Any) -> None:
    plain = PunctuationRestorationModel.from_pretrained(tiny_checkpoint).eval()
    model = PunctuationRestorationModel.from_pretrained(tiny_checkpoint, casings=True).eval()
    assert plain.classifier.casings is None
    assert plain(**batch).casing_logits is None
    torch.testing.assert_close(model(**batch).logits, plain(**batch).logits)
    assert model(**batch).casing_logits.argmax(-1).unique().tolist() == [AS_IS]
    with pytest.raises(ValueError, match="Expected no casings"):
        plain(**batch, casings=batch["slot_positions"])


def test_the_head_is_saved_with_its_list(cased_model: str, batch: Any) -> None:
    loaded = PunctuationRestorationModel.from_pretrained(cased_model).eval()
    assert loaded.config.casings
    assert loaded.config.mixed_case == MIXED_CASE
    again = AutoModelForTokenClassification.from_pretrained(cased_model).eval()
    torch.testing.assert_close(again(**batch).casing_logits, loaded(**batch).casing_logits)
    assert loaded(**batch).casing_logits.shape == (3, 3, 4)


def test_the_loss_of_casings_is_added(cased_model: str, batch: Any) -> None:
    model = PunctuationRestorationModel.from_pretrained(cased_model).eval()
    labels, casings = torch.full((3, 3), NOT_SCORED), torch.full((3, 3), NOT_SCORED)
    labels[0, 0], casings[1, 2], casings[2, 0] = 1, 2, 3
    marks, both = model(**batch, labels=labels), model(**batch, labels=labels, casings=casings)
    scores = both.casing_logits.log_softmax(-1)
    expected = -(scores[1, 2, 2] + scores[2, 0, 3])
    torch.testing.assert_close(both.loss, marks.loss + expected / 2)
    settings = TrainingSettings(casing_weight=0.25)
    summed = total_loss(both.logits, labels, settings, casing_logits=both.casing_logits, casings=casings)
    torch.testing.assert_close(summed, marks.loss + 0.25 * expected)


@pytest.mark.parametrize(
    ("fields", "what"),
    [({"casings": True, "lowercase": False}, "lowercase=True"), ({"mixed_case": ["iphone"]}, "words with capitals")],
)
def test_settings_that_cannot_be(tiny_config: Any, fields: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        PunctuationRestorationModel(PunctuationRestorationConfig(**{**tiny_config.to_dict(), **fields}))


def test_onnx_runtime_gives_the_same(cased_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from punctuation_restoration.pipeline import backends

    monkeypatch.setattr(backends, "CACHE_FOLDER", str(tmp_path))
    torch_pipeline, onnx = (
        pipeline("punctuation-restoration", model=cased_model, device="cpu", backend=name) for name in ("torch", "onnx")
    )
    text = "hello mary you are the best of nasa is she"
    assert onnx(text, truecase=True)["text"] == torch_pipeline(text, truecase=True)["text"]
    inputs = {"input_ids": torch.randint(4, 60, (2, 9)), "slot_positions": torch.tensor([[2, 4], [3, 6]])}
    with torch.no_grad():
        expected = torch_pipeline._probabilities(**inputs)
    assert expected.shape == (2, 2, 8)
    torch.testing.assert_close(onnx._probabilities(**inputs), expected, atol=1e-4, rtol=1e-3)


def with_casings(restore: Any, monkeypatch: pytest.MonkeyPatch, casings: dict[str, int]) -> Any:
    """The pipeline, whose model writes no mark and says what is given of words by the pieces that they end in."""
    last = {restore.slots.pieces([word])[0][-1]: casing for word, casing in casings.items()}

    def probabilities(input_ids: torch.Tensor, slot_positions: torch.Tensor, **_: Any) -> torch.Tensor:
        ends = input_ids.gather(1, (slot_positions - 1).clamp(min=0))  # the piece before each mask
        found = torch.tensor([[last.get(piece, AS_IS) for piece in row] for row in ends.tolist()])
        return torch.cat([torch.eye(4)[torch.zeros_like(found)], torch.eye(4)[found]], dim=-1)

    monkeypatch.setattr(restore, "_probabilities", probabilities)
    return restore


SAYS = {"mark": CAPITAL, "ab": UPPER, "iphone": MIXED}


def test_words_get_their_letters_and_sentences_their_capitals(restore: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    restore = with_casings(restore, monkeypatch, SAYS)
    known = {3: "PERIOD"}
    text = "hello mark the ab iphone the iPhone ab@mark.k https://a.b a.b mcdonald 我们"
    item = {"text": text, "known": known}
    assert restore(item, truecase=True)["text"] == (
        "Hello Mark the AB. iPhone the iPhone ab@mark.k https://a.b A.B mcdonald 我们"
    )
    plain = restore(item)
    assert plain["text"] == text[:17] + "." + text[17:]
    edits = [edit for edit in restore(item, truecase=True)["edits"] if edit["source"] == "truecase"]
    assert [(edit["start"], edit["removed"], edit["inserted"]) for edit in edits][:3] == [
        (0, "h", "H"), (6, "m", "M"), (15, "a", "A"),
    ]  # fmt: skip
    assert restore("MARK MarK ab", truecase=True)["text"] == "MARK MarK AB"


def test_chunks_and_streams_have_the_letters_too(restore: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    restore = with_casings(restore, monkeypatch, SAYS)
    chunks = [{"text": " hello", "timestamp": (0.0, 1.0)}, {"text": " ab", "timestamp": (1.0, 2.0)}]
    found = restore({"text": "hello ab", "chunks": chunks}, truecase=True)["chunks"]
    assert [chunk["text"] for chunk in found] == [" Hello", " AB"]
    parts = ["the ab is m", "ark the ab ", "hello you are", " the mark"]
    streamed = "".join(restore.stream(parts, truecase=True, condition=True))
    assert streamed == restore("".join(parts), truecase=True, existing="condition")["text"]
    assert streamed == "The AB is Mark the AB hello you are the Mark"


def test_letters_change_only_their_case_and_restored_text_stays(restore: Any) -> None:
    text = "hello you are mary, the best of the iphone is he 我们 saya awak o'brien u.s. you say a.b it's straße " * 3
    for existing in ("complete", "keep", "condition", "replace"):
        plain, cased = restore(text, existing=existing), restore(text, existing=existing, truecase=True)
        assert len(cased["text"]) == len(plain["text"])
        pairs = list(zip(plain["text"], cased["text"], strict=True))
        assert all(new in (old, old.upper()) for old, new in pairs)
        assert sum(old != new for old, new in pairs) > 20
    for existing in ("complete", "keep"):
        cased = restore(text, existing=existing, truecase=True)["text"]
        assert restore(cased, existing=existing, truecase=True)["text"] == cased


def test_an_ensemble_takes_the_letters_of_the_first_that_knows_them(
    cased_model: str, tiny_checkpoint: str, restore: Any
) -> None:
    both = pipeline("punctuation-restoration", model=tiny_checkpoint, device="cpu", ensemble=[cased_model])
    words = "hello you are mary the best of saya iphone awak"
    known = dict.fromkeys(range(10), "O")
    item = {"text": words, "known": known}
    assert both(item, truecase=True)["text"] == restore(item, truecase=True)["text"] != words.capitalize()


def test_a_run_learns_casings_and_goes_on(
    cased_data: Path, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = ["--encoder-rate", "3e-3", "--head-rate", "1e-2", "--casing-weight", "5", "--dropout", "0"]
    more = ["--casings", *rates, "--evaluate-every", "30", "--max-steps"]
    for steps in ("2", "60"):
        assert train(arguments(str(cased_data), tmp_path, tiny_checkpoint, *more, steps)) == 0
    assert "of casings en " in capsys.readouterr().out
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    f1s = [row["validation"]["casings"]["en"] for row in rows if "validation" in row]
    assert f1s[-1] > 50 > f1s[0]
    model = PunctuationRestorationModel.from_pretrained(tmp_path / "final")
    assert model.config.mixed_case == ["McDonald", "iPhone"]


def test_a_step_down_the_gradient_lowers_the_loss_of_casings(cased_model: str, batch: Any) -> None:
    model = PunctuationRestorationModel.from_pretrained(cased_model).eval()
    casings = torch.tensor([[AS_IS, CAPITAL, UPPER], [MIXED, NOT_SCORED, AS_IS], [CAPITAL, CAPITAL, AS_IS]])
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(2):
        loss = model(**batch, casings=casings).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[1] < losses[0]


def test_casings_that_are_not_there_cannot_be_learned(
    tiny_checkpoint: str, cased_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepared_talks(tmp_path, tiny_checkpoint, casing=False)
    data, more = str(tmp_path / "data"), ["--max-steps", "2"]
    assert train(arguments(data, tmp_path / "a", tiny_checkpoint, *more, "--casings")) == 1
    assert "Expected data with casings, got none" in capsys.readouterr().err
    assert train(arguments(data, tmp_path / "b", tiny_checkpoint, *more)) == 0


def test_old_shards_train_a_model_without_casings(
    cased_data: Path, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    for path in cased_data.glob("*.safetensors"):
        save_arrays({name: rows for name, rows in open_shard(path).items() if name != "casings"}, old / path.name)
    index = json.loads((cased_data / "index.json").read_text())
    del index["mixed_case"]
    for counts in index["sources"][0]["splits"].values():
        counts.pop("n_cased")
    (old / "index.json").write_text(json.dumps(index))
    assert train(arguments(str(old), tmp_path / "run", tiny_checkpoint, "--max-steps", "2")) == 0
    # beside data with casings, it goes on learning them
    both = arguments(str(cased_data), tmp_path / "both", tiny_checkpoint, "--max-steps", "2", "--casings")
    both[2:2] = [str(old)]
    assert train(both) == 0
    assert "of casings" in capsys.readouterr().out


def test_adapters_and_transformers_trainer_learn_casings(cased_data: Path, cased_model: str, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    more = ["--max-steps", "2", "--adapter-rank", "2"]
    assert train(arguments(str(cased_data), tmp_path, cased_model, *more)) == 0
    before = PunctuationRestorationModel.from_pretrained(cased_model)
    after = PunctuationRestorationModel.from_pretrained(tmp_path / "final")
    assert (after.classifier.casings.weight != before.classifier.casings.weight).any()
    windows, collator = windows_for_trainer(
        str(cased_data), AutoTokenizer.from_pretrained(cased_model), before.config, 2
    )
    outputs = before.train()(**collator(windows))
    outputs.loss.backward()
    assert before.classifier.casings.weight.grad.abs().max() > 0


def example(text: str, config: Any) -> Any:
    labels = standard_labels(config)
    return example_from_text(text, WordFinder(labels.mark_labels), labels, id="x", source="s", has_casing=None)


def test_references_say_how_their_words_are_written(tiny_config: Any) -> None:
    found = example("We met Mary. NASA 我们 called. HE SHOUTED. He came, 3 days late.", tiny_config)
    assert found.text == "we met mary nasa 我们 called he shouted he came 3 days late"
    assert found.cased == (
        "We", "met", "Mary", "NASA", None, None, "called", None, None, "He", "came", None, "days", "late",
    )  # fmt: skip
    (short,) = cut([found], 4)
    assert short.cased == ("We", "met", "Mary", "NASA")
    assert not any(example("we met mary. he came. we went.", tiny_config).cased)


def test_capitals_are_counted_by_hand(restore: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    restore = with_casings(restore, monkeypatch, SAYS)
    config = restore.model.config
    one = example("Hello Mark, I am the AB. You are Saya, the mark is ab. The iPhone is in.", config)
    labels = standard_labels(config)
    # written: Hello Mark, I am the AB. You are saya, the Mark is AB. The iPhone is in.
    scores = evaluate_casing(restore, [one], labels, with_marks=True).scores()
    numbers = {name: (row.n_correct, row.n_reference, row.n_predicted) for name, row in scores.items()}
    assert numbers == {
        "all": (7, 8, 9), "sentence start": (3, 3, 3), "English I": (1, 1, 1), "elsewhere": (3, 4, 5),
        "capital": (5, 6, 6), "upper": (1, 1, 2), "mixed": (1, 1, 1),
    }  # fmt: skip
    assert scores["all"].f1 == pytest.approx(14 / 17)
    # The model writes no mark, so that only the text begins with a capital.
    own = evaluate_casing(restore, [one], labels, with_marks=False)
    assert own.scores()["sentence start"].n_predicted == 1
    assert own.n_words == 17


def test_the_command_scores_capitals_with_and_without_a_head(
    cased_model: str, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [json.dumps({"id": f"d{n}", "text": TALK * (n + 1)}) for n in range(6)]
    (tmp_path / "ted.jsonl").write_text("\n".join(rows), encoding="utf-8")
    recipe = tmp_path / "recipe.yaml"
    source = {"path": "ted.jsonl", "language": "en", "validation": 0.99}
    recipe.write_text(json.dumps({"name": "r", "root": str(tmp_path), "sources": [source]}))
    for number, model in enumerate((cased_model, tiny_checkpoint)):
        out = tmp_path / f"{number}.json"
        more = ["--recipe", str(recipe), "--output", str(out), "--benchmark", "en-casing-valid"]
        assert evaluate(["--model", model, "--device", "cpu", *more]) == 0
        casing = json.loads(out.read_text())["casing"]
        assert list(casing) == ["reference", "model"]
        starts, elsewhere = casing["reference"]["sentence start"], casing["reference"]["elsewhere"]
        assert starts["n_reference"] == elsewhere["n_reference"] > 0  # five in each copy of the talk
        assert (elsewhere["n_predicted"] > 0) == (model == cased_model)
        assert casing["reference"]["n_words"] % 23 == 0
    shown = capsys.readouterr().out
    assert "words whose letters change" in shown
