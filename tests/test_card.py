"""Documents quote results and outputs; nobody types them."""

from pathlib import Path

import pytest
import yaml

import punctuation_restoration
from punctuation_restoration import card
from punctuation_restoration.evaluation.counts import count_labels
from punctuation_restoration.evaluation.intervals import Part
from punctuation_restoration.evaluation.results import to_result, write_result
from punctuation_restoration.evaluation.runner import Evaluation

ROOT = Path(punctuation_restoration.__file__).resolve().parents[1]
NAMES = ("O", "COMMA", "PERIOD", "QUESTION")
DOCUMENT = f"before\n{card.BEGIN}\nold\n{card.END}\nafter\n"


def result(name: str, about: str, reference: list[int], predicted: list[int]) -> dict:
    counts = count_labels(reference, predicted, NAMES)
    evaluation = Evaluation(NAMES, [Part("talk", None, 0, counts)], seconds=2.0, n_words=len(reference))
    signed = {
        "model": "checkpoints/en-zh-ms", "model_sha256": "ab" * 32, "commit": "cd" * 20, "date": "2026-11-21T16:00:00",
        "machine": {"processor": "A processor", "torch_threads": 1},
    }  # fmt: skip
    return to_result(evaluation, name, about, "ef" * 32, signed)


@pytest.fixture
def results() -> list[dict]:
    return [
        result("iwslt2011-test", "English TED, reference", [0, 1, 2, 3, 0, 2], [0, 1, 2, 0, 1, 2]),
        result("ms-news-test", "Malay news", [0, 1, 2], [0, 1, 2]),
    ]


def test_the_table_says_what_the_results_say(results):
    filled = card.fill(DOCUMENT, results)
    lines = filled.splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in filled
    assert lines[2] == "| benchmark | words | F1 | 95 % | comma | period | question | macro |"
    cells = [cell.strip() for cell in lines[4].strip("|").split("|")]
    # Three of four marks are found, and one of four that are written is wrong.
    assert (cells[0], cells[1], cells[2]) == ("`iwslt2011-test`: English TED, reference", "6", "**75.0**")
    assert cells[4:] == ["66.7", "100.0", "0.0", "55.6"]
    assert "`ms-news-test`" in lines[5]
    assert "A processor, 1 threads" in filled
    assert "`abababababab`" in filled


def test_filling_twice_changes_nothing_more(results):
    filled = card.fill(DOCUMENT, results)
    assert card.fill(filled, results) == filled


def test_the_hub_reads_the_model_index(results):
    front = "---\nlanguage: en\nmodel-index: []\n---\n"
    _, block, _ = card.fill(front + DOCUMENT, results).split("---\n", 2)
    entry = yaml.safe_load(block)["model-index"][0]
    first = entry["results"][0]
    assert first["dataset"] == {"name": "English TED, reference", "type": "iwslt2011-test", "args": "en"}
    assert first["metrics"][0] == {"type": "f1", "name": "F1 (micro)", "value": 75.0}
    assert [one["dataset"]["args"] for one in entry["results"]] == ["en", "ms"]


def test_without_results_the_document_says_how_to_get_them():
    assert "python evaluate.py" in card.fill(DOCUMENT, [])


def test_a_document_without_the_two_lines_is_refused():
    with pytest.raises(ValueError, match="Expected the lines"):
        card.fill("text", [])


def test_results_are_read_tests_first_and_other_files_passed_over(results, tmp_path):
    for one in (*results, result("iwslt2012-dev", "validation", [0, 1], [0, 1])):
        write_result(one, tmp_path / f"{one['benchmark']}.json")
    (tmp_path / "segmentation.json").write_text('{"words": 3}')
    read = card.read_results(tmp_path)
    assert [one["benchmark"] for one in read] == ["iwslt2011-test", "ms-news-test", "iwslt2012-dev"]


def test_examples_show_what_the_model_gives(tiny_checkpoint, tiny_pipeline):
    hub = card.HUB_MODEL
    block = (
        "```python\nimport punctuation_restoration\nfrom transformers import pipeline\n\n"
        f'restore = pipeline("punctuation-restoration", model="{hub}", revision="v0", trust_remote_code=True)\n'
        'restore("hello are you 大家好")["text"]\n# old\n# lines\nrestore("hello")["words"][0]["word"]\n# old\n```\n'
    )
    later = '```python\nrestore("are you the")["text"]\n# old\n```\n'
    other = "```python\nrestore(recognise(audio))\n# kept\nimport os\n```\n"
    filled = card.run_examples(block + later + other, tiny_checkpoint)
    assert f'restore("are you the")["text"]\n# {tiny_pipeline("are you the")["text"]}\n' in filled
    assert f'["text"]\n# {tiny_pipeline("hello are you 大家好")["text"]}\n' in filled
    assert '["word"]\n# hello\n```' in filled
    assert hub in filled
    assert "old" not in filled
    assert filled.endswith(other)


@pytest.mark.parametrize("name", ["model_card.md", "README.md"])
def test_the_documents_quote_the_results_as_they_are(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert card.fill(text, card.read_results(ROOT / "results")) == text, (
        f"{name} differs from results/: run `python -m punctuation_restoration.card {name}`."
    )


def test_the_front_matter_of_the_card_has_what_the_hub_asks_for():
    front = yaml.safe_load((ROOT / "model_card.md").read_text(encoding="utf-8").split("---\n")[1])
    assert front["language"] == ["en", "zh", "ms"]
    assert front["library_name"] == "transformers"
    assert front["metrics"] == ["f1"]
    assert {"license", "datasets", "base_model", "pipeline_tag", "tags", "model-index"} <= set(front)


def test_checking_tells_and_writes_nothing(results, tmp_path, capsys):
    write_result(results[0], tmp_path / "results" / "iwslt2011-test.json")
    document = tmp_path / "document.md"
    document.write_text(DOCUMENT)
    arguments = [str(document), "--results", str(tmp_path / "results")]
    assert card.main([*arguments, "--check"]) == 1
    assert document.read_text() == DOCUMENT
    assert card.main(arguments) == 0
    assert card.main([*arguments, "--check"]) == 0
    assert "75.0" in document.read_text()
