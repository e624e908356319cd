"""Writes the tables of the documents from `results/*.json`, and the outputs of their examples, so that none is typed.

    python -m tools.card model_card.md README.md docs/literature.md     tables
    python -m tools.card model_card.md README.md --run                  and what the examples print
    python -m tools.card model_card.md README.md --run --check          tells whether they are up to date
    python -m tools.card --wrong-marks tools/conversations.tsv          counts the wrong marks of a model

Writes between the lines `<!-- results -->`, `<!-- further -->`, `<!-- nearest -->`, `<!-- models -->`,
`<!-- published -->` and their ends, and the `model-index` of a front matter, which is what the Hub shows beside the
model. An example is a line `restore(...)` in a block of Python that makes `restore`, or in a later block that has
nothing but examples; the comment below it is its output. With `--run` the lines `<!-- model -->` and
`<!-- failures -->` get what the model consists of, and which hard sentences it gets wrong.
"""

import argparse
import csv
import itertools
import json
import math
import pprint
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCardData
from safetensors import safe_open

from punctuation_restoration.default_models import DEFAULT_MODEL, HUB_MODEL
from punctuation_restoration.evaluation.benchmarks import BENCHMARKS
from punctuation_restoration.evaluation.report import percent
from punctuation_restoration.loading import load_pipeline
from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS
from punctuation_restoration.pipeline.items import join_words
from punctuation_restoration.pipeline.marks import strip_marks
from tools.documents import markdown_table, put_between
from tools.published import MODELS, models_line, nearest_table, published_table

ROOT = Path(__file__).resolve().parents[1]
HARD_SENTENCES = ROOT / "tools" / "hard_sentences.tsv"
SHIPPED, FAST = ROOT / "checkpoints" / "en-zh-ms", ROOT / "checkpoints" / "en-zh-ms-fast"
N_FAILURES = 2  # of each language are shown
ALSO = " | "  # between ways of writing a hard sentence
RESULTS, FAST_RESULTS = Path("results"), ROOT / "results" / "fast"
ALL_MARKS = "all-marks"  # the folder within, of what `evaluate.py --all-marks` wrote
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^(restore\(.*\)\S*)\n(?:#.*\n)+", re.MULTILINE)
MODEL_INDEX = re.compile(r"^model-index:.*?(?=^---$)", re.MULTILINE | re.DOTALL)


def weights_line(folder: Path) -> str:
    """How many weights a folder has, how they are stored, and in which precision they are read."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    stored: dict[str, int] = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as weights:
            for name in weights.keys():  # noqa: SIM118 (it is no dictionary)
                part = weights.get_slice(name)
                stored[part.get_dtype()] = stored.get(part.get_dtype(), 0) + math.prod(part.get_shape())
    kinds = " and ".join(sorted(stored))
    return f"{sum(stored.values()) / 1e6:.1f} M weights, stored as {kinds}, read as {config['dtype']}"


def read_results(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Results of `evaluate.py` in a folder, tests first, then by name; other JSON files are passed over."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    scored = [one for one in found if isinstance(one, dict) and one.get("benchmark") in BENCHMARKS]
    return sorted(scored, key=lambda one: (not _is_test(one), one["benchmark"]))


def fill(text: str, results: Sequence[dict[str, Any]], all_marks: Sequence[dict[str, Any]] = ()) -> str:
    """The text with its tables, and its `model-index` if it has one, as the results tell them.

    `all_marks` are the results that count further marks. A `ValueError` if a table lacks one of its two lines.
    """
    measured = {SHIPPED: results, FAST: read_results(FAST_RESULTS)}
    both = [(weights_line(folder).partition(" weights")[0], own) for folder, own in measured.items()]
    ours = dict(zip(MODELS, both, strict=True))
    text = _put(text, "results", table(results))
    text = _put(text, "further", further_marks(all_marks))
    text = _put(text, "nearest", nearest_table(ours))
    text = _put(text, "models", models_line(ours))
    text = _put(text, "published", published_table(ours))
    return MODEL_INDEX.sub(lambda _: model_index(results), text, count=1)


def _put(text: str, name: str, content: str) -> str:
    """The text with a table between its two lines, where it has them."""
    return put_between(text, name, content) if re.search(f"<!-- /?{name} -->", text) else text


def table(results: Sequence[dict[str, Any]]) -> str:
    """The results in Markdown: F1 in percent, one line a benchmark, with the signature below."""
    names = list(dict.fromkeys(name for one in results for name in one["scores"]["marks"]))
    rows = []
    for one in results:
        scores = one["scores"]
        interval = "–".join(map(percent, one["intervals_95"]["micro"]))
        cells = [f"`{one['benchmark']}`: {one['about']}", f"{scores['n_words']:,}"]
        cells += [f"**{percent(scores['micro']['f1'])}**", interval]
        cells += [percent(scores["marks"].get(name, {}).get("f1")) for name in names]
        rows.append([*cells, percent(scores["macro"]["f1"])])
    head = ["benchmark", "words", "F1", "95 %", *(name.lower() for name in names), "macro"]
    return markdown_table(head, rows) + "\n\n" + _signature(results)


def further_marks(results: Sequence[dict[str, Any]]) -> str:
    """F1 in percent of the marks besides `, . ?`, where the reference or the model has any, as one line."""
    basic = {label["name"] for label in DEFAULT_LABELS}
    told = []
    for one in results:
        own = {name: row for name, row in one["scores"]["marks"].items() if name not in basic}
        found = {name: row["f1"] for name, row in own.items() if row["n_reference"] or row["n_predicted"]}
        shown = ", ".join(f"{name.lower()} {percent(f1)}" for name, f1 in found.items())
        told.append(f"`{one['benchmark']}` {shown}")
    return f'With `marks="all"`, F1 of the further marks: {"; ".join(told)}.'


def model_index(results: Sequence[dict[str, Any]]) -> str:
    """The block `model-index` of the front matter: micro-F1 of every test; validation sets are no benchmarks."""
    measured = [
        EvalResult(
            task_type="token-classification",
            task_name="Punctuation restoration",
            dataset_type=one["benchmark"].replace("+", "-"),
            dataset_name=one["about"],
            dataset_config="en" if one["benchmark"].startswith("iwslt") else one["benchmark"][:2],
            metric_type="f1",
            metric_name="F1 (micro)",
            metric_value=round(100 * one["scores"]["micro"]["f1"], 1),
        )
        for one in filter(_is_test, results)
    ]
    return ModelCardData(model_name="punctuation-restoration en-zh-ms", eval_results=measured).to_yaml() + "\n"


def run_examples(text: str, model: str) -> str:
    """The text with what its examples give, by the model of that folder or name in place of the one on the Hub."""
    names: dict[str, Any] = {}

    def run_block(block: re.Match[str]) -> str:
        code = block.group(1)
        setting_up = EXAMPLE.sub("", code)
        if "restore = pipeline(" in setting_up:
            exec(re.sub(r'\brevision="[^"]*",?', "", setting_up.replace(HUB_MODEL, model)), names)
        elif setting_up.strip() or "restore" not in names:
            return block.group()
        filled = EXAMPLE.sub(lambda line: f"{line.group(1)}\n{_shown(eval(line.group(1), names))}\n", code)
        return block.group().replace(code, filled)

    return BLOCK.sub(run_block, text)


def model_table(restore: Any) -> str:
    """What a loaded model consists of, from its configuration and its files, in Markdown."""
    config, folder = restore.model.config, Path(restore.model.name_or_path)
    encoder, names = config.encoder_config, config.label_names
    n_bytes = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    thresholds = ", ".join(f"{name.lower()} {value:g}" for name, value in (config.thresholds or {}).items())
    rows = {
        "encoder": f"{encoder.num_hidden_layers} layers of hidden width {encoder.hidden_size}, vocabulary of "
        f"{encoder.vocab_size:,} pieces",
        "classifier": f"{encoder.hidden_size} → {config.head_width:,} → ReLU → {len(names)}",
        "window": f"at most {config.window} words, of which {config.left_context} on the left and "
        f"{config.right_context} on the right are context, and {config.max_window_pieces} pieces",
        "labels": ", ".join(f"`{name}`" for name in names),
        "written from a probability of": thresholds or "whatever is most probable",
        "temperature of the scores": f"{config.calibration_temperature:g}",
        "size": f"{weights_line(folder)}; safetensors, {n_bytes / 1e6:.1f} MB",
    }
    return markdown_table(["", ""], rows.items(), n_left=2)


def failures(restore: Any, path: Path = HARD_SENTENCES) -> str:
    """How many hard sentences come back as they should, and some of each language that do not, in Markdown."""
    rows = read_hard_sentences(path)
    wrong: dict[str, list[str]] = {row["language"]: [] for row in rows}
    for row in rows:
        written = restore(row["given"] or _without_marks(row["sentence"], restore))["text"]
        if written not in (row["sentence"], *row["also"].split(ALSO)):
            wrong[row["language"]].append([row["language"], row["kind"], row["sentence"], written])
    n_wrong, n_rows = sum(map(len, wrong.values())), Counter(row["language"] for row in rows)
    right = ", ".join(f"{name} {n_rows[name] - len(found)} of {n_rows[name]}" for name, found in wrong.items())
    shown = [line for found in wrong.values() for line in found[:N_FAILURES]]
    some = f"; here are {len(shown)} of them" if len(shown) < n_wrong else ""
    return (
        f"Of {len(rows)} short sentences that were written to be hard (`tools/{path.name}` in the project), "
        f"{n_wrong} do not come back\nas they should (right: {right}){some}:\n\n"
        + markdown_table(["", "what is hard", "should be", "the model writes"], shown, n_left=4)
    )


def wrong_marks(restore: Any, path: Path) -> tuple[int, int]:
    """How many marks of such sentences are wrong, beside the nearest way of writing them, and how many that way has."""
    n_wrong = n_marks = 0
    for row in read_hard_sentences(path):
        given = row["given"] or _without_marks(row["sentence"], restore)
        written = _marks(restore(given)["text"], restore)
        right = [_marks(text, restore) for text in (row["sentence"], *filter(None, row["also"].split(ALSO)))]
        nearest = min(right, key=lambda marks: len(_differing(marks, written)))
        n_wrong += len(_differing(nearest, written))
        n_marks += len(nearest)
    return n_wrong, n_marks


def _marks(sentence: str, restore: Any) -> dict[int, str]:
    """The labels of the marks of a sentence, by the number of characters of words before them."""
    words, labels = _stripped(sentence, restore)
    offsets = itertools.accumulate(map(len, words))
    return {offset: label for offset, label in zip(offsets, labels, strict=True) if label != "O"}


def _differing(marks: dict[int, str], others: dict[int, str]) -> set[int]:
    return {offset for offset in marks.keys() | others if marks.get(offset) != others.get(offset)}


def read_hard_sentences(path: Path = HARD_SENTENCES) -> list[dict[str, str]]:
    """The rows of a table of sentences: `language`, `kind`, `sentence`, `given` and `also`.

    `given` is what the model is shown, the sentence without its marks if empty; `also` are other ways of writing it
    that an editor would leave, parted by ` | `.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE, restval=""))


def _stripped(sentence: str, restore: Any) -> tuple[list[str], list[str]]:
    """The words of a sentence and their labels."""
    config = restore.model.config
    return strip_marks(sentence, restore.find_words(sentence), config.mark_labels, config.label_names)


def _without_marks(sentence: str, restore: Any) -> str:
    """The sentence without its marks; everything else as it stands."""
    return join_words(_stripped(sentence, restore)[0])


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite the documents; with --check only tell whether they are up to date (1 if not)."""
    parser = argparse.ArgumentParser(prog="python -m tools.card", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("documents", nargs="*", type=Path, help="Markdown files")
    parser.add_argument("--wrong-marks", type=Path, help="count them in a file like tools/hard_sentences.tsv")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="whose marks are counted")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of results (default: results)")
    parser.add_argument("--run", action="store_true", help="run the examples with the default model as well")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a document is not up to date")
    args = parser.parse_args(argv)
    if args.wrong_marks:
        print(
            "{} of {} words have a wrong mark".format(*wrong_marks(load_pipeline(args.model, "cpu"), args.wrong_marks))
        )
    results, all_marks, stale = read_results(args.results), read_results(args.results / ALL_MARKS), False
    for path in args.documents:
        text = path.read_text(encoding="utf-8")
        try:
            filled = fill(text, results, all_marks)
            if args.run:
                restore = load_pipeline(DEFAULT_MODEL, "cpu")
                filled = _put(run_examples(filled, DEFAULT_MODEL), "model", model_table(restore))
                filled = _put(filled, "failures", failures(restore))
        except ValueError as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
        if filled != text:
            stale = True
            print(f"{path}: {'differs from' if args.check else 'filled from'} {len(results)} results")
            if not args.check:
                path.write_text(filled, encoding="utf-8")
    return int(stale and args.check)


def _shown(value: Any) -> str:
    """A value as a comment: text as it is, everything else as Python writes it, with short numbers."""
    if isinstance(value, dict):
        value = {key: round(item, 3) if isinstance(item, float) else item for key, item in value.items()}
    lines = (value if isinstance(value, str) else pprint.pformat(value, width=112, sort_dicts=False)).splitlines()
    return "\n".join(f"# {line}" for line in lines)


def _signature(results: Sequence[dict[str, Any]]) -> str:
    """Which model gave these figures, where and when, each told once."""
    signatures = [one["signature"] for one in results]
    models = _unique(f"`{one['model']}` (`{(one.get('model_sha256') or 'unknown')[:12]}`)" for one in signatures)
    commits = _unique(f"`{(one.get('commit') or 'unknown')[:12]}`" for one in signatures)
    machines = _unique(one["machine"]["processor"] for one in signatures)  # threads change no F1
    days = _unique(one["date"][:10] for one in signatures)
    return f"F1 in percent, over all marks together first. Model {models}, code {commits}, {machines}, {days}."


def _unique(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))


def _is_test(result: dict[str, Any]) -> bool:
    return BENCHMARKS[result["benchmark"]].use == "test"


if __name__ == "__main__":
    sys.exit(main())
