"""Worked pairs: a text, the labels of its words, and the text that must come back. See the files in `quality/`.

The labels are given as known ones, so no line depends on what a model thinks. `labels` is a list of word index (from
the end where negative) or `*` for all, `=`, label; with `replace` or `truecase` the settings of the call.
Signs that nobody sees are written as in Python: `\\t`, `\\u200b`.
"""

import csv
import re
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.joinpath("quality").glob("*.tsv"))


def _rows(path):
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def _unescaped(text):
    escape = re.compile(r"\\(?:[trn\\]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
    return escape.sub(lambda match: match.group().encode().decode("unicode_escape"), text)


def _restored(restore, text, rule):
    n_words = len(restore.find_words(text))
    known = dict.fromkeys(range(n_words), "O")
    settings = {}
    for part in rule.split():
        if part == "replace":
            settings["existing"] = part
        elif part == "truecase":
            settings["truecase"] = True
        else:
            place, label = part.split("=")
            known.update({int(place) % n_words: label} if place != "*" else dict.fromkeys(known, label))
    return restore({"text": text, "known": known}, **settings)["text"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_worked_pair_comes_out_as_written_and_comes_back_unchanged(tiny_pipeline, path):
    misses = []
    for number, row in enumerate(_rows(path), 2):
        text, expected = _unescaped(row["input"]), _unescaped(row["expected"])
        actual = _restored(tiny_pipeline, text, row["labels"])
        again = _restored(tiny_pipeline, expected, row["labels"].replace("replace", ""))
        if (actual, again) != (expected, expected):
            texts = f"expected {expected!r}\n  actual   {actual!r}\n  again    {again!r}"
            misses.append(f"line {number}: {row['note']}\n  {texts}")
    assert not misses, "\n".join([f"{len(misses)} of {path.name}:", *misses])
