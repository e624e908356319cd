"""From files to shards: what is counted, split, skipped and refused; and pieces added from new text."""

import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoConfig, AutoTokenizer

from punctuation_restoration.cli.prepare import main
from punctuation_restoration.data.conversion import Converter, stop_label_ids
from punctuation_restoration.data.preparation import explain, prepare, recipe_for_texts
from punctuation_restoration.data.recipe import build_recipe, load_recipe
from punctuation_restoration.data.shards import hash_id, open_shard, read_hashes, read_index
from punctuation_restoration.data.vocabulary import extend_model
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.slots import SlotEncoder

TEXT = "Hello, you are the best. Is the day you say? "


def write_documents(path: Path, texts: list[str]) -> None:
    rows = [json.dumps({"id": f"d{number}", "text": text}) for number, text in enumerate(texts)]
    path.write_text("\n".join(rows), encoding="utf-8")


def recipe(folder: Path, **fields: Any) -> Any:
    source = {"path": "talks.jsonl", "language": "en", **fields.pop("source", {})}
    return build_recipe({"name": "r", "root": str(folder), "sources": [source], **fields})


def test_words_pieces_and_labels_are_those_of_serving(tmp_path: Path, tiny_checkpoint: str) -> None:
    write_documents(tmp_path / "talks.jsonl", [TEXT + "Hello, 大家你好！我们今天是不是在北京？ Saya."])
    index = prepare(recipe(tmp_path, validation=0.0), tmp_path / "out", tiny_checkpoint, n_processes=1)
    shard = open_shard(index["sources"][0]["splits"]["train"]["shards"][0]["file"])
    assert shard["labels"][:10].tolist() == [1, 0, 0, 0, 2, 0, 0, 0, 0, 3]
    converter = Converter(AutoTokenizer.from_pretrained(tiny_checkpoint), AutoConfig.from_pretrained(tiny_checkpoint))
    pieces = converter.slots.pieces(["Hello", "you", "are", "the", "best"])
    assert shard["piece_counts"][:5].tolist() == [len(word) for word in pieces]
    assert shard["piece_ids"][: sum(map(len, pieces))].tolist() == [piece for word in pieces for piece in word]
    assert shard["piece_counts"].sum() == len(shard["piece_ids"])


def test_every_document_left_out_is_counted_with_its_reason(
    tmp_path: Path, tiny_checkpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [
        TEXT * 2,
        TEXT.upper() + " " + TEXT,  # the first again, but for case and blanks
        "hello you are the best",
        "Hello you.",
        "?!",
        "Hello. " * 20,
        "you " * 200 + "are. Hello. You. Is.",
    ]
    write_documents(tmp_path / "talks.jsonl", texts)
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
    used = open_shard(row["splits"]["train"]["shards"][0]["file"])["document_hashes"].tolist()
    assert used == [hash_id(f"d{number}") for number in (0, 2, 3, 5)]


def test_a_file_of_hashes_that_is_missing_or_wrong_is_named(tmp_path: Path) -> None:
    assert read_hashes(None) == frozenset()
    with pytest.raises(ValueError, match=r"nothing\.txt, found none"):
        read_hashes(str(tmp_path / "nothing.txt"))
    (tmp_path / "ids.txt").write_text("# a comment\n\n00000000000000ff\nTODO1/an-id\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 4, got 'TODO1/an-id'"):
        read_hashes(str(tmp_path / "ids.txt"))


def test_the_recipe_keeps_every_benchmark_of_the_project_out() -> None:
    root = Path(__file__).parents[1]
    for path in root.glob("recipes/*en-zh-ms*.yaml"):
        made = load_recipe(path)
        assert "tools/hard_sentences.tsv" in made.leak_check
        kept_out = {one.name: len(read_hashes(str(root / one.held_out))) for one in made.sources if one.held_out}
        assert kept_out == {"goldminer_tech": 135}


@pytest.mark.slow
def test_processes_change_nothing(tmp_path: Path, tiny_checkpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_documents(tmp_path / "talks.jsonl", [TEXT + f"{word} hello. " for word in "abcdef"])
    monkeypatch.setattr("punctuation_restoration.data.preparation.BYTES_PER_PROCESS", 10)
    arrays = []
    for n_processes in (1, 2):
        out = tmp_path / str(n_processes)
        index = prepare(recipe(tmp_path, validation=0.0), out, tiny_checkpoint, n_processes)
        arrays.append(open_shard(index["sources"][0]["splits"]["train"]["shards"][0]["file"]))
    assert all(np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[0])


def test_numbers_are_spelled_and_word_limits_hold(tmp_path: Path, tiny_checkpoint: str) -> None:
    pytest.importorskip("num2words")
    write_documents(tmp_path / "talks.jsonl", ["I am 21. You are 3. Is it? " + word for word in "abcdefgh"])
    made = recipe(tmp_path, validation=0.0, spell_numbers=True, source={"max_words": 20})
    index = prepare(made, tmp_path / "out", tiny_checkpoint, n_processes=1)
    train = index["sources"][0]["splits"]["train"]
    assert (train["n_documents"], train["n_words"]) == (2, 20)  # 10 words each: twenty one, three


def test_label_files_and_unlabelled_sources(tmp_path: Path, tiny_checkpoint: str) -> None:
    (tmp_path / "x.tsv").write_text("hello\tCOMMA\nyou\tO\nare\tO\nsay\tPERIOD\n")
    made = recipe_for_texts([str(tmp_path / "x.tsv")], "en", validation=0.0)
    index = prepare(made, tmp_path / "out", tiny_checkpoint, n_processes=1)
    shard = open_shard(index["sources"][0]["splits"]["train"]["shards"][0]["file"])
    assert shard["labels"].tolist() == [1, 0, 0, 2]
    write_documents(tmp_path / "talks.jsonl", ["hello you are the best, no?"])
    bare = recipe(tmp_path, source={"labelled": False})
    index = prepare(bare, tmp_path / "bare", tiny_checkpoint, n_processes=1)
    shard = open_shard(index["sources"][0]["splits"]["train"]["shards"][0]["file"])
    assert shard["labels"].tolist() == [0] * 6
    (tmp_path / "x.tsv").write_text("hello\tKOMMA\n")
    with pytest.raises(ValueError, match=r"Expected the labels .*x\.tsv, line 1 on, got \['KOMMA'\]"):
        prepare(made, tmp_path / "out", tiny_checkpoint, n_processes=1)


def test_nothing_usable_and_foreign_folders_are_errors(
    tmp_path: Path, tiny_checkpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.txt").write_text("no marks at all")
    arguments = ["--texts", str(tmp_path / "x.txt"), "--tokenizer", tiny_checkpoint, "--processes", "1", "--output"]
    assert main([*arguments, str(tmp_path / "out")]) == 1
    assert "Expected usable training words, got none" in capsys.readouterr().err
    assert not (tmp_path / "out" / "index.json").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.docx").write_text("keep me")
    assert main([*arguments, str(tmp_path / "mine")]) == 1
    assert "Choose another --out" in capsys.readouterr().err
    assert (tmp_path / "mine" / "thesis.docx").exists()
    with pytest.raises(ValueError, match="Expected prepared data"):
        read_index(tmp_path / "out")


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "/disk/shard"),
        OSError("Expected to write x: I/O error: No space left on device (os error 28)"),
        RuntimeError("[enforce fail at inline_container.cc] . PytorchStreamWriter failed writing file data/3"),
    ],
)
def test_a_full_disk_is_named(error: Exception) -> None:
    assert "it is full. Free some" in explain(error)


def test_stops_are_found_by_the_signs_that_labels_write() -> None:
    labels = [{"after": ""}, {"after": ","}, {"after": "?"}, {"after": "."}, {"after": "!"}]
    assert stop_label_ids(labels) == [3, 4, 2]


def test_new_pieces_join_the_vocabulary_and_old_ones_keep_their_ids(tmp_path: Path, tiny_checkpoint: str) -> None:
    (tmp_path / "x.txt").write_text("kucing hitam, kucing putih. ภาษาไทย kucing ภาษาไทย ภาษาไทย", encoding="utf-8")
    added = extend_model(tiny_checkpoint, [str(tmp_path / "x.txt")], 7, tmp_path / "out")
    assert "kucing" in added
    assert set(added) & set("ภาษาไทย")
    old, new = (AutoTokenizer.from_pretrained(place) for place in (tiny_checkpoint, str(tmp_path / "out")))
    assert json.loads((tmp_path / "out" / "new_pieces.json").read_text()) == list(range(len(old), len(new)))
    row, config = new.convert_tokens_to_ids("kucing"), AutoConfig.from_pretrained(str(tmp_path / "out"))
    for words_alone in (True, False):
        config.words_alone = words_alone
        assert SlotEncoder(new, config).pieces(["kucing"]) == [[row]]
    sentence = "hello you are the best 我们"
    assert new(sentence).input_ids == old(sentence).input_ids
    assert new.mask_token_id == old.mask_token_id
    before, after = (
        PunctuationRestorationModel.from_pretrained(place).get_input_embeddings().weight
        for place in (tiny_checkpoint, str(tmp_path / "out"))
    )
    assert len(after) == len(new)
    parts = old("kucing", add_special_tokens=False).input_ids
    assert after[row].tolist() == pytest.approx(before[parts].mean(0).tolist(), abs=1e-6)
