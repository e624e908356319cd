"""Documents quote results and outputs; nobody types them."""

import re
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard, ModelCardData
from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.evaluation.calibration import count_reliability
from punctuation_restoration.evaluation.counts import count_labels
from punctuation_restoration.evaluation.intervals import Block
from punctuation_restoration.evaluation.result_files import to_result, write_result
from punctuation_restoration.evaluation.runner import Evaluation
from punctuation_restoration.evaluation.signature import shown_model
from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_MARK_LABELS
from punctuation_restoration.pipeline.items import join_words
from punctuation_restoration.pipeline.marks import strip_marks
from tools import card, published

ROOT = Path(punctuation_restoration.__file__).resolve().parents[1]
NAMES = ("O", "COMMA", "PERIOD", "QUESTION")
DOCUMENT = f"before\n{card.BEGIN}\nold\n{card.END}\nafter\n"


def result(name: str, about: str, reference: list[int], predicted: list[int]) -> dict:
    counts = count_labels(reference, predicted, NAMES)
    calibration = {"all_words": count_reliability([]), "marks": count_reliability([])}
    evaluation = Evaluation(NAMES, [Block("talk", None, 0, counts)], calibration, (), 2.0, len(reference))
    signed = {
        "model": "checkpoints/en-zh-ms", "model_sha256": "ab" * 32, "commit": "cd" * 20, "date": "2026-11-21T16:00:00",
        "machine": {"processor": "A processor", "torch_threads": 1},
    }  # fmt: skip
    return to_result(evaluation, name, about, {"data_sha256": "ef" * 32, **signed}, {})


@pytest.fixture
def results() -> list[dict]:
    return [
        result("iwslt2011-test", "English TED, reference", [0, 1, 2, 3, 0, 2], [0, 1, 2, 0, 1, 2]),
        result("ms-news-test", "Malay news", [0, 1, 2], [0, 1, 2]),
    ]


def test_the_table_says_what_the_results_say(results):
    filled = card.fill(DOCUMENT, results)
    assert card.fill(filled, results) == filled
    lines = filled.splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in filled
    assert lines[2] == "| benchmark | words | F1 | 95 % | comma | period | question | macro |"
    cells = [cell.strip() for cell in lines[4].strip("|").split("|")]
    # Three of four marks are found, and one of four that are written is wrong.
    assert (cells[0], cells[1], cells[2]) == ("`iwslt2011-test`: English TED, reference", "6", "**75.0**")
    assert cells[4:] == ["66.7", "100.0", "0.0", "55.6"]
    assert "`ms-news-test`" in lines[5]
    assert "A processor" in filled
    assert "`abababababab`" in filled


def test_published_figures_stand_beside_the_same_average_of_ours(results, tmp_path):
    papers = tmp_path / "published.tsv"
    papers.write_text(
        "benchmark\tsystem\tweights\taverage\tf1\tdiffers\n"
        "iwslt2011-test\tLarge\t300 M\tmicro\t80.0\tEnglish\n"
        "iwslt2011-test\tSmall\t\tmacro\t50.0\t\n"
        "unknown\tOther\t\tmicro\t1.0\t\n"
    )

    def cells(table):
        return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]

    rows = cells(published.published_table(results, "30 M", papers))
    assert [(row[1], row[2], row[-1]) for row in rows] == [
        ("Large", "micro", "80.0"), ("**ours**", "micro", "75.0"), ("**ours**", "macro", "55.6"),
        ("Small", "macro", "50.0"), ("Other", "micro", "1.0"),
    ]  # fmt: skip
    (nearest,) = cells(published.nearest_table(results, "30 M", papers))
    assert nearest[1:] == ["Large, 300 M", "micro", "**75.0**", "80.0"]


def test_the_hub_reads_the_model_index(results):
    front = "---\nlanguage: en\nmodel-index: []\n---\n"
    _, block, _ = card.fill(front + DOCUMENT, results).split("---\n", 2)
    entry = yaml.safe_load(block)["model-index"][0]
    first = entry["results"][0]
    assert first["dataset"] == {"name": "English TED, reference", "type": "iwslt2011-test", "config": "en"}
    assert first["metrics"][0] == {"type": "f1", "name": "F1 (micro)", "value": 75.0}
    assert [one["dataset"]["config"] for one in entry["results"]] == ["en", "ms"]


def test_what_cannot_be_filled_says_what_to_do(results):
    assert "python evaluate.py" in card.fill(DOCUMENT, [])
    with pytest.raises(ValueError, match="Expected the lines"):
        card.fill("text", results)


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


def test_what_the_model_consists_of_is_read_from_its_files(tiny_checkpoint):
    restore = pipeline("punctuation-restoration", model=tiny_checkpoint, device="cpu")
    filled = card.fill_from_model("a\n{}\nold\n{}\nb\n".format(*card.MODEL), restore)
    n_weights = sum(weight.numel() for weight in restore.model.state_dict().values())
    assert "| encoder | 2 layers of hidden width 32, " in filled
    assert f"{n_weights / 1e6:.1f} M weights, stored as F32, read as float32" in filled
    assert "old" not in filled
    assert (filled[:2], filled[-3:]) == ("a\n", "\nb\n")


def test_only_sentences_that_come_back_wrong_are_listed_some_of_each_language(tiny_pipeline, tmp_path):
    path = tmp_path / "hard.tsv"
    right = tiny_pipeline("hello are you the")["text"]
    wrong = [("zh", "你们？，")] + [("en", f"the {number} you?,?") for number in range(card.N_FAILURES + 2)]
    rows = [("language", "kind", "sentence"), ("en", "right", right), *((name, "wrong", text) for name, text in wrong)]
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    lines = card.failures(tiny_pipeline, path).splitlines()
    assert lines[0].startswith(f"Of {len(rows) - 1} short sentences")
    assert f"{len(wrong)} do not come back" in lines[0]
    assert [line.split(" | ")[0] for line in lines[5:]] == ["| en"] * card.N_FAILURES + ["| zh"]
    assert right not in "".join(lines)
    assert f"(right: en 1 of {card.N_FAILURES + 3}, zh 0 of 1)" in lines[1]


def test_a_hard_sentence_may_be_given_with_marks_and_written_in_several_ways(tiny_pipeline, tmp_path):
    given = "hello, are you the"
    right = tiny_pipeline(given)["text"]
    path = tmp_path / "hard.tsv"
    rows = [
        ("language", "kind", "sentence", "given", "also"),
        ("en", "k", right, given),
        ("en", "k", "x", given, f"y{card.ALSO}{right}"),
        ("en", "k", "x", given, "y"),
    ]
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    assert "(right: en 2 of 3)" in card.failures(tiny_pipeline, path)


def test_every_hard_sentence_can_come_back(tiny_pipeline):
    """With the right labels, on the words that serving finds: its marks are written as we write them, and reachable."""
    rows = card.read_hard_sentences()
    written = [text for row in rows for text in (row["sentence"], *filter(None, row["also"].split(card.ALSO)))]
    for text in written:
        words, labels = strip_marks(text, tiny_pipeline.find_words(text), DEFAULT_MARK_LABELS, NAMES)
        unmarked = join_words(words)
        assert [word.text for word in tiny_pipeline.find_words(unmarked)] == words
        assert tiny_pipeline({"text": unmarked, "known": dict(enumerate(labels))})["text"] == text
    assert len({row["sentence"] for row in rows}) == len(rows) == 72


@pytest.mark.slow
@pytest.mark.skipif(
    not (ROOT / "checkpoints" / "en-zh-ms").is_dir(), reason="the default model is not in this checkout"
)
@pytest.mark.parametrize("name", ["model_card.md", "README.md"])
def test_the_documents_show_what_the_default_model_gives(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    run = card.run_examples(text, card.DEFAULT_MODEL)
    run = card.fill_from_model(run, pipeline("punctuation-restoration", model=card.DEFAULT_MODEL, device="cpu"))
    # Probabilities differ from processor to processor in their last digits.
    run, text = (re.sub(r"\d\.\d+", "0.0", one) for one in (run, text))
    assert run == text, f"{name} differs: run `python -m tools.card {name} --run`."


@pytest.mark.parametrize("name", ["model_card.md", "README.md", "docs/literature.md"])
def test_the_documents_quote_the_results_as_they_are(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert card.fill(text, card.read_results(ROOT / "results")) == text, (
        f"{name} differs from results/: run `python -m tools.card {name}`."
    )


def test_the_library_of_the_hub_reads_the_card_and_its_results():
    """The results of the tests, and of these alone: validation sets are no benchmarks."""
    read = ModelCard.load(ROOT / "model_card.md").data
    assert (read.language, read.library_name) == (["en", "zh", "ms"], "transformers")
    assert read.license
    assert read.base_model
    told = {(one.dataset_type, one.metric_name): one.metric_value for one in read.eval_results}
    assert told
    results = card.read_results(ROOT / "results")
    expected = {one["benchmark"].replace("+", "-"): one["scores"]["micro"]["f1"] for one in results}
    for (name, metric), value in told.items():
        assert (metric, value) == ("F1 (micro)", round(100 * expected[name], 1))
    assert not [name for name, _ in told if "valid" in name]
    written = ModelCardData(**yaml.safe_load(read.to_yaml()))  # and writes them again without loss
    assert written.to_dict() == read.to_dict()


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


def test_every_result_is_of_the_model_in_the_tree():
    found = card.read_results(ROOT / "results")
    assert {one["signature"]["model"] for one in found} == {"checkpoints/en-zh-ms"}
    expected = shown_model(str(ROOT / "checkpoints" / "en-zh-ms"))["model_sha256"]
    other = {one["benchmark"] for one in found if one["signature"]["model_sha256"] != expected}
    assert not other, "the model has changed: run `python evaluate.py --benchmark` with these names, then tools.card"
