"""`evaluate.py` from the command line to its JSON, with a tiny model."""

import json
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from punctuation_restoration.cli import commands
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.training.building import with_labels

ROOT = Path(__file__).resolve().parents[1]
SENTENCES = "hello you are here. is he there? the man, you say, is in. "
Run = Callable[..., int]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "talks.jsonl"
    rows = [{"id": f"talk-{index}", "text": SENTENCES * (index + 1)} for index in range(6)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def run(tiny_checkpoint: str, texts: Path) -> Run:
    """The command on a file of six short talks, and more arguments."""
    return lambda *more: commands.run(
        "evaluate", ["--model", tiny_checkpoint, "--benchmark", str(texts), *map(str, more)]
    )


def read_result(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def test_a_file_is_scored_and_the_result_carries_its_signature(
    run: Run, tiny_pipeline: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.json"
    assert run("--output", output) == 0
    result = read_result(output)
    # 13 words and 5 marks in each of 1 + 2 + ... + 6 copies.
    scores = result["scores"]
    n_reference = {name: mark["n_reference"] for name, mark in scores["marks"].items()}
    assert n_reference == {"COMMA": 42, "PERIOD": 42, "QUESTION": 21}
    assert scores["n_words"] == sum(map(sum, result["confusion"])) == 13 * 21
    assert (scores["end_text"]["n_reference"], result["intervals_95"]["unit"]) == (6, "documents")
    assert [unit[1] for unit in result["units"]] == [5 * copies for copies in range(1, 7)]
    signature = result["signature"]
    assert len(signature["data_sha256"]) == len(signature["model_sha256"]) == 64
    assert {"commit", "settings", "machine", "versions", "date"} <= set(signature)
    assert signature["settings"]["window"] == 24
    shown = capsys.readouterr().out
    assert "end of text" in shown
    assert "micro" in shown
    assert "hello" not in output.read_text(encoding="utf-8")  # no text of a benchmark in results
    # The scores are those of the pipeline on the whole texts.
    plain = "hello you are here is he there the man you say is in "
    words = [word for copies in range(1, 7) for word in tiny_pipeline((plain * copies).strip())["words"]]
    reference = ["O", "O", "O", "PERIOD", "O", "O", "QUESTION", "O", "COMMA", "O", "COMMA", "O", "PERIOD"] * 21
    n_right = sum(word["label"] == label != "O" for word, label in zip(words, reference, strict=True))
    assert scores["micro"]["n_correct"] == n_right


def test_several_benchmarks_write_a_file_each_and_a_quick_look_none(
    run: Run, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench" / "en").mkdir(parents=True)
    rows = [("we", "O"), ("'re", "O"), ("here", "PERIOD"), ("you", "O"), ("see", "QUESTION")] * 30
    (tmp_path / "bench" / "en" / "iwslt2011-test.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    assert run("--limit", 100) == 0
    assert not (tmp_path / "results").exists()
    assert run("--benchmark", "iwslt2011-test", texts, "--limit", 100, "--output", tmp_path / "out") == 0
    result = read_result(tmp_path / "out" / "iwslt2011-test.json")
    assert result["scores"]["n_words"] == result["signature"]["settings"]["limit"] == 100
    assert result["intervals_95"]["unit"] == "blocks of 200 words"
    assert (tmp_path / "out" / "talks-jsonl.json").is_file()
    with pytest.raises(SystemExit):  # whose results would replace each other
        run("--benchmark", texts, tmp_path / "other" / texts.name)


def test_thresholds_reach_the_pipeline(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("--threshold", "COMMA=1", "PERIOD=1", "QUESTION=1") == 0
    result = read_result(tmp_path / "results" / "talks-jsonl.json")
    assert result["scores"]["micro"]["n_predicted"] == 0
    assert result["signature"]["settings"]["thresholds"] == {"COMMA": 1.0, "PERIOD": 1.0, "QUESTION": 1.0}


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ("--list", 0, "zh-tst2011+2012-punctuated"),
        ("", 2, "Expected --benchmark or --list"),
        ("--benchmark iwslt2011-tset", 2, "iwslt2011-tset"),
        ("--benchmark nosuch.jsonl", 2, "got nosuch.jsonl: no such file"),
        ("--benchmark no/such", 2, "got no/such: no such file"),
        ("--benchmark tests", 2, "Expected a folder of prepared data, got tests"),
        ("--benchmark iwslt2011-test ms-news-test --output one.json", 2, "Expected a folder"),
        ("--benchmark iwslt2011-test --limit 0", 2, "--limit"),
        ("--benchmark iwslt2012-dev --threshold COMMA", 2, "Expected --threshold NAME=PROBABILITY, got 'COMMA'"),
        ("--benchmark iwslt2012-dev --dtype float99", 2, "'float99' (choose from"),
    ],
)
def test_benchmarks_are_listed_and_a_wrong_command_line_ends_with_a_message(
    given: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "evaluate.py"))["main"](given.split())
    assert ended.value.code == code
    assert message in "".join(capsys.readouterr())


def test_a_result_is_compared_with_an_earlier_one(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    assert run("--output", first, "--threshold", "COMMA=0.0001") == 0
    assert "against" not in read_result(first)
    capsys.readouterr()
    assert run("--output", second, "--against", first) == 0
    earlier, result = read_result(first), read_result(second)
    found = result["against"]
    assert found["micro"] == pytest.approx(result["scores"]["micro"]["f1"] - earlier["scores"]["micro"]["f1"])
    assert found["micro"] != 0
    assert found["interval_95"][0] <= found["micro"] <= found["interval_95"][1]
    assert found["model_sha256"] == earlier["signature"]["model_sha256"]
    assert f"{100 * found['micro']:+.2f} (" in capsys.readouterr().out
    assert run("--output", second, "--against", second) == 0  # read before it is written
    assert read_result(second)["against"]["interval_95"] == [0.0, 0.0]


def test_a_model_with_more_labels_is_compared_with_one_that_has_the_usual_ones(
    run: Run, texts: Path, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    model = PunctuationRestorationModel.from_pretrained(tiny_checkpoint)
    labels = [*model.config.labels, {"name": "DASH", "before": "", "after": "–"}]
    shutil.copytree(tiny_checkpoint, tmp_path / "more")
    with_labels(model, labels).save_pretrained(tmp_path / "more")
    more = ("--model", tmp_path / "more")
    assert run("--output", first) == 0
    assert run("--output", second, "--against", first, *more) == 0
    assert read_result(second)["label_names"] == read_result(first)["label_names"]
    assert "micro" in read_result(second)["against"]
    assert run("--output", second, *more) == 0
    assert read_result(second)["label_names"][-1] == "DASH"
    assert run("--output", first, "--against", second) == 1
    assert "QUESTION, DASH. Evaluate the model with fewer labels first" in capsys.readouterr().err


def test_a_model_that_reads_signs_in_its_own_way_is_compared_with_itself(
    run: Run, tiny_checkpoint: str, tmp_path: Path
) -> None:
    config = shutil.copytree(tiny_checkpoint, tmp_path / "own") / "config.json"
    told = json.loads(config.read_text(encoding="utf-8"))
    told["mark_labels"][","] = "PERIOD"
    config.write_text(json.dumps(told), encoding="utf-8")
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    for more in (("--output", first), ("--output", second, "--against", first)):
        assert run("--model", tmp_path / "own", *more) == 0
    assert read_result(second)["against"]["micro"] == 0


def test_a_result_that_cannot_be_written_is_still_shown(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run("--output", tmp_path / "file") == 1
    shown = capsys.readouterr()
    assert "micro" in shown.out
    assert "Not a directory. Name another place." in shown.err


def test_wrong_settings_and_results_of_other_tests_are_refused_and_nothing_is_overwritten(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, other = tmp_path / "first.json", tmp_path / "other.json"
    assert run("--output", first) == 0
    before = read_result(first)
    for wrong, more, said in (
        ({**before, "signature": {"data_sha256": "0" * 64}}, (), "on the same texts, got one on others"),
        (
            {**before, "label_names": ["O", "DASH"]},
            (),
            "got one in O, DASH. Evaluate the model with fewer",
        ),
        ({**before, "format": 1}, (), "Evaluate again"),
        ([], (), "could not read it"),
        (before, ("--limit", 20), "on the same texts, got one on others"),
        (before, ("--threshold", "COMA=0.5"), "COMA"),
    ):
        other.write_text(json.dumps(wrong))
        assert run("--output", first, "--against", other, *more) == 1
        assert said in capsys.readouterr().err
    assert read_result(first) == before
