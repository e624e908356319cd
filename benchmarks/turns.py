"""Changes of speaker: what it gives to know them, and whether subtitles keep them.

    python -m benchmarks.turns --output results/turns.json

Held-out texts get two speakers, who change at every second sentence end, drawn at random. Restored once as they are and
once with `turns`: how many of the words before a change have a sentence end, how many the right one, and F1 of all
words. The same texts, a sentence a cue, with names, a sound and dashes, then go through `punctuate --resegment`: of how
many speeches are speaker and words what they were?
"""

import argparse
import random
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.half_punctuated import Document, documents
from benchmarks.writing import tell
from punctuation_restoration.cli.models import load_pipeline
from punctuation_restoration.cli.punctuate import main as punctuate
from punctuation_restoration.evaluation.benchmarks import default_root, load_examples
from punctuation_restoration.evaluation.counts import count_labels
from punctuation_restoration.evaluation.examples import STOPS, cut
from punctuation_restoration.evaluation.labels import standard_labels
from punctuation_restoration.evaluation.scores import micro
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.registration import DEFAULT_MODEL
from punctuation_restoration.transcripts.timed_sentences import clock_time

BENCHMARKS = ("iwslt2012-dev", "zh-spoken-valid", "ms-spoken-valid")
STYLES = ("names", "names and sounds", "dashes")
NAMES, SOUND = ("ANNA: ", "BEN: "), "[music]"
SPEAKER = re.compile(r"(?=ANNA: |BEN: )|^- ", re.MULTILINE)
NO_SPEECH = re.compile(r"^\d+\n.* --> .*\n", re.MULTILINE)


def changes(document: Document, draw: random.Random) -> list[int]:
    """Half of the words that end a sentence, drawn: behind them the other speaker begins."""
    ends = [index for index, label in enumerate(document.labels[:-1]) if label in STOPS]
    return [index for index in ends if draw.random() < 0.5]


def heard(restore: Any, document: Document, last: Sequence[int]) -> dict[str, list[str]]:
    """Labels of the words as the text is, and with its changes of speaker."""
    turns = [document.words[index + 1].start for index in last]
    items = {"text alone": document.text, "with turns": {"text": document.text, "turns": turns}}
    return {name: [word["label"] for word in restore(item)["words"]] for name, item in items.items()}


def speeches(document: Document, last: Sequence[int]) -> list[str]:
    """What the speakers say, in turn."""
    borders = [0, *(index + 1 for index in last), len(document.words)]
    spans = [(document.words[first].start, document.words[end - 1].end) for first, end in pairwise(borders)]
    return [document.text[first:end] for first, end in spans]


def subtitles(said: Sequence[str], style: str) -> str:
    """SubRip with a cue a speech, with names or with names and sounds; or two speeches a cue, with dashes."""
    if style == "dashes":
        cues = ["\n".join(f"- {speech}" for speech in said[at : at + 2]) for at in range(0, len(said), 2)]
    else:
        cues = [NAMES[number % 2] + speech for number, speech in enumerate(said)]
    if style == "names and sounds":
        cues = [cue for speech in cues for cue in (SOUND, speech)]
    times = [[clock_time(6 * number + seconds, ",", 2) for seconds in (0, 5.9)] for number in range(len(cues))]
    return "".join(
        f"{number}\n{start} --> {end}\n{cue}\n\n"
        for number, (cue, (start, end)) in enumerate(zip(cues, times, strict=True), start=1)
    )


def in_turn(written: str) -> Counter[str]:
    """What stands behind each sign of a speaker, with the name, without marks and blanks."""
    text = NO_SPEECH.sub("", written).replace(SOUND, "")
    return Counter(re.sub(r"[\W_]+", "", speech).lower() for speech in SPEAKER.split(text)[1:])


def measure_subtitles(restore_name: str | None, said: Sequence[str], folder: Path) -> dict[str, Any]:
    """For each style how many speeches come back whole, behind their speaker, and how many sounds."""
    found = {}
    for style in STYLES:
        given, back = folder / "given.srt", folder / "back.srt"
        made = subtitles(said, style)
        given.write_text(made, encoding="utf-8")
        model = ["--model", restore_name] if restore_name else []
        if punctuate([str(given), "--resegment", "--output", str(back), "--force", "--quiet", *model]):
            raise RuntimeError(f"Expected subtitles of {style} to be restored, they were not. See the message above.")
        written = back.read_text(encoding="utf-8")
        sounds = [made.count(SOUND), written.count(SOUND)]
        kept = sum((in_turn(made) & in_turn(written)).values())
        found[style] = {"n_speeches": len(said), "n_kept": kept, "n_sounds": sounds[0], "n_sounds_kept": sounds[1]}
    return found


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """All sets."""
    restore = load_pipeline(args.model, "cpu", dtype="float32")
    labels = standard_labels(restore.model.config)
    sets: dict[str, Any] = {}
    for benchmark in args.benchmarks:
        found = list(
            documents(restore, cut(load_examples(benchmark, labels, args.bench_root, args.recipe), args.limit))
        )
        draw = random.Random(1)
        last = [changes(document, draw) for document in found]
        read = [heard(restore, document, own) for document, own in zip(found, last, strict=True)]
        row: dict[str, Any] = {"n_changes": sum(map(len, last))}
        for way in ("text alone", "with turns"):
            ours = [label for one in read for label in one[way]]
            counts = count_labels([label for document in found for label in document.labels], ours, labels.names)
            before = [
                (document.labels[index], one[way][index])
                for document, one, own in zip(found, read, last, strict=True)
                for index in own
            ]
            row[way] = {
                "f1": round(100 * micro(counts).f1, 2),
                "ended": sum(our in STOPS for _, our in before),
                "right": sum(theirs == our for theirs, our in before),
            }
        said = [speech for document, own in zip(found, last, strict=True) for speech in speeches(document, own)]
        with tempfile.TemporaryDirectory() as folder:
            row["resegmented"] = measure_subtitles(args.model, said, Path(folder))
        sets[benchmark] = row
    return {"sets": sets, "signature": signature(args.model or DEFAULT_MODEL, {"limit": args.limit}, "cpu")}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--model", help="checkpoint; the default model without it")
    parser.add_argument("--benchmarks", nargs="+", default=BENCHMARKS)
    parser.add_argument("--limit", type=int, default=20_000, help="words of each benchmark, in Mandarin characters")
    parser.add_argument("--bench-root", type=Path, default=default_root(), help="folder of the benchmarks")
    parser.add_argument("--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"))
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    tell(measure(args), args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
