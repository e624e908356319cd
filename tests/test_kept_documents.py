"""A share of the documents kept for test: split by id, counted, and scored from the texts."""

import json

import pytest

from punctuation_restoration.cli.evaluate import main as evaluate
from punctuation_restoration.cli.prepare import main as prepare
from punctuation_restoration.data.recipe import build_recipe, held_out_shares
from punctuation_restoration.data.shards import hash_id, open_shard, read_index, split_of
from punctuation_restoration.evaluation.benchmarks import load_examples, named
from punctuation_restoration.evaluation.examples import own_labels
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig

LABELS = own_labels(PunctuationRestorationConfig())
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def test_shares_are_of_all_ids_and_validation_stays_as_it_was():
    hashes = [hash_id(f"document {number}") for number in range(5000)]
    with_test = [split_of(hash_, 0.1, 0.1) for hash_ in hashes]
    for split, share in (("train", 0.8), ("validation", 0.1), ("test", 0.1)):
        assert with_test.count(split) / len(hashes) == pytest.approx(share, abs=0.015)
    without = [split_of(hash_, 0.1) for hash_ in hashes]
    assert [split == "validation" for split in with_test] == [split == "validation" for split in without]
    assert "test" not in without


def test_a_source_may_have_its_own_share():
    sources = [{"name": "a", "path": "a.txt", "language": "en"}, {"path": "b.txt", "language": "en", "test": 0}]
    made = build_recipe({"name": "r", "validation": 0.1, "test": 0.1, "sources": sources})
    assert [held_out_shares(one, made) for one in made.sources] == [(0.1, 0.1), (0.1, 0)]


@pytest.fixture
def folder(tmp_path, tiny_checkpoint):
    """60 documents, prepared 50/20/30, in plain text and in JSONL; one of the latter stands in both."""
    (tmp_path / "a.txt").write_text("\n\n".join(f"Hello, you are {c}{c}. Is it?" for c in LETTERS), encoding="utf-8")
    rows = [{"id": f"d{n}", "text": f"You say {c}, the man. Here is {c}."} for n, c in enumerate(LETTERS * 2)]
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    texts = ["--texts", str(tmp_path / "a.txt"), str(tmp_path / "b.jsonl"), "--language", "en"]
    shares = ["--validation", "0.2", "--test", "0.3", "--processes", "1"]
    assert prepare([*texts, "--tokenizer", tiny_checkpoint, *shares, "--output", str(tmp_path / "prepared")]) == 0
    return tmp_path / "prepared"


def test_every_document_is_in_one_split_and_the_test_share_is_read_from_the_texts(folder):
    splits = {"train": [], "validation": [], "test": []}
    for row in read_index(folder)["sources"]:
        for split, found in splits.items():
            for shard in row["splits"][split]["shards"]:
                found += open_shard(shard["file"])["document_hashes"].tolist()
    everything = [hash_ for found in splits.values() for hash_ in found]
    assert len(everything) == len(set(everything)) == 52  # the second half of b repeats the first
    for split, found in splits.items():
        assert {split_of(hash_, 0.2, 0.3) for hash_ in found} == {split}
    examples = load_examples(str(folder), LABELS, folder, folder)
    assert [hash_id(example.id) for example in examples] == splits["test"]
    expected = ("COMMA", "O", "O", "PERIOD", "O", "QUESTION")
    assert all(example.labels == expected for example in examples if example.id.startswith("a.txt"))
    assert 0 < sum(example.id.startswith("a.txt") for example in examples) < len(examples)


def test_nothing_changes_without_a_share_for_test(folder, tiny_checkpoint, tmp_path, capsys):
    plain = tmp_path / "plain"
    texts = ["--texts", str(tmp_path / "a.txt"), "--tokenizer", tiny_checkpoint, "--processes", "1"]
    assert prepare([*texts, "--output", str(plain)]) == 0
    [row] = read_index(plain)["sources"]
    assert (list(row["splits"]), "read_from" in row) == (["train", "validation"], False)
    with pytest.raises(ValueError, match=r"documents kept for test .*--test 0\.1"):
        load_examples(str(plain), LABELS, plain, plain)
    assert prepare([*texts, "--output", str(plain), "--validation", "0.5", "--test", "0.5"]) == 1
    assert "below 1 together" in capsys.readouterr().err


def test_the_command_scores_it(folder, tiny_checkpoint, tmp_path, capsys):
    assert named([str(folder)]) == [str(folder)]
    output = tmp_path / "out.json"
    assert evaluate(["--model", tiny_checkpoint, "--benchmark", str(folder), "--output", str(output)]) == 0
    n_words = sum(row["splits"]["test"]["n_words"] for row in read_index(folder)["sources"])
    assert json.loads(output.read_text(encoding="utf-8"))["scores"]["n_words"] == n_words
    (tmp_path / "b.jsonl").write_text('{"id": "d0", "text": "Hello."}', encoding="utf-8")
    assert evaluate(["--model", tiny_checkpoint, "--benchmark", str(folder), "--output", str(output)]) == 1
    assert "The texts have changed: prepare the data again" in capsys.readouterr().err
