"""The public IWSLT files, in the layout in which they are downloaded -> benchmark files that the command scores."""

import io
import json
import tarfile
import zipfile

import pytest

from punctuation_restoration.evaluation.benchmarks import default_root
from punctuation_restoration.evaluation.examples import standard_labels
from punctuation_restoration.evaluation.scored_texts import load_examples
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from tools.iwslt import KNOWN, convert, main

# Ends of lines are CRLF, and a token is empty.
TOKENS = b"we\tO\r\n're\tO\r\nhere\tCOMMA\r\n\tCOMMA\r\nok\tPERIOD\r\n"
TALKS = """<?xml version="1.0" encoding="UTF-8"?>
<mteval><srcset setid="iwslt2017-tst2010" srclang="chinese">
<doc docid="12" genre="lectures">
 <description>不是演讲。</description>
<seg id="1">  大家好,今天讲 AT&amp;T, 好不好?  </seg>
<seg id="2">  他说：“可以。”  </seg>
<seg id="3">  真的...  </seg>
<seg id="4">  再见！  </seg>
<seg id="5">  谢谢.  </seg>
</doc>
<doc docid="7" genre="lectures">
<seg id="1">  没有 标点  </seg>
<seg id="2">  OK.  </seg>
<seg id="3">  完了。  </seg>
</doc>
</srcset></mteval>
"""
TALKS_NAME = "IWSLT17.TED.tst2010.zh-en.zh.xml"
LABELS = standard_labels(PunctuationRestorationConfig())


def packed(files):
    """A gzipped tar archive of names and contents."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def test_archives_as_downloaded_become_benchmarks_that_can_be_read(tmp_path, capsys):
    downloads, bench = tmp_path / "downloads", tmp_path / "bench"
    downloads.mkdir()
    with zipfile.ZipFile(downloads / "LREC.zip", "w") as archive:
        archive.writestr("LREC/test2011", TOKENS)
        archive.writestr("LREC/dev2012", "a\tO\n")
        archive.writestr("LREC/_ReadMe_.txt", "Dear Sir or Madam")
    inner = packed({f"zh-en/{TALKS_NAME}": TALKS.encode(), "zh-en/IWSLT17.TED.tst2010.zh-en.en.xml": b"<"})
    (downloads / "2017-01-trnted.tgz").write_bytes(packed({"texts/zh/en/zh-en.tgz": inner, "README": b"read me"}))
    assert main([str(downloads), "--output", str(bench)]) == 0
    shown = capsys.readouterr().out
    assert "5 tokens; NOT the copy that our figures were measured on" in shown
    assert f"--bench-root {bench} --benchmark iwslt2012-dev iwslt2011-test zh-tst2010 zh-tst2010-punctuated\n" in shown
    [stream] = load_examples("iwslt2011-test", LABELS, bench, tmp_path / "none.yaml")
    assert (stream.text, stream.labels) == ("we're here ok", ["O", "O", "COMMA", "COMMA", "PERIOD"])
    [talk] = load_examples("zh-tst2010-punctuated", LABELS, bench, tmp_path)
    assert talk.labels.count("PERIOD") == 4  # 可以 真的 再见 谢谢
    assert (bench / "en" / "iwslt2011-test.tsv").read_bytes() == TOKENS.replace(b"\r\n", b"\n")
    rows = [json.loads(line) for line in (bench / "zh" / "iwslt-tst2010.jsonl").read_text("utf-8").splitlines()]
    assert rows == [
        {
            "id": "ted-12", "language": "zh", "punctuated": True,
            "share_of_segments_ending_in_a_stop": 0.8,  # all but the third, which ends in dots
            "text": "大家好，今天讲 AT&T, 好不好？他说：“可以。”真的。..再见！谢谢。",
        },
        {
            "id": "ted-7", "language": "zh", "punctuated": False,
            "share_of_segments_ending_in_a_stop": 0.33,  # a Latin dot is none
            "text": "没有 标点OK.完了。",
        },
    ]  # fmt: skip


def test_single_files_do_as_well_and_of_two_for_one_benchmark_our_copy_is_taken(tmp_path, monkeypatch):
    target = "en/iwslt2011-test-asr.tsv"
    for word in ("one", "two", "three"):
        (tmp_path / word).mkdir()
        for name in ("test2011asr.txt", "mytest2011", "IWSLT17.TED.tst2013.zh-en.zh.xml"):
            (tmp_path / word / name).write_text(f"{word}\tO\n")
    assert convert([tmp_path / "one", tmp_path]) == {target: b"one\tO\n"}
    monkeypatch.setitem(KNOWN, target, "e8f42d58ea306830")  # of b"two\tO\n"
    assert convert([tmp_path]) == {target: b"two\tO\n"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("test2011", b"we O\n", r"word<TAB>LABEL.*test2011, line 1, got 'we O'"),
        ("test2011", b"we\tO\nhere\tDOT\n", r"line 2, got 'here\\tDOT'"),
        ("test2011", b"\xff\tO\n", "UTF-8 in .*test2011"),
        (TALKS_NAME, b"<mteval><doc>", "XML in .*tst2010"),
        (TALKS_NAME, b"<html><p>Sign in</p></html>", "<seg> in .*tst2010.*, found none"),
        ("LREC.zip", b"<html>", "a whole archive in .*LREC.zip"),
        ("a.tgz", packed({"texts/zh-en.tgz": b"cut"}), "a whole archive in .*a.tgz"),
        ("train2012", b"we\tO\n", "Expected dev2012, test2011.*docs/benchmarks.md"),
    ],
)
def test_a_wrong_file_is_named_and_nothing_is_written(tmp_path, capsys, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        convert([tmp_path / name])
    assert main([str(tmp_path / name), "--output", str(tmp_path / "bench")]) == 2
    assert capsys.readouterr().err.startswith("iwslt: Expected")
    assert not (tmp_path / "bench").exists()


def test_where_nothing_is_the_error_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"at .*nowhere, found none"):
        convert([tmp_path / "nowhere"])
    says = "benchmark 'zh-dev2010' at .*iwslt-dev2010.jsonl, found none. docs/benchmarks.md .*tools.iwslt"
    with pytest.raises(ValueError, match=says):
        load_examples("zh-dev2010", LABELS, tmp_path, tmp_path / "none.yaml")
    # What was written here is scored without naming it.
    monkeypatch.chdir(tmp_path)
    assert str(default_root()) == "../shared/bench"
    (tmp_path / "bench").mkdir()
    assert str(default_root()) == "bench"
