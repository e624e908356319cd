"""The speed benchmark: what its peers read, what its tables say, and that results of several runs become one."""

import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "tools"


@pytest.fixture(scope="module")
def speed():
    from tools import speed

    return speed


def run_of(threads: int, **words_per_second: float) -> dict:
    systems = {
        name: {
            "start_up_s": 1.0, "peak_memory_mb": 500, "size_mb": 62.0,
            "texts": {
                "talk": {"words_per_second": speed},
                "sentence": {"words_per_second": speed, "p50_ms": 20.0, "p99_ms": 21.0},
            },
        }
        for name, speed in words_per_second.items()
    }  # fmt: skip
    return {"threads": threads, "clock": "wall", "systems": systems}


def test_windows_of_peers_cover_every_word_and_overlap(speed):
    assert speed.windows_by_pieces([[1, 2]] * 10, size=8, overlap=2) == [(0, 4), (3, 7), (6, 10)]
    assert speed.windows_by_pieces([[1] * 20, [1]], size=8, overlap=2)[0] == (0, 1)


def test_texts_have_as_many_words_as_they_say_and_no_marks(speed):
    (talk,) = speed.texts_of("talk", 5000)
    assert len(talk.split()) == 5000
    assert not set(talk) & set(".,?!:;-")
    sentences = speed.texts_of("sentences", 20_000)
    assert 950 <= len(sentences) <= 1050
    assert {len(sentence.split()) for sentence in sentences[:-1]} == set(range(10, 31))


def test_the_one_table_has_the_talk_of_every_run(speed):
    runs = [run_of(2, torch=400.0, **{"xlmr-base": 100.0}), run_of(1, torch=100.0, **{"xlmr-base": 50.0})]
    assert "| `torch` | 400 (4.0 ×) | 100 (2.0 ×) | 20 ms |" in speed.table(runs)


@pytest.mark.parametrize("name", ["README.md", "docs/speed.md"])
def test_the_documents_quote_the_speed_as_it_was_measured(speed, name):
    root = BENCHMARKS.parent
    text = (root / name).read_text(encoding="utf-8")
    result = json.loads((root / "results" / "speed.json").read_text(encoding="utf-8"))
    assert speed.fill(text, result, root / "results") == text


def test_results_of_several_runs_become_one(speed, tmp_path):
    runs = [run_of(2, torch=400.0), run_of(2, **{"xlmr-base": 100.0}), run_of(1, torch=250.0)]
    paths = [tmp_path / f"{index}.json" for index in range(3)]
    for path, run in zip(paths, runs, strict=True):
        path.write_text(json.dumps({"runs": [run]}))
    joined = speed.join(paths)["runs"]
    assert [(run["threads"], sorted(run["systems"])) for run in joined] == [(2, ["torch", "xlmr-base"]), (1, ["torch"])]


def test_processors_are_kept_apart_in_the_order_they_come(speed, tmp_path):
    paths = []
    for processor, threads in (("Plain", 1), ("Modern", 2), ("Plain", 2)):
        paths.append(tmp_path / f"{len(paths)}.json")
        run = {**run_of(threads, torch=400.0), "signature": {"machine": {"processor": processor}}}
        paths[-1].write_text(json.dumps({"runs": [run]}))
    joined = speed.join(paths)["runs"]
    assert [(speed.processor_of(run), run["threads"]) for run in joined] == [("Plain", 2), ("Plain", 1), ("Modern", 2)]
    lines = speed.table(joined).splitlines()
    assert lines[0].startswith("| system | Plain, 2 threads | Plain, 1 thread | Modern, 2 threads | one sentence |")
    assert lines[2].startswith("| `torch` | 400 | 400 | 400 | 20 ms |")


def test_a_part_is_extrapolated_to_the_whole_text_and_says_so(speed):
    found = speed.summary([2.0, 1.0, 3.0], n_words=100, n_whole=1000)
    assert (found["words_per_second"], found["seconds"], found["is_extrapolated"]) == (50.0, 20.0, True)


def test_documents_get_their_tables_and_keep_the_rest(speed, tmp_path):
    accuracy = [
        {"backend": "torch", "f1": {"en": 60.0, "zh": 50.0}, "changed_percent": {"en": 0, "zh": 0}, "mean_f1": 55.0},
        {"backend": "onnx-int8", "f1": {"en": 60.5, "zh": 49.0}, "changed_percent": {"en": 1.0, "zh": 2.0},
         "mean_f1": 54.75},
    ]  # fmt: skip
    (tmp_path / "backends.json").write_text(json.dumps({"rows": accuracy}))
    result = {"runs": [run_of(2, torch=400.0, **{"onnx-int8": 800.0})]}
    document = "before\n<!-- backends -->\nold\n<!-- /backends -->\nafter\nkept\n"
    filled = speed.fill(document, result, tmp_path)
    assert "800 (2.0 ×)" in filled
    assert "1.50 %" in filled
    assert "-0.25, at worst -1.00" in filled
    assert "old" not in filled
    assert filled.startswith("before\n")
    assert "kept" in filled
    assert speed.fill(filled, result, tmp_path) == filled
