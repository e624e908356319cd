"""Documents quote results and outputs; nobody types them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from huggingface_hub import ModelCard, ModelCardData
from transformers import pipeline

from punctuation_restoration.evaluation.report import percent
from punctuation_restoration.evaluation.result_files import shown_model, write_result
from punctuation_restoration.evaluation.scores import count_labels, evaluated
from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_MARK_LABELS
from punctuation_restoration.pipeline.items import join_words
from punctuation_restoration.pipeline.marks import strip_marks
from tools import card, published

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("O", "COMMA", "PERIOD", "QUESTION")
DOCUMENT = "---\nlanguage: en\nmodel-index: []\n---\nbefore\n<!-- results -->\nold\n<!-- /results -->\nafter\n"


def result(name: str, about: str, reference: list[int], predicted: list[int]) -> dict[str, Any]:
    calibration: dict[str, np.ndarray] = {name: np.zeros((3, 15)) for name in ("all_words", "marks")}
    signed = {
        "model": "checkpoints/en-zh-ms", "model_sha256": "ab" * 32, "commit": "cd" * 20, "date": "2026-11-21T16:00:00",
        "machine": {"processor": "A processor", "torch_threads": 1}, "data_sha256": "ef" * 32,
    }  # fmt: skip
    found = evaluated(NAMES, [count_labels(reference, predicted, NAMES)], calibration)
    return {"benchmark": name, "about": about, "signature": signed, **found}


@pytest.fixture
def results() -> list[dict[str, Any]]:
    return [
        result("iwslt2011-test", "English TED, reference", [0, 1, 2, 3, 0, 2], [0, 1, 2, 0, 1, 2]),
        result("ms-news-test", "Malay news", [0, 1, 2], [0, 1, 2]),
        result("iwslt2012-dev", "validation", [0, 1], [0, 1]),
    ]


def cells(table: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def test_tables_say_what_the_results_say(results: list[dict[str, Any]]) -> None:
    filled = card.fill(DOCUMENT, results)
    _, front, text = filled.split("---\n", 2)
    lines = text.splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in filled
    assert lines[2] == "| benchmark | words | F1 | 95 % | comma | period | question | macro |"
    first, second, *_ = cells("\n".join(lines[2:]))
    # Three of four marks are found, and one of four that are written is wrong.
    assert first[:3] == ["`iwslt2011-test`: English TED, reference", "6", "**75.0**"]
    assert first[4:] == ["66.7", "100.0", "0.0", "55.6"]
    assert second[0].startswith("`ms-news-test`")
    assert "A processor" in filled
    assert "`abababababab`" in filled
    # What the Hub shows: tests alone, since validation sets are no benchmarks.
    shown = yaml.safe_load(front)["model-index"][0]["results"]
    assert shown[0]["dataset"] == {"name": "English TED, reference", "type": "iwslt2011-test", "config": "en"}
    assert shown[0]["metrics"] == [{"type": "f1", "name": "F1 (micro)", "value": 75.0}]
    assert [one["dataset"]["config"] for one in shown] == ["en", "ms"]
    assert card.fill(filled, results) == filled
    absent = {"f1": 0.0, "n_reference": 0, "n_predicted": 0}
    results[0]["scores"]["marks"] |= {"COLON": {"f1": 0.25, "n_reference": 3, "n_predicted": 5}, "DASH": absent}
    assert card.further_marks(results[:1]).endswith(" further marks: `iwslt2011-test` colon 25.0.")
    with pytest.raises(ValueError, match="Expected the lines"):
        card.fill("<!-- results -->", results)


def test_published_figures_stand_beside_the_same_average_of_ours(results: list[dict[str, Any]], tmp_path: Path) -> None:
    papers = tmp_path / "published.tsv"
    papers.write_text(
        "benchmark\tsystem\tweights\taverage\tf1\tdiffers\n"
        "iwslt2011-test\tLarge\t300 M\tmicro\t80.0\tEnglish\n"
        "iwslt2011-test\tSmall\t\tmacro\t50.0\t\n"
        "unknown\tOther\t\tmicro\t1.0\t\n"
    )
    ours: published.Ours = {"ours": ("300 M", results[:1]), "ours, fast": ("30 M", results[1:])}
    rows = cells(published.published_table({"ours": ("30 M", results)}, papers))
    assert [(row[1], row[2], row[-1]) for row in rows] == [
        ("Large", "micro", "80.0"), ("**ours**", "micro", "75.0"), ("**ours**", "macro", "55.6"),
        ("Small", "macro", "50.0"), ("Other", "micro", "1.0"),
    ]  # fmt: skip
    (nearest,) = cells(published.nearest_table(ours, papers))
    assert nearest == ["English talks (`iwslt2011-test`)", "–", "**75.0**", "80.0", "Large, 300 M", "micro"]


def test_examples_show_what_the_model_gives(tiny_checkpoint: str, tiny_pipeline: Any) -> None:
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


def test_what_the_model_consists_of_is_read_from_its_files(tiny_checkpoint: str) -> None:
    rows = dict(cells(card.model_table(pipeline("punctuation-restoration", model=tiny_checkpoint, device="cpu"))))
    assert rows["encoder"].startswith("2 layers of hidden width 32, ")
    assert " M weights, stored as F32, read as float32" in rows["size"]


def test_sentences_that_come_back_wrong_are_listed_some_of_each_language(tiny_pipeline: Any, tmp_path: Path) -> None:
    path, given = tmp_path / "hard.tsv", "hello, are you the"
    plain, right = tiny_pipeline("hello are you the")["text"], tiny_pipeline(given)["text"]
    rows = [
        ("language", "kind", "sentence", "given", "also"),
        ("en", "plain", plain), ("en", "with marks", right, given),
        ("en", "in several ways", "x", given, f"y{card.ALSO}{right}"), ("en", "wrong", "x", given),
        ("en", "wrong", "you?,?"), ("en", "wrong", "the?,?"), ("zh", "wrong", "你们？，"),
    ]  # fmt: skip
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    lines = card.failures(tiny_pipeline, path).splitlines()
    assert lines[0].startswith("Of 7 short sentences")
    assert "4 do not come back" in lines[0]
    assert "(right: en 3 of 6, zh 0 of 1)" in lines[1]
    assert [line.split(" | ")[0] for line in lines[5:]] == ["| en", "| en", "| zh"]


def test_wrong_marks_are_counted_beside_the_nearest_way_of_writing(tiny_pipeline: Any, tmp_path: Path) -> None:
    path, right = tmp_path / "some.tsv", tiny_pipeline("hello are you the")["text"]
    other = "hello? are? you? the?" if right.count("?") < 4 else "hello, are, you, the,"
    n_wrong, n_right = 4 - right.count(other[-1]), sum(not sign.isalpha() and sign != " " for sign in right)
    path.write_text(f"sentence\tgiven\talso\n{other}\n{other}\t\thello are you the. | {right}\n", encoding="utf-8")
    assert card.wrong_marks(tiny_pipeline, path) == (n_wrong, 4 + n_right)


@pytest.mark.parametrize("name", ["hard_sentences", "conversations"])
def test_every_hard_sentence_can_come_back(tiny_pipeline: Any, name: str) -> None:
    """With the right labels, on the words that serving finds: its marks are written as we write them, and reachable."""
    rows = card.read_hard_sentences(ROOT / "tools" / f"{name}.tsv")
    written = [text for row in rows for text in (row["sentence"], *filter(None, row["also"].split(card.ALSO)))]
    for text in written:
        words, labels = strip_marks(text, tiny_pipeline.find_words(text), DEFAULT_MARK_LABELS, NAMES)
        unmarked = join_words(words)
        assert [word.text for word in tiny_pipeline.find_words(unmarked)] == words
        assert tiny_pipeline({"text": unmarked, "known": dict(enumerate(labels))})["text"] == text
    assert len({row["sentence"] for row in rows}) == len(rows) == {"hard_sentences": 72, "conversations": 50}[name]


def test_checking_tells_and_writes_nothing(results: list[dict[str, Any]], tmp_path: Path) -> None:
    folder, document = tmp_path / "results", tmp_path / "document.md"
    for one in results:
        write_result(one, folder / f"{one['benchmark']}.json")
    (folder / "other.json").write_text('{"words": 3}')
    assert card.read_results(folder) == results
    document.write_text(DOCUMENT)
    arguments = [str(document), "--results", str(folder)]
    assert card.main([*arguments, "--check"]) == 1
    assert document.read_text() == DOCUMENT
    assert card.main(arguments) == 0
    assert card.main([*arguments, "--check"]) == 0
    assert "75.0" in document.read_text()


# The documents of this project


DOCUMENTS = dict.fromkeys(("model_card.md", "README.md", "docs/literature.md"), "results")
DOCUMENTS["checkpoints/en-zh-ms-fast/README.md"] = "results/fast"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_documents_quote_the_results_as_they_are(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    folder = ROOT / DOCUMENTS[name]
    assert card.fill(text, card.read_results(folder), card.read_results(folder / card.ALL_MARKS)) == text, (
        f"{name} differs from results: run `python -m tools.card {name} --results {DOCUMENTS[name]}`."
    )


@pytest.mark.parametrize(("folder", "name"), [("", ""), ("all-marks", ""), ("fast", "-fast")])
def test_every_result_is_of_the_model_in_the_tree(folder: str, name: str) -> None:
    found = card.read_results(ROOT / "results" / folder)
    expected = shown_model(str(ROOT / "checkpoints" / f"en-zh-ms{name}"))
    other = {one["benchmark"] for one in found if not expected.items() <= one["signature"].items()}
    assert not other, "the model has changed: run `python evaluate.py --benchmark` with these names, then tools.card"


def test_the_document_of_capitals_quotes_the_results_as_they_are() -> None:
    english, malay = (one["casing"] for one in card.read_results(ROOT / "results") if "-casing-" in one["benchmark"])
    text = " ".join((ROOT / "docs" / "text.md").read_text(encoding="utf-8").split())
    for marks, joint in (("reference", " on held-out English talks and "), ("model", " and ")):
        assert percent(english[marks]["f1"]) + joint + percent(malay[marks]["f1"]) in text


def test_the_hub_reads_the_front_matter_of_the_card() -> None:
    read = ModelCard.load(ROOT / "model_card.md").data
    assert (read.language, read.library_name) == (["en", "zh", "ms"], "transformers")
    assert all((read.license, read.datasets, read.base_model, read.pipeline_tag, read.tags, read.eval_results))
    assert ModelCardData(**yaml.safe_load(read.to_yaml())).to_dict() == read.to_dict()  # written without loss
