"""Files and names of benchmarks -> examples."""

import gzip
import json

import pytest

from punctuation_restoration.data.readers import hash_id, read_documents
from punctuation_restoration.evaluation.examples import standard_labels
from punctuation_restoration.evaluation.result_files import digest_of
from punctuation_restoration.evaluation.scored_texts import load_examples
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig

LABELS = standard_labels(PunctuationRestorationConfig())


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content.encode("utf-8")))
    else:
        path.write_text(content, encoding="utf-8")
    return path


def read(path):
    return load_examples(str(path), LABELS, path.parent, path.parent / "none.yaml")


def load(name, root):
    return load_examples(name, LABELS, bench_root=root, recipe=root / "recipe.yaml")


def recipe(root, path, **source):
    found = {"name": "test", "root": str(root), "sources": [{"path": path, "language": "ms", **source}]}
    (root / "recipe.yaml").write_text(json.dumps(found), encoding="utf-8")


def test_blank_lines_of_a_tsv_separate_documents_but_empty_tokens_do_not(tmp_path):
    [stream] = read(write(tmp_path / "a.tsv", "we\tO\n", "'re\tO\n", "here\tPERIOD\n", "so\tO\n"))
    assert (stream.id, stream.text, stream.labels) == ("a", "we're here so", ["O", "O", "PERIOD", "O"])
    examples = read(write(tmp_path / "a.tsv", "one\tPERIOD\n", "\n", "\tCOMMA\n", "two\tPERIOD\n"))
    assert [example.labels for example in examples] == [["PERIOD"], ["COMMA", "PERIOD"]]


def test_lines_are_read_as_running_text_and_characters_between_blanks_put_together(tmp_path):
    # Fed line by line, every last word would be known to end a sentence.
    examples = read(write(tmp_path / "a.txt", "One two.\n", "Three four.\n", "\n", "首 先 ， 我 来 。 \n"))
    assert [example.text for example in examples] == ["one two three four", "首先我来"]
    assert examples[1].labels == ["O", "COMMA", "O", "PERIOD"]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.json"])
def test_jsonl_holds_texts_or_words_with_labels(tmp_path, name):
    rows = ({"id": "a", "text": "One, two."}, {"words": ["three", "four"], "labels": ["O", "QUESTION"]})
    examples = read(write(tmp_path / name, *rows))
    found = [(example.text, example.labels) for example in examples]
    assert found == [("one two", ["COMMA", "PERIOD"]), ("three four", ["O", "QUESTION"])]
    assert examples[0].id == "a"


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("a.tsv", "word O\n", "line 1"), ("a.tsv", "word\tDOT\n", "DOT"), ("a.jsonl", "{\n", "line 1"),
        ("a.jsonl", '{"txt": "a"}\n', "the text key 'text'"),
        ("a.jsonl", '{"words": [], "labels": ["O"]}\n', "0 words, 1 labels"),
        ("a.txt", "?!\n", "Expected documents to score in .*a.txt"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_its_place(tmp_path, name, line, message):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path / name, line))


def test_the_digest_tells_any_change_of_text_or_reference(tmp_path):
    texts = (["a\tO\n", "b\tPERIOD\n"], ["a\tO\n", "b\tCOMMA\n"], ["a\tO\n", "c\tPERIOD\n"])
    assert len({digest_of(read(write(tmp_path / "a.tsv", *rows))) for rows in texts}) == 3


def test_mandarin_benchmarks_come_with_all_talks_and_with_punctuated_talks(tmp_path):
    for year, punctuated in (("tst2011", True), ("tst2012", False)):
        rows = [
            {"id": f"{year}-a", "text": "你好，再见。", "punctuated": punctuated},
            {"id": f"{year}-b", "text": "你好 再见", "punctuated": False},
        ]
        write(tmp_path / "zh" / f"iwslt-{year}.jsonl", *rows)
    for name, expected in (
        ("zh-tst2011", ["tst2011-a", "tst2011-b"]),
        ("zh-tst2011+2012", ["tst2011-a", "tst2011-b", "tst2012-a", "tst2012-b"]),
        ("zh-tst2011+2012-punctuated", ["tst2011-a"]),
    ):
        assert [example.id for example in load(name, tmp_path)] == expected
    with pytest.raises(ValueError, match="Expected documents to score in zh-tst2012-punctuated"):
        load("zh-tst2012-punctuated", tmp_path)


@pytest.mark.parametrize("row", [{"id": "doc-{}", "text": "{}"}, {"text": "{}"}], ids=["ids", "no ids"])
def test_held_out_documents_are_those_that_data_preparation_holds_out(tmp_path, row):
    rows = [{key: value.format(n) for key, value in row.items()} for n in range(200)]
    rows = [{**one, "text": f"Boleh lah, can one bro. Betul tak {one['text']}?"} for one in rows]
    path = write(tmp_path / "manglish.jsonl.gz", *rows)
    recipe(tmp_path, path.name, validation=0.2)
    prepared = [document.id for document in read_documents(path)]
    expected = [name for name in prepared if hash_id(name) < 0.2 * 2**64]
    assert [example.id for example in load("ms-manglish-valid", tmp_path)] == expected
    assert 20 < len(expected) < 60
    with pytest.raises(ValueError, match="'talk'"):
        load("ms-spoken-valid", tmp_path)


def test_held_out_documents_that_nobody_punctuated_are_left_out(tmp_path):
    texts = {"plain": "satu dua tiga " * 40, "marked": "Satu dua, tiga empat lima. " * 40}
    rows = [{"id": f"{kind}-{n}", "text": text} for n in range(60) for kind, text in texts.items()]
    write(tmp_path / "manglish.jsonl", *rows)
    recipe(tmp_path, "manglish.jsonl", validation=0.5)
    assert {example.id.partition("-")[0] for example in load("ms-manglish-valid", tmp_path)} == {"marked"}


def test_documents_that_a_recipe_lists_are_scored_by_their_mixed_sentences(tmp_path):
    text = "我们用 React 写。这里没有。Only English here. 你用 iOS 吗？Vue 也好"
    write(tmp_path / "goldminer_tech.jsonl", *({"id": f"doc-{number}", "text": text} for number in range(9)))
    hashes = "".join(f"{hash_id(one):016x}\n" for one in ("doc-3", "doc-7"))
    (tmp_path / "ids.txt").write_text(f"# a comment\n{hashes}", encoding="utf-8")
    recipe(tmp_path, "goldminer_tech.jsonl", validation=0.5, held_out=str(tmp_path / "ids.txt"))
    found = load("zh-english-valid", tmp_path)
    assert [example.id for example in found] == ["doc-3", "doc-7"]
    assert found[0].text == "我们用 react 写你用 ios 吗vue 也好"
