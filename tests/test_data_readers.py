"""Reading documents: every format, and an error that names file and line for every bad file."""

import gzip
import json
from pathlib import Path

import pytest

from punctuation_restoration.data.readers import id_of_text, read_documents


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def test_jsonl_gives_one_document_a_line_with_its_id(tmp_path: Path) -> None:
    lines = '{"id": "a", "text": "Hello there."}\n\n{"text": "你好。", "id": null}\n'
    plain = list(read_documents(write(tmp_path / "x.jsonl", "\ufeff" + lines)))  # a byte order mark is none of the text
    packed = list(read_documents(write(tmp_path / "x.jsonl.gz", gzip.compress(lines.encode()))))
    assert [(d.id, d.text) for d in plain] == [("a", "Hello there."), (id_of_text("你好。"), "你好。")]
    assert [d.text for d in packed] == [d.text for d in plain]


def test_another_text_field_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", '{"body": "Hello."}\n')
    assert [d.text for d in read_documents(path, "body")] == ["Hello."]
    with pytest.raises(
        ValueError, match=r"text key 'text', or words and labels, in .*x\.jsonl, line 1, got \['body'\].*text_field"
    ):
        list(read_documents(path))


def test_plain_text_is_split_at_blank_lines_and_every_200_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "x.txt", "\nOne line.\nAnd more.\n\n\nSecond text.")
    found = [(d.place, d.text) for d in read_documents(path)]
    assert found == [(f"{path}, line 2", "One line.\nAnd more."), (f"{path}, line 6", "Second text.")]
    moved = list(read_documents(write(tmp_path / "y.txt", "Another.\n\nSecond text.")))
    assert moved[1].id == id_of_text("Second text."), "a text keeps its id, and with it its split, wherever it stands"
    write(path, "One line.\n" * 450)
    assert [d.text.count("One") for d in read_documents(path)] == [200, 200, 50]


def test_label_files_give_words_and_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tsv", "hello\tCOMMA\nyou\tQUESTION\n\nyes\tPERIOD\n")
    documents = list(read_documents(path))
    assert [d.words for d in documents] == [("hello", "you"), ("yes",)]
    assert [d.labels for d in documents] == [("COMMA", "QUESTION"), ("PERIOD",)]


def test_a_folder_gives_all_its_files_in_order(tmp_path: Path) -> None:
    write(tmp_path / "b.txt", "Second.")
    write(tmp_path / "a.jsonl", json.dumps({"text": "First."}))
    write(tmp_path / "picture.png", b"\x89PNG\0\0")
    for folder in ("deep", ".hidden"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "c.txt", "Third.")
    assert [d.text for d in read_documents(tmp_path)] == ["First.", "Second.", "Third."]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.txt", b"", r"Expected text in .*x\.txt, it is empty"),
        ("x.jsonl", b"\n\n", r"Expected text in .*x\.jsonl, it is empty"),
        ("x.txt", b"MZ\0\1\2", r"x\.txt, it is a binary file"),
        ("x.txt", "good\nschön\n".encode("latin-1"), r"Expected utf-8 in .*x\.txt, line 2"),
        ("x.txt", "你好。".encode("utf-16"), r"Expected utf-8 in .*x\.txt, line 1 is not.*Convert it to UTF-8"),
        ("x.tsv", b"word\tO\nword O\n", r"word<TAB>LABEL, in .*x\.tsv, line 2, got 'word O"),
        ("x.tsv", b"word\t\n", r"word<TAB>LABEL, in .*x\.tsv, line 1"),
        ("x.tsv", b"word\tO\n\tO\n", r"Expected a word and its label, .*x\.tsv, line 2"),
        ("x.jsonl", b'{"text": "a."}\n{"text": \n', r"JSON object in .*x\.jsonl, line 2"),
        ("x.jsonl", b'["a"]\n', r"JSON object in .*line 1, got"),
        ("x.jsonl.gz", gzip.compress(b'{"text": "a."}\n' * 2000, mtime=0)[:40], r"whole gzip file in .*damaged"),
        ("x.pdf", b"text", r"Expected at .*x\.pdf files ending in .* found none"),
    ],
)
def test_bad_files_are_named_with_their_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(read_documents(write(tmp_path / name, content)))


def test_a_missing_file_and_an_empty_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such file or folder"):
        list(read_documents(tmp_path / "nowhere.txt"))
    with pytest.raises(ValueError, match="found none"):
        list(read_documents(tmp_path))
