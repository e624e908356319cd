"""Two results on the same test: the difference of micro-F1, its interval, and what cannot be compared."""

import json

import pytest

from punctuation_restoration.cli.evaluate import main
from punctuation_restoration.evaluation.counts import count_labels
from punctuation_restoration.evaluation.intervals import Block, bootstrap, paired_bootstrap

NAMES = ("O", "COMMA", "PERIOD", "QUESTION")
ALL, HALF, NONE = ["COMMA"] * 10, ["COMMA", "O"] * 5, ["O"] * 10


def part(document, predicted, block=0, reference=ALL, names=NAMES):
    return Block(document, "test", block, count_labels(reference, predicted, names))


def parts(*predicted):
    return [part(str(number), one) for number, one in enumerate(predicted)]


def test_a_difference_that_is_the_same_everywhere_has_no_interval():
    found = paired_bootstrap(parts(*[ALL] * 8), parts(*[HALF] * 8))
    # All commas found, F1 1; half of them found and none wrong, F1 2 x 0.5 / 1.5.
    assert found.micro == pytest.approx(1 / 3)
    assert found.interval_95 == pytest.approx((1 / 3, 1 / 3))
    assert (found.share_above_0, found.unit, found.n_units) == (1.0, "documents", 8)


def test_a_result_differs_from_itself_by_nothing():
    one = parts(*[ALL, HALF, NONE] * 4)
    found = paired_bootstrap(one, one)
    assert (found.micro, found.interval_95, found.share_above_0) == (0.0, (0.0, 0.0), 0.0)


def test_worse_and_better_are_told_apart():
    new, earlier = parts(*[HALF] * 6, ALL), parts(*[ALL] * 7)
    worse, better = paired_bootstrap(new, earlier), paired_bootstrap(earlier, new)
    assert worse.micro == pytest.approx(-better.micro)
    assert worse.interval_95 == pytest.approx((-better.interval_95[1], -better.interval_95[0]))
    assert worse.share_above_0 == 0.0
    assert better.share_above_0 > 0.99  # not where the one document that both have right is drawn alone


def test_pairs_are_closer_than_two_intervals_say():
    # Documents that differ much, and systems that differ by one comma in each.
    earlier = [part(str(n), ALL[:found] + NONE[found:]) for n, found in enumerate([1, 3, 5, 7, 9] * 6)]
    new = [part(str(n), ALL[: found + 1] + NONE[found + 1 :]) for n, found in enumerate([1, 3, 5, 7, 9] * 6)]
    found = paired_bootstrap(new, earlier)
    alone = [bootstrap(one).micro for one in (new, earlier)]
    assert alone[0][0] < alone[1][1]  # the intervals overlap
    assert found.interval_95[0] > 0
    assert found.interval_95[0] < found.micro < found.interval_95[1]


def test_half_of_the_samples_are_better_where_each_wins_as_often():
    found = paired_bootstrap(parts(*[ALL, HALF] * 100), parts(*[HALF, ALL] * 100))
    assert found.micro == 0.0
    assert 0.4 < found.share_above_0 < 0.6


def test_a_stream_is_drawn_in_blocks():
    new, earlier = ([part("stream", one, block=block) for block in range(20)] for one in (ALL, HALF))
    assert paired_bootstrap(new, earlier).unit == "blocks of 200 words"


@pytest.mark.parametrize(
    "other",
    [
        parts(ALL, ALL),
        [part("1", ALL), part("0", ALL), part("2", ALL)],
        [part("0", ALL), part("1", ALL), part("2", ALL, block=1)],
        [part("0", ALL), part("1", ALL), part("2", ALL, reference=HALF)],
        [part(str(n), ALL, names=(*NAMES, "COLON")) for n in range(3)],
    ],
    ids=["fewer documents", "another order", "another block", "another reference", "more labels"],
)
def test_other_blocks_words_or_labels_are_refused(other):
    with pytest.raises(ValueError, match="same documents, blocks and labels"):
        paired_bootstrap(parts(ALL, HALF, NONE), other)
    with pytest.raises(ValueError, match="one block or more"):
        paired_bootstrap([], [])


@pytest.fixture
def run(tiny_checkpoint, tmp_path):
    """`evaluate.py` on a file of six short talks; gives its exit status, and keeps its results in `tmp_path`."""
    path = tmp_path / "talks.jsonl"
    text = "hello you are here. is he there? the man, you say, is in. "
    rows = [{"id": f"talk-{number}", "text": text * (number + 1)} for number in range(6)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return lambda *more: main(["--model", tiny_checkpoint, "--benchmark", str(path), *map(str, more)])


def test_the_command_compares_with_an_earlier_result_and_keeps_what_it_found(run, tmp_path, capsys):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    assert run("--output", first, "--threshold", "COMMA=0.0001") == 0
    assert "against" not in json.loads(first.read_text())
    capsys.readouterr()
    assert run("--output", second, "--against", first) == 0
    earlier, result = json.loads(first.read_text()), json.loads(second.read_text())
    found = result["against"]
    assert found["micro"] == pytest.approx(result["scores"]["micro"]["f1"] - earlier["scores"]["micro"]["f1"])
    assert found["micro"] != 0
    assert found["interval_95"][0] <= found["micro"] <= found["interval_95"][1]
    assert found["model_sha256"] == earlier["signature"]["model_sha256"]
    assert f"micro-F1 {100 * found['micro']:+.2f} points" in " ".join(capsys.readouterr().out.split())
    assert run("--output", second, "--against", second) == 0  # read before it is written
    assert json.loads(second.read_text())["against"]["interval_95"] == [0.0, 0.0]


def test_the_command_refuses_what_is_no_result_of_this_test_and_keeps_what_is_there(run, tmp_path, capsys):
    first, other = tmp_path / "first.json", tmp_path / "other.json"
    assert run("--output", first) == 0
    before = first.read_bytes()
    for damage, said in (
        ({"signature": {"data_sha256": "0" * 64}}, "same data"),
        ({"label_names": ["O", "COMMA"]}, "same labels"),
        ({"format": 1}, "holds something else"),
    ):
        other.write_text(json.dumps({**json.loads(before), **damage}))
        assert run("--output", first, "--against", other) == 1
        assert said in capsys.readouterr().err
    other.write_text("{")
    assert run("--output", first, "--against", other) == 1
    assert "could not read it" in capsys.readouterr().err
    assert run("--output", first, "--against", first, "--limit", "20") == 1
    assert "same data" in capsys.readouterr().err
    assert first.read_bytes() == before
