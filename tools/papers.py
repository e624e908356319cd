"""Runs the experiments of the papers that this project follows: arms that differ in one thing, from a YAML file each.

    python -m tools.papers recipes/papers/mlm-punct.yaml --threads 2
    python -m tools.papers recipes/papers/augmentation.yaml --arms none "alpha 0.15" --seeds 1

An arm is a run of `train.py` (or of another module) with the recipe and arguments of its paper and its own changes, for
some seeds, scored by `evaluate.py` on some sets, and on the held-out words of its data. Started again, the program
resumes: a finished arm is not run again, a broken one continues from its checkpoint. Writes
`results/papers/PAPER.json` after every run, and prints a table of it.

The keys of a file are the fields of `Paper`, `Arm` and `Made`. Paths are relative to the folder in which the command
runs. In values, `{encoder}` stands for the pretrained encoder, and `{NAME}` for what is made under that name or, of an
arm, for the model of the same seed; they are made first. A name with `{each}` is repeated for every value of `each`.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
import yaml
from dacite import Config, DaciteError, from_dict

from punctuation_restoration.cli.evaluate import main as evaluate
from punctuation_restoration.data import shards
from punctuation_restoration.evaluation.benchmarks import file_name
from punctuation_restoration.evaluation.result_files import compare, read_result, shown_model, signature
from punctuation_restoration.training.self_training import ROUNDS_FILE
from punctuation_restoration.training.validation import score_model
from tools.documents import markdown_table, write_json

TRAIN = "punctuation_restoration.cli.train"
PREPARE = "punctuation_restoration.cli.prepare"
HELD_OUT_WORDS = 20_000  # of each language that arms are scored on, besides their sets
PLACE = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Made:
    """What arms need: prepared data, a part of other prepared data, or what a module writes into `--output`.

    Without any key: the data of the paper's recipe, prepared with the encoder's tokenizer.
    """

    module: str = PREPARE
    recipe: dict[str, Any] = field(default_factory=dict)  # changes of the paper's
    arguments: dict[str, Any] = field(default_factory=dict)
    part_of: str | None = None  # the prepared data of which this is a part, as the next two say; no module is run
    words: float | None = None  # training words at most: the first documents of each source
    by_pieces: str | None = None  # a language in which each piece becomes a word, with a slot of its own


@dataclass(frozen=True)
class Arm:
    """One training run for each seed: what differs from the paper's settings."""

    data: list[str] = field(default_factory=lambda: ["data"])  # names in `made`
    recipe: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    steps: float = 1.0  # share of `max-steps`
    sets: list[str] | None = None


@dataclass(frozen=True)
class Paper:
    """A file of arms."""

    paper: str  # authors, year, title
    recipe: dict[str, Any]  # a recipe, `base` being the one it changes
    arms: dict[str, Arm]
    arguments: dict[str, Any] = field(default_factory=dict)  # of the training, for all arms
    encoder: str = "../shared/encoder"
    made: dict[str, Made] = field(default_factory=lambda: {"data": Made()})
    seeds: list[int] = field(default_factory=lambda: [1])
    sets: list[str] = field(default_factory=list)  # benchmarks, files, or folders of prepared data
    baseline: str = ""  # the arm that others of the same seed are compared with; default: the first
    average: str = "micro"  # of the table: micro, macro or weighted
    published: dict[str, dict[str, float]] = field(default_factory=dict)  # F1 of the paper, by system and set


def read_paper(path: Path) -> Paper:
    """The paper of a YAML file, `{each}` repeated; a `ValueError` for a wrong key or value, or a name of nothing."""
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        given |= {key: dict(repeated(given[key])) for key in ("made", "arms") if key in given}
        paper = from_dict(Paper, given, Config(strict=True))
    except (DaciteError, TypeError, AttributeError) as error:
        raise ValueError(f"Expected the fields of a paper in {path}, got: {error}. See tools/papers.py.") from error
    parts: list[Arm | Made] = [*paper.arms.values(), *paper.made.values()]
    texts = str([list(part.arguments.values()) for part in parts])
    used = {*PLACE.findall(texts), *(name for arm in paper.arms.values() for name in arm.data)}
    used |= {made.part_of or "" for made in paper.made.values()} | {paper.baseline}
    if unknown := used - {"", "encoder", *paper.arms, *paper.made}:
        raise ValueError(f"Expected names of arms or of what is made in {path}, got {sorted(unknown)}.")
    return replace(paper, baseline=paper.baseline or next(iter(paper.arms)))


def repeated(given: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and values; those with `each` once for every one of its values, put in place of `{each}`."""
    for name, value in given.items():
        rest = {key: one for key, one in (value or {}).items() if key != "each"}
        for one in (value or {}).get("each", [None]):
            text = json.dumps(rest, ensure_ascii=False).replace('"{each}"', json.dumps(one))
            yield name.replace("{each}", str(one)), json.loads(text.replace("{each}", str(one)))


class PaperRuns:
    """The runs of one paper in a folder, each done once."""

    def __init__(self, paper: Paper, place: Path, options: argparse.Namespace) -> None:
        self.paper = paper if options.encoder is None else replace(paper, encoder=options.encoder)
        self.place, self.options = place, options

    def made(self, name: str) -> Path:
        """The folder of something that arms need."""
        made, out = self.paper.made[name], self.place / place_name(name)
        if made.part_of is not None:
            source = shards.read_index(self.made(made.part_of))
            return out if (out / shards.INDEX_NAME).is_file() else write_part(source, made, out)
        arguments = {**made.arguments, "recipe": self.recipe(place_name(name), made.recipe)}
        if made.module == PREPARE:
            arguments.setdefault("tokenizer", "{encoder}")
        self.run(made.module, out, self.filled(arguments, seed=1), ())
        return out

    def trained(self, name: str, seed: int) -> str:
        """The model of an arm, at its best on validation."""
        arm, out = self.paper.arms[name], self.place / f"{place_name(name)}-{seed}"
        arguments = {**self.paper.arguments, **arm.arguments}
        if "max-steps" in arguments:
            arguments["max-steps"] = max(1, round(arguments["max-steps"] * arm.steps))
        arguments |= {"recipe": self.recipe(place_name(name), arm.recipe), "seed": seed}
        arguments |= {"device": self.options.device} if self.options.device else {}
        if "model" not in arguments:  # what a run starts from
            arguments.setdefault("encoder", "{encoder}")
        self.run(TRAIN, out, self.filled(arguments, seed), [str(self.made(one)) for one in arm.data])
        return best_model(out)

    def scored(self, name: str, seed: int) -> dict[str, Any]:
        """An arm's row: what it took, and its scores."""
        arm, model = self.paper.arms[name], self.trained(name, seed)
        out, other = (self.place / f"{place_name(one)}-{seed}" for one in (name, self.paper.baseline))
        sets = self.paper.sets if arm.sets is None else arm.sets
        limit = f"-first-{self.options.limit}" if self.options.limit else ""
        places = {one: Path("sets", f"{file_name(one)}{limit}.json") for one in sets}
        results = {one: self.score(model, out / place, one) for one, place in places.items()}
        baseline = {one: other / place for one, place in places.items() if out != other}
        return {
            "arm": name,
            "seed": seed,
            "model_sha256": shown_model(model)["model_sha256"],
            **cost(out),
            "held_out": self.held_out(model, out, [str(self.made(one)) for one in arm.data]),
            "sets": {one: shown_scores(result["scores"]) for one, result in results.items()},
            "against_baseline": {
                one: compare(results[one], read_result(path)) for one, path in baseline.items() if path.is_file()
            },
        }

    def run(self, module: str, out: Path, arguments: Mapping[str, Any], data: Sequence[str]) -> None:
        """Run a command that writes `out`, unless it has ended well before."""
        call = ["-m", module, *(["--data", *data] if data else [])]
        for key, value in arguments.items():
            call += [f"--{key}"] if value is True else [f"--{key}", str(value)]
        noted, recipes = out.with_name(f"{out.name}.call.json"), [self.place / "paper.yaml", arguments.get("recipe")]
        own = {"call": call, "recipes": [Path(one).read_text(encoding="utf-8") for one in recipes if one]}
        found = json.loads(noted.read_text(encoding="utf-8")) if noted.is_file() else {**own, "ended": False}
        if found != own | {"ended": found["ended"]}:
            raise ValueError(
                f"Expected in {out} a run of {' '.join(call)} with the recipe as it is now, it holds one of "
                f"{' '.join(found['call'])}, or with another recipe. Move it away, or name another --work."
            )
        if found["ended"]:
            return
        write_json(found, noted)
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.options.threads)}
        print(f"{out.name}: {' '.join(call)}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, *call, "--output", str(out)], check=True, env=environment)
        write_json(own | {"ended": True}, noted)

    def recipe(self, name: str, changes: Mapping[str, Any]) -> str:
        """Write the paper's recipe, and one with changes that is based on it; gives the path of that."""
        self.place.mkdir(parents=True, exist_ok=True)
        own = {"base": self.place / "paper.yaml", **changes}
        for stem, content in (("paper", self.paper.recipe), (name, own)):
            given = {"name": stem, **content}
            given |= {key: str(Path(given[key]).resolve()) for key in ("base",) if key in given}
            (self.place / f"{stem}.yaml").write_text(yaml.safe_dump(given, allow_unicode=True), encoding="utf-8")
        return str(self.place / f"{name}.yaml")

    def filled(self, arguments: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Arguments with paths in place of the names in braces; what they stand for is made or trained first."""

        def path(found: re.Match[str]) -> str:
            name = found[1]
            if name == "encoder":
                return self.paper.encoder
            return str(self.made(name) if name in self.paper.made else self.trained(name, seed))

        return {key: PLACE.sub(path, one) if isinstance(one, str) else one for key, one in arguments.items()}

    def score(self, model: str, path: Path, name: str) -> dict[str, Any]:
        """The result of a model on a set; one that is there is not made again."""
        call = ["--model", model, "--benchmark", name, "--output", str(path)]
        given = {"--device": self.options.device, "--limit": self.options.limit}
        call += [str(part) for option, value in given.items() if value for part in (option, value)]
        if not path.is_file() and evaluate(call) != 0:
            raise ValueError(f"Expected a score on {name}, got none; the message above says what is wrong.")
        return read_result(path)

    def held_out(self, model: str, out: Path, data: Sequence[str]) -> dict[str, dict[str, float]]:
        """F1 of all marks and of each on held-out words of the arm's data, by language, in points of 100."""
        done = out / "held-out.json"
        if not done.is_file():
            found = score_model(model, data, HELD_OUT_WORDS, self.options.device or "cpu")["languages"]
            write_json({name: {key: round(one, 2) for key, one in row.items()} for name, row in found.items()}, done)
        return dict(json.loads(done.read_text(encoding="utf-8")))


def write_part(index: dict[str, Any], made: Made, out: Path) -> Path:
    """Write a prepared folder with some documents, or other words, of another. Gives it."""
    out.mkdir(parents=True, exist_ok=True)
    total = sum(row["splits"]["train"]["n_words"] for row in index["sources"])
    share = min(1.0, made.words / total) if made.words else 1.0
    for row in index["sources"]:
        for split, counts in row["splits"].items():
            documents = first_documents(counts, share if split == "train" else 1.0)
            changed = map(by_pieces, documents) if row["language"] == made.by_pieces else documents
            row["splits"][split] = shards.write_split(out, f"{row['name']}-{split}", changed)
    shards.write_index(out, index)
    return out


def first_documents(split: Mapping[str, Any], share: float) -> Iterator[shards.PackedDocument]:
    """The first documents of a split, until they have a share of its words; one at least."""
    left = share * split["n_words"]
    for document in (one for shard in split["shards"] for one in shards.shard_documents(shard["file"])):
        if left <= 0:
            return
        yield document
        left -= len(document.words.labels)


def by_pieces(document: shards.PackedDocument) -> shards.PackedDocument:
    """The same document with every piece a word: the mark stands at the last piece of the word that it was after.

    The borders of words stay borders of pieces; a tokenizer alone would sometimes join pieces over them.
    """
    words = document.words
    labels = np.zeros(len(words.piece_ids), dtype=np.uint8)
    labels[np.cumsum(words.piece_counts, dtype=np.int64) - 1] = words.labels
    ones = np.ones(len(labels), dtype=np.uint8)
    casings, soft = (np.repeat(rows, words.piece_counts, axis=0) for rows in (words.casings, words.soft))
    return document._replace(words=shards.Words(words.piece_ids, ones, labels, casings, soft))


def place_name(name: str) -> str:
    """The name of a folder."""
    return re.sub(r"[^\w.-]+", "-", name)


def best_model(out: Path) -> str:
    """The model of a run: the best student of a self-training, the best weights of a training."""
    if (out / ROUNDS_FILE).is_file():
        rounds = json.loads((out / ROUNDS_FILE).read_text(encoding="utf-8"))
        return str(max(rounds[1:], key=lambda row: row["f1"])["model"])
    return str(out / "best")


def cost(out: Path) -> dict[str, Any]:
    """Steps, words, pieces and minutes of a run, those of all rounds of a self-training, from the ends of its logs."""
    logs = [*out.glob("log.jsonl"), *out.glob("round-*/student/log.jsonl")]
    rows = [json.loads(path.read_text(encoding="utf-8").splitlines()[-1]) for path in logs]
    return {key: round(sum(row[key] for row in rows), 1) for key in ("step", "words", "pieces", "minutes")}


def shown_scores(scores: Mapping[str, Any]) -> dict[str, Any]:
    """F1 of a result by kind of average, and of each mark, in points of 100."""
    found = {kind: round(100 * scores[kind]["f1"], 2) for kind in ("micro", "macro", "weighted")}
    return {**found, "marks": {name: round(100 * mark["f1"], 2) for name, mark in scores["marks"].items()}}


def table(found: Mapping[str, Any]) -> str:
    """Mean F1 by arm and set, as Markdown, with gains in micro-F1 over the baseline; the paper's own figures below."""
    rows, average = found["runs"], found["average"]
    sets = list(dict.fromkeys(one for row in rows for one in row["sets"]))
    languages = list(dict.fromkeys(one for row in rows for one in row["held_out"]))
    lines = []
    for name in dict.fromkeys(row["arm"] for row in rows):
        own = [row for row in rows if row["arm"] == name]
        cells = []
        for one in sets:
            gains = [row["against_baseline"][one] for row in own if one in row["against_baseline"]]
            cells.append(cell([row["sets"][one][average] for row in own if one in row["sets"]], gains))
        cells += [cell([row["held_out"][one]["f1"] for row in own if one in row["held_out"]]) for one in languages]
        lines.append([name, str(len(own)), *cells, f"{mean(row['minutes'] for row in own):.0f}"])
    for name, figures in found["published"].items():
        cells = [f"{figures[one]:.1f}" if one in figures else "" for one in sets]
        lines.append([f"published: {name}", "", *cells, *[""] * (len(languages) + 1)])
    head = [f"arm ({average} F1)", "seeds", *(f"`{one}`" for one in sets), *(f"held-out {one}" for one in languages)]
    return markdown_table([*head, "minutes"], lines)


def cell(f1s: Sequence[float], gains: Sequence[Mapping[str, Any]] = ()) -> str:
    """The mean of the seeds, and in brackets their mean gain, if each interval leaves out 0 on the same side."""
    signs = {np.sign(end) for one in gains for end in one["interval_95"]}
    gain = f" ({100 * mean(one['micro'] for one in gains):+.1f})" if signs in ({1.0}, {-1.0}) else ""
    return f"{mean(f1s):.1f}{gain}" if f1s else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Do what is missing, write it, print a table; 0, 1 if a run failed, 2 for wrong use."""
    parser = argparse.ArgumentParser(prog="papers", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("papers", nargs="+", type=Path, help="YAML files of arms")
    parser.add_argument("--arms", nargs="+", metavar="ARM", help="names of arms (default: all)")
    parser.add_argument("--seeds", type=int, nargs="+", help="default: those of the file")
    parser.add_argument("--encoder", help="pretrained encoder, in place of the file's")
    parser.add_argument("--limit", type=int, help="words of each set (default: all)")
    parser.add_argument("--device", help="cpu, cuda or mps (default: a GPU where there is one)")
    parser.add_argument("--threads", type=int, default=1, help="threads of a CPU, of training and of scoring (1)")
    parser.add_argument("--work", type=Path, default=Path("runs/papers"), help="folder of the runs")
    parser.add_argument("--output", type=Path, default=Path("results/papers"), help="folder of the JSON files")
    args = parser.parse_args(argv)
    try:
        papers = {path.stem: read_paper(path) for path in args.papers}
    except (OSError, ValueError, yaml.YAMLError) as error:
        parser.error(str(error))
    torch.set_num_threads(args.threads)  # of the scoring, which happens here
    names = {name for paper in papers.values() for name in paper.arms}
    if unknown := sorted({*(args.arms or ())} - names):
        parser.error(f"Expected --arms among {sorted(names)}, got {unknown}. Choose some.")
    return max(run_paper(stem, paper, args) for stem, paper in papers.items())


def run_paper(stem: str, paper: Paper, args: argparse.Namespace) -> int:
    """Run the arms that are asked for, seed by seed; write their rows beside earlier ones. 1 if one failed, else 0."""
    runs, path, failed = PaperRuns(paper, args.work / stem, args), args.output / f"{stem}.json", 0
    earlier = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.is_file() else []
    rows = {(row["arm"], row["seed"]): row for row in earlier if row["arm"] in paper.arms}
    settings = {"recipe": paper.recipe, "arguments": paper.arguments, "limit": args.limit, "threads": args.threads}
    chosen = [name for name in paper.arms if not args.arms or name in args.arms]
    for seed, name in itertools.product(args.seeds or paper.seeds, chosen):
        try:
            rows[name, seed] = runs.scored(name, seed)
        except (subprocess.CalledProcessError, OSError, ValueError) as error:
            print(f"papers: {stem}, {name}, seed {seed}: {error}", file=sys.stderr)
            failed = 1
            continue
        found = {
            "paper": paper.paper,
            "signature": signature(runs.paper.encoder, settings, args.device or "cpu"),
            "average": paper.average,
            "baseline": paper.baseline,
            "published": paper.published,
            "runs": sorted(rows.values(), key=lambda row: ([*paper.arms].index(row["arm"]), row["seed"])),
        }
        write_json(found, path)
        print(f"{paper.paper}\n\n{table(found)}\n", flush=True)
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
