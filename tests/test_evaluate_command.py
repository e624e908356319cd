"""`evaluate.py` from the command line to its JSON, with a tiny model."""

import ast
import importlib.util
import json
from pathlib import Path

import pytest

from punctuation_restoration.evaluation.result_files import unpack_blocks

ROOT = Path(__file__).resolve().parents[1]
SENTENCES = "hello you are here. is he there? the man, you say, is in. "


def load_script():
    spec = importlib.util.spec_from_file_location("evaluate_script", ROOT / "evaluate.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


SCRIPT = load_script()


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "talks.jsonl"
    rows = [{"id": f"talk-{index}", "text": SENTENCES * (index + 1)} for index in range(6)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_result(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def run(*args) -> int:
    return SCRIPT.main([str(arg) for arg in args])


def test_a_file_is_scored_and_the_result_carries_its_signature(tiny_checkpoint, texts, tmp_path, capsys):
    output = tmp_path / "out.json"
    assert run("--model", tiny_checkpoint, "--benchmark", texts, "--output", output, "--mistakes", 2) == 0
    result = read_result(output)
    # 13 words and 5 marks in each of 1 + 2 + ... + 6 copies.
    scores = result["scores"]
    assert scores["n_words"] == 13 * 21
    assert {name: mark["n_reference"] for name, mark in scores["marks"].items()} == {
        "COMMA": 42,
        "PERIOD": 42,
        "QUESTION": 21,
    }
    assert scores["end_text"]["n_reference"] == 6
    assert result["intervals_95"]["unit"] == "documents"
    signature = result["signature"]
    assert len(signature["data_sha256"]) == len(signature["model_sha256"]) == 64
    assert {"commit", "settings", "machine", "versions", "date"} <= set(signature)
    assert signature["settings"]["window"] == 24
    shown = capsys.readouterr().out
    assert "micro" in shown
    assert "Most certain mistakes" in shown
    assert "hello" not in output.read_text(encoding="utf-8")  # no text of a benchmark in results


def test_scores_are_those_of_the_pipeline_on_the_whole_text(tiny_checkpoint, tiny_pipeline, texts, tmp_path):
    output = tmp_path / "out.json"
    assert run("--model", tiny_checkpoint, "--benchmark", texts, "--output", output) == 0
    plain = "hello you are here is he there the man you say is in "
    words = [word for copies in range(1, 7) for word in tiny_pipeline((plain * copies).strip())["words"]]
    reference = ["O", "O", "O", "PERIOD", "O", "O", "QUESTION", "O", "COMMA", "O", "COMMA", "O", "PERIOD"] * 21
    assert len(words) == len(reference)
    n_right = sum(word["label"] == label != "O" for word, label in zip(words, reference, strict=True))
    assert read_result(output)["scores"]["micro"]["n_correct"] == n_right


def test_a_quick_look_writes_nothing_unless_a_place_is_named(tiny_checkpoint, texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("--model", tiny_checkpoint, "--benchmark", texts, "--limit", 60) == 0
    assert not (tmp_path / "results").exists()
    assert run("--model", tiny_checkpoint, "--benchmark", texts) == 0
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["talks-jsonl.json"]


def test_several_benchmarks_write_a_file_each(tiny_checkpoint, texts, tmp_path, capsys):
    bench = tmp_path / "bench" / "en"
    bench.mkdir(parents=True)
    rows = [("we", "O"), ("'re", "O"), ("here", "PERIOD"), ("you", "O"), ("see", "QUESTION")] * 30
    (bench / "iwslt2011-test.tsv").write_text("".join(f"{word}\t{label}\n" for word, label in rows), encoding="utf-8")
    arguments = ("--model", tiny_checkpoint, "--bench-root", tmp_path / "bench", "--output", tmp_path / "out")
    assert run(*arguments, "--benchmark", "iwslt2011-test", texts, "--limit", 100, "--details") == 0
    result = read_result(tmp_path / "out" / "iwslt2011-test.json")
    assert (result["scores"]["n_words"], result["speed"]["words"]) == (100, 80)  # tokens scored, words decided
    assert result["intervals_95"]["unit"] == "blocks of 200 words"
    assert result["signature"]["settings"]["limit"] == 100
    assert read_result(tmp_path / "out" / "talks-jsonl.json")["scores"]["n_words"] == 100
    shown = capsys.readouterr().out
    assert "by document" in shown
    assert {block.document for block in unpack_blocks(result["blocks"], result["label_names"])} == {"iwslt2011-test"}


def test_settings_reach_the_pipeline(tiny_checkpoint, texts, tmp_path):
    arguments = ("--model", tiny_checkpoint, "--benchmark", texts, "--limit", 60, "--output", tmp_path / "out.json")
    never = ("--threshold", "COMMA=1", "PERIOD=1", "QUESTION=1")
    assert run(*arguments, *never, "--window", 12, "--left-context", 3, "--right-context", 2) == 0
    result = read_result(tmp_path / "out.json")
    assert result["scores"]["micro"]["n_predicted"] == 0
    settings = result["signature"]["settings"]
    assert (settings["window"], settings["left_context"], settings["right_context"]) == (12, 3, 2)
    assert settings["thresholds"] == {"COMMA": 1.0, "PERIOD": 1.0, "QUESTION": 1.0}


def test_pictures_are_written(tiny_checkpoint, texts, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib draws the pictures and is not installed")
    arguments = ("--model", tiny_checkpoint, "--benchmark", texts, "--limit", 60, "--output", tmp_path / "out.json")
    assert run(*arguments, "--pictures", tmp_path / "pictures") == 0
    for name in ("talks-jsonl-confusion.png", "talks-jsonl-reliability.png"):
        assert (tmp_path / "pictures" / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--threshold", "COMA=0.5"), "COMA"),
        (("--window", "2"), "window"),
    ],
)
def test_a_wrong_setting_ends_with_a_message_and_no_result(tiny_checkpoint, texts, tmp_path, capsys, given, message):
    output = tmp_path / "out.json"
    assert run("--model", tiny_checkpoint, "--benchmark", texts, "--output", output, *given) == 1
    assert message in capsys.readouterr().err
    assert not output.exists()


def test_a_threshold_that_is_none_ends_with_a_message(capsys):
    with pytest.raises(SystemExit) as ended:
        run("--benchmark", "iwslt2012-dev", "--threshold", "COMMA")
    assert ended.value.code == 2
    assert "Expected --threshold NAME=PROBABILITY, got 'COMMA'" in capsys.readouterr().err


def test_a_dtype_that_is_none_ends_with_a_message(capsys):
    with pytest.raises(SystemExit):
        run("--benchmark", "iwslt2012-dev", "--dtype", "float99")
    assert "'float99' (choose from" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("iwslt2011-tset",), "iwslt2011-tset"),
        (("iwslt2011-test", "ms-news-test", "--output", "one.json"), "Expected a folder"),
        (("iwslt2011-test", "--limit", "0"), "--limit"),
    ],
)
def test_a_wrong_command_line_ends_with_a_message(given, message, capsys):
    with pytest.raises(SystemExit) as ended:
        run("--benchmark", *given)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run()


def test_the_benchmarks_are_listed(capsys):
    assert run("--list") == 0
    assert "zh-tst2011+2012-punctuated" in capsys.readouterr().out


def test_nothing_here_imports_the_library_that_the_script_shadows():
    files = [ROOT / "evaluate.py", *(ROOT / "punctuation_restoration" / "evaluation").glob("*.py")]
    assert len(files) > 10
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert all(name.name.partition(".")[0] != "evaluate" for name in node.names), path
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] != "evaluate", path
