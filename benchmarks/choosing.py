"""Does chosen text teach more than random text? Meetings as the domain, all Mandarin as the pool.

    python -m benchmarks.choosing                          ranks, a few minutes: `rankings` in results/choosing.json
    python -m benchmarks.choosing --train                  and trains two models for each of --seeds: `arms`

A few meetings are the sample. All other Mandarin is ranked twice: with the other meetings, which the ranking should
find, and without them, which is what someone with a small sample has. From the latter, as many words of lowest
perplexity as of random documents are learned from the same start; both models are scored on held-out meetings, and on
held-out documents of all sources. What is done is not done again.
"""

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.arms import flags, pieces_per_word, run, score, write_resolved
from benchmarks.writing import write_json
from punctuation_restoration.data.choosing import (
    Ranking,
    Sample,
    build_converter,
    describe_stops,
    rank,
    read_sample,
    summary,
    table,
    write_choice,
)
from punctuation_restoration.data.ngrams import NgramModel
from punctuation_restoration.data.prepare import prepare
from punctuation_restoration.data.readers import json_rows
from punctuation_restoration.data.recipe import Recipe, load_recipe
from punctuation_restoration.data.shards import INDEX_NAME, hash_id, open_shard, read_index
from punctuation_restoration.evaluation.signature import signature

ROOT = Path(__file__).resolve().parents[1]
DOMAIN, LANGUAGE = "vcsum_meetings", "zh"


def main(argv: Sequence[str] | None = None) -> int:
    """Prepare and rank, if that is not done, and train the models of the seeds."""
    args = parse_args(argv)
    recipe = pool_recipe(load_recipe(args.recipe))
    found = json.loads(args.output.read_text(encoding="utf-8")) if args.output.is_file() else {}
    place = args.work / "pool"
    if not (place / INDEX_NAME).is_file():
        prepare(recipe, place, args.encoder or str(recipe.model["encoder"]))
    index = read_index(place)
    settings = {name: getattr(args, name) for name in ("words", "sample_documents", "seeds", "pieces_per_batch")}
    if not found or found["signature"]["settings"] != settings or not (args.work / "chosen" / INDEX_NAME).is_file():
        signed = signature(index["tokenizer"], settings, "cpu")
        found = {"signature": {"data_sha256": data_digest(recipe), **signed}, "arms": [], **ranked(args, recipe, index)}
        write_json(found, args.output)
    for seed in args.seeds if args.train else ():
        for name in ("chosen", "random"):
            if any((row["text"], row["seed"]) == (name, seed) for row in found["arms"]):
                continue
            found["arms"].append({"text": name, "seed": seed, **run_arm(args, index, name, seed)})
            print(json.dumps(found["arms"][-1]), flush=True)
            write_json(found, args.output)
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes" / "en-zh-ms.yaml", help="of the pool")
    parser.add_argument("--encoder", help="to start from; default: the recipe's")
    parser.add_argument("--sample-documents", type=int, default=8, help="meetings in the sample")
    parser.add_argument("--words", type=int, default=2_000_000, help="to choose, and to learn from")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], help="of the models, and of what is drawn")
    parser.add_argument("--train", action="store_true", help="train the models too")
    parser.add_argument("--pieces-per-batch", type=int, default=320)
    parser.add_argument("--validation-words", type=int, default=60_000, help="to score on, twice")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("runs/choosing"), help="folder of the data and the runs")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "choosing.json")
    return parser.parse_args(argv)


def pool_recipe(recipe: Recipe) -> Recipe:
    """All text of the language: nothing cut short, and every word as often as any other."""
    whole = (replace(source, max_words=None, weight=1.0) for source in recipe.sources if source.language == LANGUAGE)
    return replace(recipe, name=f"{LANGUAGE}-pool", sources=tuple(whole))


def data_digest(recipe: Recipe) -> str:
    """SHA-256 over the files of the pool, in the recipe's order."""
    digest = hashlib.sha256()
    for source in recipe.sources:
        digest.update((Path(recipe.root) / source.path).read_bytes())
    return digest.hexdigest()


def write_sample(recipe: Recipe, index: Mapping[str, Any], n_documents: int, path: Path) -> None:
    """Write some documents of the domain that are trained on, those with the lowest hashes of their ids."""
    row = next(row for row in index["sources"] if row["name"] == DOMAIN)
    shards = [open_shard(shard["file"]) for shard in row["splits"]["train"]["shards"]]
    lowest = set(np.sort(np.concatenate([arrays["document_hashes"] for arrays in shards]))[:n_documents].tolist())
    source = next(source for source in recipe.sources if source.name == DOMAIN)
    rows = [text for _, text in json_rows(Path(recipe.root) / source.path) if hash_id(str(text["id"])) in lowest]
    path.write_text("".join(json.dumps(text, ensure_ascii=False) + "\n" for text in rows), encoding="utf-8")


def ranked(args: argparse.Namespace, recipe: Recipe, index: dict[str, Any]) -> dict[str, Any]:
    """Rank the pool with and without the domain, write what is chosen from the latter; gives both rankings."""
    path = args.work / "sample.jsonl"
    write_sample(recipe, index, args.sample_documents, path)
    sample = read_sample([path], build_converter(index), LANGUAGE)
    print(describe_stops(sample))
    model = NgramModel(sample.words, sample.starts)
    found = {}
    for name, pool in (("with_meetings", index), ("without_meetings", without_domain(index))):
        ranking = rank(pool, model, sample)
        chosen = ranking.best(args.words)
        found[name] = summary(pool, sample, ranking, chosen)
        print(f"\n{name}\n\n{table(found[name])}")
    write_choice(pool, chosen, args.work / "chosen", found["without_meetings"])
    return {"rankings": found, "random": random_choices(args, pool, ranking, sample)}


def random_choices(args: argparse.Namespace, pool: dict[str, Any], ranking: Ranking, sample: Sample) -> dict[str, Any]:
    """Write random documents of as many words for each seed; gives what is in them."""
    found = {}
    for seed in args.seeds:
        order = np.random.default_rng(seed).permutation(len(ranking.n_words))
        chosen = ranking.first(order, args.words)
        found[str(seed)] = summary(pool, sample, ranking, chosen)
        write_choice(pool, chosen, args.work / f"random-{seed}", found[str(seed)])
    return {seed: {row["name"]: row["share_of_choice"] for row in choice["sources"]} for seed, choice in found.items()}


def without_domain(index: Mapping[str, Any]) -> dict[str, Any]:
    """The index of the pool but for the meetings."""
    return {**index, "sources": [row for row in index["sources"] if row["name"] != DOMAIN]}


def run_arm(args: argparse.Namespace, index: Mapping[str, Any], text: str, seed: int) -> dict[str, Any]:
    """Train one model; F1 on held-out meetings and on all held-out text, and what it took."""
    data = args.work / (text if text == "chosen" else f"{text}-{seed}")
    meetings, recipe = args.work / "meetings", args.work / "arms.yaml"
    write_resolved({**index, "sources": [row for row in index["sources"] if row["name"] == DOMAIN]}, meetings)
    recipe.write_text(yaml.safe_dump({"base": str(args.recipe.resolve()), "only": []}), encoding="utf-8")
    arguments = {
        "--recipe": str(recipe), "--encoder": args.encoder or index["tokenizer"], "--seed": str(seed),
        "--max-steps": str(round(args.words * pieces_per_word([data]) / args.pieces_per_batch)),
        "--pieces-per-batch": str(args.pieces_per_batch), "--threads": str(args.threads),
        "--validation-words": str(args.validation_words),
    }  # fmt: skip
    place = args.work / f"{text}-{seed}-run-{args.words}"
    found = run(place, [data], [meetings], *flags(arguments))
    everywhere = score(place / "final", [args.work / "pool"], args.validation_words, args.threads)
    cost = {name: found[name] for name in ("steps", "minutes", "pieces")}
    return {"f1_meetings": found["f1"][LANGUAGE], "f1_all": everywhere[LANGUAGE], **cost}


if __name__ == "__main__":
    raise SystemExit(main())
