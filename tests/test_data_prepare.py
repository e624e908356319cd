"""From files to shards: what is counted, split, skipped and refused, and documents kept for test."""

import json
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
from training_runs import first_shard
from transformers import AutoConfig, AutoTokenizer

from punctuation_restoration.cli.commands import run
from punctuation_restoration.data.conversion import Converter
from punctuation_restoration.data.preparation import hold_enough_out, prepare, prepared_folders
from punctuation_restoration.data.readers import hash_id, read_documents
from punctuation_restoration.data.recipe import (
    Source,
    build_recipe,
    load_recipe,
    read_hashes,
    recipe_for_texts,
    resolved_sources,
    splitter,
)
from punctuation_restoration.data.shards import PackedDocument, make_words, open_shard, read_index
from punctuation_restoration.evaluation.examples import own_labels
from punctuation_restoration.evaluation.scored_texts import load_examples
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig

ROOT = Path(__file__).parents[1]
LABELS = own_labels(PunctuationRestorationConfig())
TEXT = "Hello, you are the best. Is the day you say? "


def write_documents(path: Path, texts: list[str]) -> None:
    rows = [json.dumps({"id": f"d{number}", "text": text}) for number, text in enumerate(texts)]
    path.write_text("\n".join(rows), encoding="utf-8")


def recipe(folder: Path, **fields: Any) -> Any:
    source = {"path": "talks.jsonl", "language": "en", **fields.pop("source", {})}
    return build_recipe({"name": "r", "root": str(folder), "sources": [source], **fields})


def prepared_shard(made: Any, out: Path, tokenizer: str, n_processes: int = 1) -> dict[str, np.ndarray]:
    """The first shard to train on that is made."""
    return open_shard(first_shard(prepare(made, out, tokenizer, n_processes)))


def converter_of(model: str) -> Converter:
    tokenizer, config = AutoTokenizer.from_pretrained(model), AutoConfig.from_pretrained(model)
    return Converter(tokenizer, config, build_recipe({"name": "r", "sources": []}))


def test_words_pieces_and_labels_are_those_of_serving(tmp_path: Path, tiny_checkpoint: str) -> None:
    write_documents(tmp_path / "talks.jsonl", [TEXT + "Hello, 大家你好！我们今天是不是在北京？ Saya."])
    shard = prepared_shard(recipe(tmp_path, validation=0.0), tmp_path / "out", tiny_checkpoint)
    assert shard["labels"][:10].tolist() == [1, 0, 0, 0, 2, 0, 0, 0, 0, 3]
    converter = converter_of(tiny_checkpoint)
    pieces = converter.slots.pieces(["Hello", "you", "are", "the", "best"])
    assert shard["piece_counts"][:5].tolist() == [len(word) for word in pieces]
    assert shard["piece_ids"][: sum(map(len, pieces))].tolist() == [piece for word in pieces for piece in word]
    assert shard["piece_counts"].sum() == len(shard["piece_ids"])


def test_every_document_left_out_is_counted_with_its_reason(
    tmp_path: Path, tiny_checkpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = [TEXT * 2, TEXT.upper() + " " + TEXT]  # the same, but for case and blanks
    others = ["hello you are the best", "Hello you.", "?!", "Hello. " * 20, "you " * 200 + "are. Hello. You. Is."]
    write_documents(tmp_path / "talks.jsonl", [*twice, *others])
    index = prepare(recipe(tmp_path, validation=0.0), tmp_path / "out", tiny_checkpoint, n_processes=1)
    too = ("too few sentences", "too few words", "too many marks a word", "too few marks a word")
    assert index["sources"][0]["skipped"] == dict.fromkeys(("duplicate", "no marks", *too), 1)
    train = index["sources"][0]["splits"]["train"]
    assert (train["n_documents"], train["n_words"], train["n_labels"]) == (1, 20, [14, 2, 2, 2])
    assert "talks: train 1 documents, 20 words, COMMA 2, PERIOD 2, QUESTION 2; validation 0" in capsys.readouterr().out


def test_documents_of_a_benchmark_are_never_prepared(tmp_path: Path, tiny_checkpoint: str) -> None:
    known = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26)}, and on." for n in range(60))
    texts = [TEXT + f"{word} hello. " * 3 for word in "abcdef"]
    write_documents(tmp_path / "talks.jsonl", [*texts, TEXT + "You are, he said, the best 2 of 6. Hello.", known])
    hashes = "".join(f"{hash_id(one):016x}\n" for one in ("d1", "d4"))
    (tmp_path / "ids.txt").write_text(f"# a comment\n{hashes}", encoding="utf-8")
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "hard.tsv").write_text("language\tsentence\nen\tare he said the BEST?\n", encoding="utf-8")
    (tmp_path / "bench" / "test.txt").write_text(known)
    held_out = {"held_out": str(tmp_path / "ids.txt")}
    made = recipe(tmp_path, validation=0.0, source=held_out, leak_check=[str(tmp_path / "bench")])
    row = prepare(made, tmp_path / "out", tiny_checkpoint, n_processes=1)["sources"][0]
    assert row["skipped"] == {
        "held out for a benchmark": 2, "holds a sentence of a benchmark": 1, "in a benchmark": 1,
    }  # fmt: skip
    used = open_shard(first_shard({"sources": [row]}))["document_hashes"].tolist()
    assert used == [hash_id(f"d{number}") for number in (0, 2, 3, 5)]


def test_a_file_of_hashes_that_is_missing_or_wrong_is_named(tmp_path: Path) -> None:
    assert read_hashes(None) == frozenset()
    with pytest.raises(ValueError, match=r"nothing\.txt, found none"):
        read_hashes(str(tmp_path / "nothing.txt"))
    for wrong in ("TODO1/an-id", "123"):
        (tmp_path / "ids.txt").write_text(f"# a comment\n\n00000000000000ff\n{wrong}\n", encoding="utf-8")
        with pytest.raises(ValueError, match=f"line 4, got '{wrong}'"):
            read_hashes(str(tmp_path / "ids.txt"))
    made = load_recipe(ROOT / "recipes" / "en-zh-ms.yaml")
    n_held_out = {one.name: len(read_hashes(str(ROOT / one.held_out))) for one in made.sources if one.held_out}
    assert n_held_out == {"goldminer_tech": 135}
    assert {"tools/hard_sentences.tsv", "tools/conversations.tsv"} <= set(made.leak_check)


@pytest.mark.slow
def test_processes_change_nothing(tmp_path: Path, tiny_checkpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_documents(tmp_path / "talks.jsonl", [TEXT + f"{word} hello. " for word in "abcdef"])
    monkeypatch.setattr("punctuation_restoration.data.preparation.BYTES_PER_PROCESS", 10)
    source = {"path": "talks.jsonl", "language": "en"}
    sources = [{**source, "name": "first", "max_words": 20}, {**source, "name": "second"}]  # has what the first leaves
    made = build_recipe({"name": "r", "root": str(tmp_path), "validation": 0.0, "sources": sources})
    one, two = (prepare(made, tmp_path / str(n), tiny_checkpoint, n)["sources"] for n in (1, 2))
    assert [row["splits"]["train"]["n_documents"] for row in one] == [2, 4]
    for row, other in zip(one, two, strict=True):
        shards = (open_shard(own["splits"]["train"]["shards"][0]["file"]) for own in (row, other))
        assert all(np.array_equal(*pair) for pair in zip(*(shard.values() for shard in shards), strict=True))


@pytest.mark.parametrize("name", "abcdefghijklmnop")
def test_of_a_single_text_the_end_is_held_out_whatever_its_hash(
    name: str, tmp_path: Path, tiny_checkpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("punctuation_restoration.data.preparation.BYTES_PER_PROCESS", 10)
    monkeypatch.setattr("punctuation_restoration.data.conversion.get_context", None)  # `train` starts no processes
    (tmp_path / f"{name}.txt").write_text("Hello you. " * 40)
    (folder,) = prepared_folders(
        [str(tmp_path / f"{name}.txt")], tmp_path / "out", tiny_checkpoint, language="en", validation=0.5
    )
    (row,) = read_index(folder)["sources"]
    assert {split: part["n_words"] for split, part in row["splits"].items()} == {"train": 40, "validation": 40}


def test_numbers_are_spelled_and_word_limits_hold(tmp_path: Path, tiny_checkpoint: str) -> None:
    pytest.importorskip("num2words")
    write_documents(tmp_path / "talks.jsonl", ["I am 21. You are 3. Is it? " + word for word in "abcdefgh"])
    made = recipe(tmp_path, validation=0.0, spoken_forms={"numbers": 1.0}, source={"max_words": 20})
    index = prepare(made, tmp_path / "out", tiny_checkpoint, n_processes=1)
    train = index["sources"][0]["splits"]["train"]
    assert (train["n_documents"], train["n_words"]) == (2, 20)  # 10 words each: twenty one, three


def test_label_files(tmp_path: Path, tiny_checkpoint: str) -> None:
    (tmp_path / "x.tsv").write_text("hello\tCOMMA\nyou\tO\nare\tO\nsay\tPERIOD\n")
    made = recipe_for_texts([str(tmp_path / "x.tsv")], "en", validation=0.0)
    assert prepared_shard(made, tmp_path / "out", tiny_checkpoint)["labels"].tolist() == [1, 0, 0, 2]
    rows = "Hello,\tCOMMA\nit\tO\n's\tO\nthe\tO\nU.S.\tPERIOD\n大\tCOMMA\n家\tCOMMA\n...\tPERIOD\n"
    rows += "你好。\tPERIOD\n—\tO\nend?\tQUESTION\n"
    (tmp_path / "marks.tsv").write_text(rows, encoding="utf-8")
    converter = converter_of(tiny_checkpoint)
    (document,) = read_documents(tmp_path / "marks.tsv")
    words, labels = converter.words_and_labels(document, "en")
    assert words == ["Hello", "it's", "the", "U.S", "大", "家", "你好", "end"]
    assert labels.tolist() == [1, 0, 0, 2, 1, 1, 2, 3]
    signs = 'he\tO\nsaid\tCOMMA\n"\tO\nhello\tO\n"\tPERIOD\n5\tO\n%\tCOMMA\n😀\tPERIOD\nwe\tO\n?!\tQUESTION\n'
    (tmp_path / "signs.tsv").write_text(signs, encoding="utf-8")
    (document,) = read_documents(tmp_path / "signs.tsv")
    words, labels = converter.words_and_labels(document, "en")
    assert dict(zip(words, labels.tolist(), strict=True)) == {"he": 0, "said": 1, "hello": 2, "5": 1, "we": 3}
    (tmp_path / "x.tsv").write_text("hello\tKOMMA\n")
    with pytest.raises(ValueError, match=r"Expected the labels .*x\.tsv, line 1 on, got \['KOMMA'\]"):
        prepare(made, tmp_path / "out", tiny_checkpoint, n_processes=1)
    kept = open_shard(first_shard(read_index(tmp_path / "out")))  # until the new data are whole
    assert kept["labels"].tolist() == [1, 0, 0, 2]
    assert not [*tmp_path.glob(".*")]


@pytest.mark.parametrize(
    ("sizes", "to_train", "held_out"),
    [
        ([12, 4, 40, 8, 16], [4, 40, 8, 16], [12]), ([4, 3, 40, 2], [40, 2], [4, 3]), ([40, 8, 16], [40, 16], [8]),
        ([40], [32], [8]), ([20, 30], [12, 30], [8]), ([3], [3], []),
    ],
)  # fmt: skip
def test_a_document_of_little_text_is_held_out_or_the_end_of_one(
    sizes: list[int], to_train: list[int], held_out: list[int]
) -> None:
    """Documents of so many words, each fourth of which has a mark; about eight words are wanted."""
    share = min(8, sum(sizes) // 3) / sum(sizes)
    labels = [np.arange(size, dtype=np.uint8) % 4 // 3 for size in sizes]
    made = [PackedDocument(n, make_words(own, np.ones(len(own), np.uint8), own), n, n) for n, own in enumerate(labels)]
    documents = {document.text_hash: document for document in made}
    taken: dict[int, PackedDocument] = {}
    hold_enough_out(documents, taken, share)
    parts = [list(part.values()) for part in (documents, taken)]
    found = [sorted(document.n_words for document in part) for part in parts]
    assert found == [sorted(to_train), sorted(held_out)]
    assert len({document.word_hash for part in parts for document in part}) == sum(map(len, parts))


def test_a_single_text_is_trained_on_and_validated(tmp_path: Path, tiny_checkpoint: str) -> None:
    (tmp_path / "one.txt").write_text(TEXT * 20, encoding="utf-8")
    [row] = prepare(recipe_for_texts([str(tmp_path / "one.txt")], "en"), tmp_path / "out", tiny_checkpoint)["sources"]
    assert {split: row["splits"][split]["n_words"] for split in row["splits"]} == {"train": 180, "validation": 20}


def test_of_many_short_texts_a_tenth_is_held_out(tmp_path: Path, tiny_checkpoint: str) -> None:
    """Whatever their hashes draw: of 60 texts of 10 words about 60 words."""
    for n in range(60):
        (tmp_path / f"{n}.txt").write_text(f"{n} hello, {TEXT}", encoding="utf-8")
    [row] = prepare(recipe_for_texts([str(tmp_path)], "en"), tmp_path / "out", tiny_checkpoint)["sources"]
    n_words = {split: row["splits"][split]["n_words"] for split in row["splits"]}
    assert 0.09 < n_words["validation"] / sum(n_words.values()) < 0.15


def test_a_run_that_begins_anew_with_other_texts_prepares_them(tmp_path: Path, tiny_checkpoint: str) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("Hello, you are the best. " * 4)

    def sources(name: str, resumes: bool = False) -> list[str]:
        about = {"language": "en", "validation": 0.0}
        prepared_folders([str(tmp_path / name)], tmp_path / "out", tiny_checkpoint, resumes, **about)
        return [row["name"] for row in read_index(tmp_path / "out")["sources"]]

    assert sources("one.txt") == ["one"]
    made = (tmp_path / "out" / "index.json").stat().st_mtime_ns
    assert sources("one.txt") == ["one"]
    assert (tmp_path / "out" / "index.json").stat().st_mtime_ns == made
    assert sources("two.txt") == ["two"]
    assert sources("gone.txt", resumes=True) == ["two"]  # a run that goes on keeps what it began with
    (tmp_path / "two.txt").write_text("Hello, you are the best. Are you? " * 4)
    assert sources("two.txt") == ["two"]
    assert read_index(tmp_path / "out")["sources"][0]["splits"]["train"]["n_words"] == 28


def test_nothing_usable_and_foreign_folders_are_errors(
    tmp_path: Path, tiny_checkpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.txt").write_text("no marks at all")
    arguments = ["--texts", str(tmp_path / "x.txt"), "--tokenizer", tiny_checkpoint, "--processes", "1", "--output"]
    assert run("prepare", [*arguments, str(tmp_path / "out")]) == 1
    assert "Expected usable training words, got none" in capsys.readouterr().err
    assert not (tmp_path / "out" / "index.json").exists()
    for name in ("thesis.docx", "notes.md", "rows.json", "model.safetensors"):
        mine = tmp_path / name.replace(".", "-") / name
        mine.parent.mkdir()
        mine.write_text("keep me")
        assert run("prepare", [*arguments, str(mine.parent)]) == 1
        assert "Choose another --out" in capsys.readouterr().err
        assert mine.exists()
    with pytest.raises(ValueError, match="Expected prepared data"):
        read_index(tmp_path / "out")


def test_shares_are_of_all_ids_validation_stays_as_it_was_and_a_source_may_have_its_own():
    hashes = [hash_id(f"document {number}") for number in range(5000)]
    with_test = list(map(splitter(Source("a", "a.txt", "en", validation=0.1, test=0.1)), hashes))
    for split, share in (("train", 0.8), ("validation", 0.1), ("test", 0.1)):
        assert with_test.count(split) / len(hashes) == pytest.approx(share, abs=0.015)
    without = list(map(splitter(Source("a", "a.txt", "en", validation=0.1)), hashes))
    assert [split == "validation" for split in with_test] == [split == "validation" for split in without]
    assert "test" not in without
    sources = [{"name": "a", "path": "a.txt", "language": "en"}, {"path": "b.txt", "language": "en", "test": 0}]
    made = build_recipe({"name": "r", "validation": 0.1, "test": 0.1, "sources": sources})
    assert [(one.validation, one.test) for one in resolved_sources(made)] == [(0.1, 0.1), (0.1, 0)]


@pytest.fixture
def folder(tmp_path, tiny_checkpoint):
    """60 documents, prepared 50/20/30, in plain text and in JSONL; one of the latter stands in both."""
    (tmp_path / "a.txt").write_text("\n\n".join(f"Hello, you are {c}{c}. Is it?" for c in ascii_lowercase))
    rows = [{"id": f"d{n}", "text": f"You say {c}, the man. Here is {c}."} for n, c in enumerate(ascii_lowercase * 2)]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)))
    texts = ["--texts", str(tmp_path / "a.txt"), str(tmp_path / "b.jsonl"), "--language", "en"]
    shares = ["--validation", "0.2", "--test", "0.3", "--processes", "1"]
    assert (
        run("prepare", [*texts, "--tokenizer", tiny_checkpoint, *shares, "--output", str(tmp_path / "prepared")]) == 0
    )
    return tmp_path / "prepared"


def test_every_document_is_in_one_split_and_texts_of_the_test_share_are_kept(folder):
    splits, rows = {}, read_index(folder)["sources"]
    for split in ("train", "validation", "test"):
        files = [shard["file"] for row in rows for shard in row["splits"][split]["shards"]]
        splits[split] = [hash_ for file in files for hash_ in open_shard(file)["document_hashes"].tolist()]
    everything = [hash_ for found in splits.values() for hash_ in found]
    assert len(everything) == len(set(everything)) == 52  # the second half of b repeats the first
    for split, found in splits.items():
        assert set(map(splitter(Source("a", "a.txt", "en", validation=0.2, test=0.3)), found)) == {split}
    examples = load_examples(str(folder), LABELS, folder, folder)
    assert [hash_id(example.id) for example in examples] == splits["test"]
    expected = ("COMMA", "O", "O", "PERIOD", "O", "QUESTION")
    of_text = [tuple(example.labels) for example in examples if example.text.lower().startswith("hello")]
    assert set(of_text) == {expected}
    assert len(of_text) < len(examples)


def test_ids_may_repeat_in_a_folder(tiny_checkpoint, tmp_path):
    for name, word in (("a", "man"), ("b", "day")):
        (tmp_path / "texts" / name).mkdir(parents=True)
        rows = [{"id": str(n), "text": f"You say {c}, the {word}. Is it {c}?"} for n, c in enumerate(ascii_lowercase)]
        (tmp_path / "texts" / name / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    command = ["--texts", str(tmp_path / "texts"), "--language", "en", "--tokenizer", tiny_checkpoint, "--test", "0.3"]
    assert run("prepare", [*command, "--validation", "0.2", "--processes", "1", "--output", str(tmp_path / "p")]) == 0
    examples = load_examples(str(tmp_path / "p"), LABELS, tmp_path, tmp_path)
    assert len(examples) == read_index(tmp_path / "p")["sources"][0]["splits"]["test"]["n_documents"] > 5
    assert {"man" in example.text for example in examples} == {True, False}
    assert run("prepare", ["--texts", "nowhere", *command[2:], "--output", str(tmp_path / "p")]) == 1
    assert read_index(tmp_path / "p")["sources"], "what was prepared before is gone"


def test_nothing_changes_without_a_share_for_test(folder, tiny_checkpoint, tmp_path, capsys):
    plain = tmp_path / "plain"
    texts = ["--texts", str(tmp_path / "a.txt"), "--tokenizer", tiny_checkpoint, "--processes", "1"]
    assert run("prepare", [*texts, "--output", str(plain)]) == 0
    [row] = read_index(plain)["sources"]
    assert list(row["splits"]) == ["train", "validation"]
    with pytest.raises(ValueError, match=r"Expected a folder of prepared data, .*--test 0\.1"):
        load_examples(str(plain), LABELS, plain, plain)
    assert run("prepare", [*texts, "--output", str(plain), "--validation", "0.5", "--test", "0.5"]) == 1
    assert "below 1 together" in capsys.readouterr().err


def test_the_command_scores_it_though_its_texts_have_gone(folder, tiny_checkpoint, tmp_path):
    (tmp_path / "b.jsonl").unlink()
    output = tmp_path / "out.json"
    assert run("evaluate", ["--model", tiny_checkpoint, "--benchmark", str(folder), "--output", str(output)]) == 0
    n_words = sum(row["splits"]["test"]["n_words"] for row in read_index(folder)["sources"])
    assert json.loads(output.read_text(encoding="utf-8"))["scores"]["n_words"] == n_words


def test_labelled_documents_are_kept_for_test_with_their_labels(tiny_checkpoint, tmp_path):
    rows = "\n\n".join(f"hello\tCOMMA\n{c}{c}\tO\nyou\tO\nday\tPERIOD" for c in ascii_lowercase)
    (tmp_path / "a.tsv").write_text(rows, encoding="utf-8")
    prepare(recipe_for_texts([str(tmp_path / "a.tsv")], "en", test=0.5), tmp_path / "out", tiny_checkpoint)
    examples = load_examples(str(tmp_path / "out"), LABELS, tmp_path, tmp_path)
    assert {tuple(example.labels) for example in examples} == {("COMMA", "O", "O", "PERIOD")}
    assert len(examples) == read_index(tmp_path / "out")["sources"][0]["splits"]["test"]["n_documents"] > 5
