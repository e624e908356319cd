"""Do learned pauses pay? Two models from one start, one of which learns drawn pauses, for every seed.

    python -m punctuation_restoration.data.prepare --recipe recipes/en-zh-ms.yaml --tokenizer checkpoints/en-zh-ms \\
        --out prepared/
    python -m benchmarks.pauses --data prepared/ --words 2000000        writes results/pauses.json

Held-out words are scored as text; with times drawn as in training, by the learned pauses and, where they were not
learned, by the factor of `pause=` in several lengths; and with times of a speaker and a recogniser that were not
trained on. Drawn times know the marks, so they say what pauses can give at best, and whether learning beats the factor.
The blocks of the paired bootstrap are windows' words.

Timed transcripts (`--timed`) are then restored in each way; where a file has marks, which are mostly a recogniser's
own, they are the reference. What the gaps in them are like is set beside what was drawn. Started again, it goes on
where it stopped.
"""

import argparse
import json
import operator
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer

from benchmarks.arms import flags, pieces_per_word, run
from benchmarks.writing import write_json
from punctuation_restoration.cli.models import load_pipeline
from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.conversion import stop_label_ids
from punctuation_restoration.data.pauses import PauseSimulator
from punctuation_restoration.data.recipe import load_recipe
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.counts import Counts, add_counts, count_labels
from punctuation_restoration.evaluation.intervals import BLOCK_WORDS, Block, paired_bootstrap
from punctuation_restoration.evaluation.scores import micro
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.pipeline.marks import find_marks
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.pipeline.timing import pause_lengths, weigh_pauses, word_times
from punctuation_restoration.training.building import load_own_model
from punctuation_restoration.training.validation import Validation, decided_words
from punctuation_restoration.transcripts import read_bytes, restore_transcript

ROOT = Path(__file__).resolve().parents[1]
ARMS = {"without": "en-zh-ms.yaml", "learned": "pauses.yaml"}
FACTORS = (0.2, 0.4, 0.8)  # seconds for `pause=`
UNLIKE = {"sentence_ends": 0.7, "other_marks": 0.4, "no_marks": 0.15, "sentence_end_length": 0.4, "lost": 0.4}
HEARD = 0.1  # seconds from which a gap is told as a silence
EXAMPLES = tuple(  # the last is a recogniser's own
    f"examples/transcripts/{name}"
    for name in "whisper.json chunks.json nemo.jsonl vosk.json words.json meeting.ctm youtube.vtt spoken.json".split()
)


WAYS: dict[str, tuple[str, dict[str, Any]]] = {  # of restoring a timed transcript: the arm, and options
    "plain": ("without", {}),
    "factor": ("without", {"pause": 0.4}),
    "learned, as text": ("learned", {}),
    "learned": ("learned", {"pause": "learned"}),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Do what is missing, write it, print a table."""
    args = parse_args(argv)
    torch.set_num_threads(args.threads)
    names = ("words", "pieces_per_batch", "validation_words")
    settings = {name: getattr(args, name) for name in names} | {"timed": [path.name for path in args.timed]}
    result: dict[str, Any] = {"signature": signature(args.start, settings, "cpu"), "runs": []}
    for seed in args.seeds:
        pair = {}
        for arm in ARMS:
            pair[arm] = trained(args, arm, seed)
            ways = scores(args, pair[arm], arm, seed)
            f1s = {way: {language: f1(blocks) for language, blocks in own.items()} for way, own in ways.items()}
            result["runs"].append({"arm": arm, "seed": seed, **pair[arm]["cost"], "f1": f1s})
            print(json.dumps(result["runs"][-1]), flush=True)
            write_json(result, args.out)
        result["runs"][-1]["gains"] = gains(args, pair, seed)
        write_json(result, args.out)
    places = {row["arm"]: args.work / f"{row['arm']}-{row['seed']}" / "final" for row in result["runs"]}
    result["timed"] = timed(args, places)
    write_json(result, args.out)
    print(table(result))
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--from", dest="start", default="checkpoints/en-zh-ms", help="the model that both go on from")
    parser.add_argument("--data", nargs="+", required=True, help="folders prepared with its pieces")
    parser.add_argument("--words", type=int, default=2_000_000, help="to learn from")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--recipes", type=Path, default=ROOT / "recipes", help=f"folder of {list(ARMS.values())}")
    parser.add_argument("--pieces-per-batch", type=int, default=320)
    parser.add_argument("--validation-words", type=int, default=20_000, help="held-out words of each language")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--timed", type=Path, nargs="*", default=[ROOT / path for path in EXAMPLES], help="transcripts with times"
    )
    parser.add_argument("--work", type=Path, default=Path("runs/pauses"), help="folder of the runs")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "pauses.json")
    return parser.parse_args(argv)


def trained(args: argparse.Namespace, arm: str, seed: int) -> dict[str, Any]:
    """A run: where it is and what it cost."""
    place = args.work / f"{arm}-{seed}"
    steps = max(1, round(args.words * pieces_per_word(args.data) / args.pieces_per_batch))
    given = {
        "--recipe": args.recipes / ARMS[arm], "--from": args.start, "--seed": seed, "--max-steps": steps,
        "--pieces-per-batch": args.pieces_per_batch, "--threads": args.threads,
        "--validation-words": args.validation_words,
    }  # fmt: skip
    found = run(place, args.data, args.data, *flags(given))
    return {"place": place / "final", "cost": {name: found[name] for name in ("steps", "minutes", "words")}}


def scores(args: argparse.Namespace, one: Mapping[str, Any], arm: str, seed: int) -> dict[str, Any]:
    """Blocks of counts by how times are told and by language; found once and kept beside the run."""
    path = one["place"].parent / "pauses.json"
    if not path.is_file():
        write_json(scored(args, one["place"], arm, seed), path)
    return dict(json.loads(path.read_text(encoding="utf-8")))


def scored(args: argparse.Namespace, place: Path, arm: str, seed: int) -> dict[str, Any]:
    """For each way of telling times and each language the counts of the blocks, as lists."""
    model, index = load_own_model(str(place)).eval(), read_index(*args.data)
    slots = SlotEncoder(AutoTokenizer.from_pretrained(place), model.config)
    validation = Validation(index, slots, model.config, args.validation_words)
    windows = [  # each with its own times
        replace(one, window=replace(one.window, seed=(seed, number))) for number, one in enumerate(validation.windows)
    ]
    as_text = [row[:3] for row in decided_words(model, WindowCollator(slots), windows, "cpu")]
    found = {"text": blocks_of(validation, as_text)}
    for name, simulator in simulators(args, model.config).items():
        if arm == "learned":
            heard = decided_words(model, WindowCollator(slots, simulator=simulator), windows, "cpu")
            found[f"{name}, learned"] = blocks_of(validation, [row[:3] for row in heard])
            continue
        for pause in FACTORS:
            rows = [(n, labels, weighed(windows[n], logits, simulator, pause)) for n, labels, logits in as_text]
            found[f"{name}, factor {pause}"] = blocks_of(validation, rows)
    return found


def simulators(args: argparse.Namespace, config: Any) -> dict[str, PauseSimulator]:
    """What draws pauses as in training, and unlike that."""
    recipe = load_recipe(args.recipes / ARMS["learned"])
    drawn = replace(recipe.pauses, windows=1.0)
    made = {"drawn": drawn, "unlike": replace(drawn, **UNLIKE)}
    stops, edges = stop_label_ids(config.labels), recipe.model["pause_edges"]
    return {name: PauseSimulator(pauses, config.labels, stops, edges) for name, pauses in made.items()}


def weighed(scored_window: Any, logits: torch.Tensor, simulator: PauseSimulator, pause: float) -> torch.Tensor:
    """What the factor of `pause=` makes of the words that a window decides."""
    window, kept = scored_window.window, scored_window.kept
    lengths = simulator(window.labels, window.seed)[kept]
    return torch.from_numpy(weigh_pauses(logits.softmax(-1).numpy(), lengths, pause))


def blocks_of(validation: Validation, rows: Sequence[tuple[int, np.ndarray, torch.Tensor]]) -> dict[str, list[Any]]:
    """The confusion (M, M) of each block of words, by language; windows make a block until it has enough words."""
    n_labels = len(validation.label_names)
    found: dict[str, list[np.ndarray]] = {}
    for number, labels, logits in sorted(rows, key=lambda row: row[0]):
        language = validation.languages[validation.source_languages[validation.windows[number].source_id]]
        blocks = found.setdefault(language, [])
        if not blocks or blocks[-1].sum() >= BLOCK_WORDS:
            blocks.append(np.zeros((n_labels, n_labels), dtype=np.int64))
        np.add.at(blocks[-1], (labels, logits.argmax(-1).numpy()), 1)
    return {language: [block.tolist() for block in blocks] for language, blocks in found.items()}


def as_blocks(confusions: Sequence[Any], label_names: Sequence[str]) -> list[Block]:
    """Blocks for the bootstrap."""
    blocks = []
    for number, confusion in enumerate(confusions):
        counts = add_counts(label_names, ())
        counts.mid_text[:] = confusion
        blocks.append(Block("held-out", "held-out", number, counts))
    return blocks


def f1(confusions: Sequence[Any]) -> float:
    """Micro-F1 of blocks, in points of 100; the first label is that of no mark."""
    pairs = np.sum(confusions, axis=0)
    hits, marks = np.trace(pairs[1:, 1:]), pairs[1:].sum() + pairs[:, 1:].sum()
    return round(200 * float(hits) / max(int(marks), 1), 2)


def gains(args: argparse.Namespace, pair: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The learned arm against the other: as text, and with times against the best factor, with intervals."""
    own, other = (scores(args, pair[arm], arm, seed) for arm in ("learned", "without"))
    compared = {"text": "text"}
    for name in ("drawn", "unlike"):
        means = {way: float(np.mean([f1(blocks) for blocks in found.values()])) for way, found in other.items()}
        factors = [f"{name}, factor {pause}" for pause in FACTORS]
        compared[f"{name}, learned"] = max(factors, key=means.__getitem__)
    gained: dict[str, Any] = {}
    for way, against in compared.items():
        gained[way] = {"against": against}
        for language, blocks in own[way].items():
            labels = [str(index) for index in range(len(blocks[0]))]
            both = (as_blocks(confusions, labels) for confusions in (blocks, other[against][language]))
            gained[way][language] = asdict(paired_bootstrap(*both))
    return gained


def timed(args: argparse.Namespace, places: Mapping[str, Path]) -> dict[str, Any]:
    """What each way makes of the timed transcripts, and what the gaps in them are like."""
    restorers = {arm: load_pipeline(str(place), "cpu", dtype="float32") for arm, place in places.items()}
    config = restorers["learned"].model.config
    found: dict[str, Any] = {"files": {}}
    gaps: dict[str, list[float]] = {}
    totals: dict[str, list[Counts]] = {way: [] for way in WAYS}
    for path in args.timed:
        transcript, _ = read_bytes(path.read_bytes(), name=path.name)
        reference, lengths = reference_of(restorers["learned"], transcript)
        texts, labels = restored_ways(restorers, transcript)
        changed = {way: sum(map(operator.ne, labels["plain"], own)) for way, own in labels.items()}
        n_gaps = int((~np.isnan(lengths)).sum())
        found["files"][path.name] = {"n_words": len(reference), "n_gaps": n_gaps, "changed": changed, "texts": texts}
        has_marks = any(label != config.label_names[0] for label in reference)
        for label, length in zip(reference, lengths.tolist(), strict=True):
            gaps.setdefault(label if has_marks else "file without marks", []).append(length)
        for way in WAYS if has_marks else ():
            totals[way].append(count_labels(reference, labels[way], config.label_names))
    sums = {way: add_counts(config.label_names, own) for way, own in totals.items()}
    found["f1_against_marks_of_files"] = {way: round(100 * micro(counts).f1, 2) for way, counts in sums.items()}
    found["n_words_with_marks"] = sums["plain"].n_words
    found["gaps"] = {"timed": describe(gaps), "drawn": describe(drawn_gaps(args, config))}
    return found


def restored_ways(restorers: Mapping[str, Any], transcript: Any) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The texts and the labels of a transcript, restored in each way."""
    texts, labels = {}, {}
    for way, (arm, options) in WAYS.items():
        speeches = restore_transcript(transcript, restorers[arm], existing="replace", **options).speeches
        texts[way] = [speech.text for speech in speeches]
        labels[way] = [word["label"] for speech in speeches for word in speech.words]
    return texts, labels


def reference_of(restore: Any, transcript: Any) -> tuple[list[str], np.ndarray]:
    """The label that each word of a transcript has in the file, and the seconds of silence after it."""
    labels, lengths = [], [np.zeros(0)]
    config = restore.model.config
    for speech in transcript.speeches:
        words = restore.find_words(speech.text)
        found = find_marks(speech.text, words, config.mark_labels, config.label_names)
        labels += [mark.label if mark and mark.label else config.label_names[0] for mark in found]
        lengths.append(pause_lengths(times_of(words, speech)))
    return labels, np.concatenate(lengths)


def times_of(words: Sequence[Any], speech: Any) -> list[Any]:
    """When each word of a speech was said."""
    return word_times(words, speech.spans)


def drawn_gaps(args: argparse.Namespace, config: Any) -> dict[str, list[float]]:
    """Drawn pauses by the label that they follow."""
    labels = np.tile(np.arange(len(config.label_names)), 10_000)
    lengths = simulators(args, config)["drawn"](labels, (0,))
    return {name: lengths[labels == index].tolist() for index, name in enumerate(config.label_names)}


def describe(gaps: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """By label: how many gaps are known, the share of silences among them, and their median in seconds."""
    found = {}
    for label, lengths in gaps.items():
        known = [length for length in lengths if not np.isnan(length)]
        silent = [length for length in known if length >= HEARD]
        median = round(statistics.median(silent), 2) if silent else None
        found[label] = {"n": len(known), "silent": round(len(silent) / max(len(known), 1), 3), "median": median}
    return found


def table(result: Mapping[str, Any]) -> str:
    """Mean F1 over seeds by arm and way, as Markdown."""
    lines = []
    for arm in ARMS:
        own = [row["f1"] for row in result["runs"] if row["arm"] == arm]
        for way in own[0]:
            languages = list(own[0][way])
            cells = [f"{statistics.mean(row[way][language] for row in own):.1f}" for language in languages]
            lines.append([arm, way, *cells])
    return markdown_table(["pauses", "times", *languages], lines)


if __name__ == "__main__":
    raise SystemExit(main())
