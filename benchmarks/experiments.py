r"""What pays in training: arms that differ in one thing, at equal data and steps, with several seeds.

    python -m benchmarks.experiments --data prepared/ --encoder ../shared/encoder --out results/experiments.json
    python -m benchmarks.experiments ... --arms slots tagging "layers 4" --seeds 1 2 --steps 400
    python -m benchmarks.experiments ... --arms heads --words 2e6 --out results/heads.json
    python -m benchmarks.experiments ... --arms augmentations --words 2e6
    python -m benchmarks.experiments ... --arms "late masks" "layers 8" "layers 12" --out results/layers.json
    python -m benchmarks.experiments ... --arms "late masks" "English alone" ... --out results/languages.json
    python -m benchmarks.experiments ... --arms teachers --from checkpoints/en-zh-ms --soft-labels soft/en soft/zh \
        --rate 7e-5 --words 4e5 --out results/teachers.json
    python -m benchmarks.experiments --arms "late masks" "dropout and augmentation" "recogniser noise" ... \
        --out results/regularised.json

Every arm is a run of `train.py` with the recipe of the default model and the changes in `ARMS`. Takes prepared data and
an encoder, or a model to go on from; writes JSON with validation micro-F1 per language, steps, pieces and minutes of
each run, and prints a table. Started again, it goes on where it stopped.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import yaml

from benchmarks.arms import cut_folder, flags, pieces_per_word, run
from benchmarks.writing import write_json
from punctuation_restoration.data.shards import PackedDocument, read_index, shard_documents, write_index, write_split
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.signature import signature

ROOT = Path(__file__).resolve().parents[1]
BASELINE = "late masks"
LENGTHS_WITH_MASKS = {36: 0.05, 72: 0.15, 144: 0.3, 288: 0.5}

HEADS = {"BiLSTM": "bilstm", "CRF": "crf", "BiLSTM and CRF": "bilstm-crf"}
# Shares of the touched words that are substituted and deleted; the rest get <unk> before them. Alam et al. (2020),
# Table 7, try each alone; together they are as there, 0.4, 0.4 and 0.2.
AUGMENTATIONS = {
    "substitutions alone": (1.0, 0.0),
    "deletions alone": (0.0, 1.0),
    "insertions alone": (0.0, 0.0),
    "all three": (0.4, 0.4),
}
# The share of teachers' labels in the loss, and their temperature (Hinton et al. 2015).
TEACHERS = {
    "teachers for half": ("0.5", "2"),
    "teachers alone": ("1", "2"),
    "teachers for half, as they are": ("0.5", "1"),
}
# As the default model's last stages had them (recipes/student.yaml): talks are not learnt by heart so soon.
REGULARISED: tuple[tuple[str, ...], dict[str, Any]] = (
    ("--dropout", "0.1"),
    {"augmentation": {"windows": 0.3, "rate": 0.1, "substitute": 0.5, "delete": 0.3, "random_pieces": 0.5}},
)
GROUPS = {  # a name for several arms
    "heads": [BASELINE, *HEADS], "augmentations": [BASELINE, *AUGMENTATIONS], "teachers": [BASELINE, *TEACHERS],
}  # fmt: skip

TALKS_AND_NEWS = [
    *("ted", "teded", "tedx", "3b1b_transcripts"),
    *("iwslt17_ted_tst2013-2015", "ted_iwslt17_sentences", "ng_lecture_notes", "vcsum_meetings", "c3_dialogues"),
    *("news_ms", "talk", "subtitle", "conversation"),
]


@dataclass(frozen=True)
class Arm:
    """What an arm changes: arguments of `train.py`, keys of the recipe, the data."""

    arguments: Sequence[str] = ()
    recipe: Mapping[str, Any] = field(default_factory=dict)
    share: float = 1.0  # of the steps; a model of one language has the steps that its language has in the joint model
    pieces: float = 1.0  # in a batch, where a word takes more or fewer of them
    split: int = 1  # so many times the steps, each with so many times fewer pieces
    by_pieces: bool = False  # Mandarin words are cut into SentencePiece pieces, each with a slot of its own
    text: float = 1.0  # of each source's words, its first documents
    has_teachers: bool = False  # learns from --soft-labels


ARMS: dict[str, Arm] = {
    BASELINE: Arm(),
    # Masks among the pieces: 1.8 times the pieces for the same words.
    "slots": Arm(("--slot-style", "mask"), {"sampling": {"lengths": LENGTHS_WITH_MASKS}}, pieces=1.8),
    "masks in the last two layers": Arm(recipe={"model": {"mask_layers": 2}}),
    "tagging": Arm(("--slot-style", "last-piece")),
    "Mandarin by pieces": Arm(by_pieces=True),
    "English alone": Arm(recipe={"sampling": {"language_weights": {"en": 1.0, "zh": 0.0, "ms": 0.0}}}, share=1 / 3),
    "Mandarin alone": Arm(recipe={"sampling": {"language_weights": {"en": 0.0, "zh": 1.0, "ms": 0.0}}}, share=1 / 3),
    "Malay alone": Arm(recipe={"sampling": {"language_weights": {"en": 0.0, "zh": 0.0, "ms": 1.0}}}, share=1 / 3),
    "a tenth of the text": Arm(text=0.1),
    "a hundredth of the text": Arm(text=0.01),
    "a thousandth of the text": Arm(text=0.001),
    "layers 4": Arm(("--layers", "4")),
    "layers 8": Arm(("--layers", "8")),
    "layers 12": Arm(("--layers", "12")),
    "half the rate": Arm(("--encoder-rate", "1e-4")),
    "double rate": Arm(("--encoder-rate", "4e-4")),
    "half the batch, double steps": Arm(split=2),
    "a quarter of the batch, four times the steps": Arm(split=4),
    "half the batch, double steps, half the rate": Arm(("--encoder-rate", "1e-4"), split=2),
    "talks and news alone": Arm(recipe={"only": TALKS_AND_NEWS}),
    "no filled slots": Arm(recipe={"sampling": {"filled_windows": 0.0}}),
    "windows end anywhere": Arm(recipe={"sampling": {"sentence_ends": 0.0, "utterances": 0.0}}),
    "averaged weights": Arm(("--average-decay", "0.99")),
    "focal loss": Arm(("--focal-gamma", "2")),
    "label smoothing": Arm(("--label-smoothing", "0.05")),
    "augmentation": Arm(recipe={"augmentation": {"windows": 0.7, "rate": 0.15, "random_pieces": 0.2}}),
    **{name: Arm(("--head", head)) for name, head in HEADS.items()},
    **{
        name: Arm(recipe={"augmentation": {"rate": 0.15, "substitute": substitute, "delete": delete}})
        for name, (substitute, delete) in AUGMENTATIONS.items()
    },
    **{
        name: Arm(("--distil-weight", weight, "--temperature", temperature), has_teachers=True)
        for name, (weight, temperature) in TEACHERS.items()
    },
    "dropout and augmentation": Arm(*REGULARISED),
    "teachers for half, dropout and augmentation": Arm(
        (*REGULARISED[0], "--distil-weight", "0.5"), REGULARISED[1], has_teachers=True
    ),
    "recogniser noise": Arm(
        recipe={
            "augmentation": {"noise_windows": 0.5, "fillers": 0.02, "repeats": 0.01, "cut_offs": 0.01, "losses": 0.01}
        }
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Do the runs that are missing, write all scores, print a table."""
    args = parse_args(argv)
    work = Path(args.work)
    work.mkdir(parents=True, exist_ok=True)
    rows = []
    for seed in args.seeds:
        for name in args.arms:
            found = run_arm(args, name, seed, work)
            rows.append({"arm": name, "seed": seed, **found})
            print(json.dumps(rows[-1]), flush=True)
    settings = {
        name: getattr(args, name) for name in ("steps", "pieces_per_batch", "layers", "validation_words", "rate")
    }
    data = {row["name"]: row["splits"]["train"]["n_words"] for row in read_index(*args.data)["sources"]}
    result = {"signature": signature(args.encoder or args.model, settings, "cpu"), "training_words": data, "runs": rows}
    write_json(result, Path(args.out))
    print(table(rows))
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="What pays in training, arm by arm.")
    parser.add_argument("--data", required=True, nargs="+", help="prepared folders")
    start = parser.add_mutually_exclusive_group(required=True)
    start.add_argument("--encoder", help="pretrained encoder")
    start.add_argument("--from", dest="model", help="punctuation model to go on from, as it is")
    parser.add_argument("--soft-labels", nargs="+", default=[], help="folders of teachers' labels, for their arms")
    parser.add_argument(
        "--arms", nargs="+", default=list(ARMS), choices=[*ARMS, *GROUPS], metavar="ARM",
        help=", ".join([*ARMS, *GROUPS]),
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--words", type=float, help="words of training instead of --steps, at the baseline's pieces")
    parser.add_argument("--pieces-per-batch", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=6, help="of an encoder")
    parser.add_argument(
        "--rate", type=float, default=2e-4, help="learning rate of the encoder; the head has twice that"
    )
    parser.add_argument("--recipe", default=str(ROOT / "recipes" / "en-zh-ms.yaml"))
    parser.add_argument("--validation-words", type=int, default=10_000, help="of each language")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", default="runs/experiments", help="folder of the runs")
    parser.add_argument("--out", required=True, help="JSON file to write")
    args = parser.parse_args(argv)
    args.arms = list(dict.fromkeys(name for given in args.arms for name in GROUPS.get(given, [given])))
    if not args.soft_labels and any(ARMS[name].has_teachers for name in args.arms):
        parser.error("Expected --soft-labels for arms with teachers, got none. See `training.labelling`.")
    if args.words:
        args.steps = round(args.words * pieces_per_word(args.data) / args.pieces_per_batch)
    return args


def run_arm(args: argparse.Namespace, name: str, seed: int, work: Path) -> dict[str, Any]:
    """One run of an arm, unless it is done."""
    arm, place = ARMS[name], work / f"{name.replace(' ', '-').replace(',', '')}-{seed}"
    recipe = work / f"{name.replace(' ', '-').replace(',', '')}.yaml"
    base = str(Path(args.recipe).resolve())
    recipe.write_text(yaml.safe_dump({"base": base, **arm.recipe}), encoding="utf-8")
    pieces_per_batch = round(args.pieces_per_batch * arm.pieces) // arm.split
    settings = {
        "--recipe": str(recipe), "--seed": str(seed), "--dropout": "0",
        "--max-steps": str(round(args.steps * arm.share) * arm.split), "--pieces-per-batch": str(pieces_per_batch),
        "--warmup-steps": str(max(args.steps // 12, 1)), "--threads": str(args.threads),
        "--validation-words": str(args.validation_words), "--encoder-rate": str(args.rate),
        "--head-rate": str(2 * args.rate),
    }  # fmt: skip
    bare = {"--encoder": args.encoder, "--layers": str(args.layers), "--slot-style": "late-mask"}
    settings.update({"--from": args.model} if args.model else bare)
    settings.update(zip(arm.arguments[::2], arm.arguments[1::2], strict=True))
    arguments = flags(settings)
    if arm.has_teachers:
        arguments += ["--soft-labels", *args.soft_labels]
    if arm.text < 1:
        cut = [cut_folder(folder, work / f"{Path(folder).name}-{arm.text:g}", arm.text) for folder in args.data]
        return run(place, cut, args.data, *arguments)
    folders = [pieces_folder(folder, work) for folder in args.data] if arm.by_pieces else args.data
    return run(place, folders, folders, *arguments)


def pieces_folder(folder: str | Path, work: Path, language: str = "zh") -> Path:
    """A prepared folder in which each piece of one language is a word: the label stands at a word's last piece.

    jieba's borders stay piece borders; SentencePiece alone would sometimes join pieces over them.
    """
    index: dict[str, Any] = read_index(folder)
    out = work / f"{Path(folder).name}-by-pieces"
    if (out / "index.json").is_file():
        return out
    out.mkdir(parents=True, exist_ok=True)
    for row in index["sources"]:
        for split, found in row["splits"].items():
            if row["language"] != language:
                for shard in found["shards"]:
                    shard["file"] = str(Path(shard["file"]).resolve())
                continue
            documents = (one for shard in found["shards"] for one in shard_documents(shard["file"]))
            found.update(write_split(out, f"{row['name']}-{split}", map(by_pieces, documents)))
    write_index(out, index)
    return out


def by_pieces(document: PackedDocument) -> PackedDocument:
    """The same document with every piece a word."""
    labels = np.zeros(len(document.piece_ids), dtype=np.uint8)
    labels[np.cumsum(document.piece_counts, dtype=np.int64) - 1] = document.labels
    return PackedDocument(document.hash, document.piece_ids, np.ones(len(labels), dtype=np.uint8), labels)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Means over seeds by arm, as Markdown, each with its distance from the baseline."""
    languages = sorted({language for row in rows for language in row["f1"]})
    base = {language: _mean(rows, BASELINE, language) for language in languages}
    lines = []
    for name in dict.fromkeys(row["arm"] for row in rows):
        own = [row for row in rows if row["arm"] == name]
        cells = []
        for language in languages:
            value, baseline = _mean(rows, name, language), base[language]
            cells.append(f"{value:.1f}" + (f" ({value - baseline:+.1f})" if baseline and name != BASELINE else ""))
        lines.append([name, str(len(own)), *cells])
    return markdown_table(["arm", "seeds", *languages], lines)


def _mean(rows: Sequence[Mapping[str, Any]], name: str, language: str) -> float:
    found = [row["f1"].get(language, 0.0) for row in rows if row["arm"] == name]
    return mean(found) if found else 0.0


if __name__ == "__main__":
    raise SystemExit(main())
