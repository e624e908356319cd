"""Choose training text that is like a sample: documents of a pool, by their perplexity under the sample's 4-gram model.

    python -m punctuation_restoration.data.choosing --sample meetings.jsonl --pool prepared/ --language zh \
        --words 2000000 --out chosen/
    python train.py --recipe recipes/en-zh-ms.yaml --data chosen/ --out runs/meetings

After Fu et al. (2021) and Zhu et al. (2022). Takes a small sample of the text that a model is to read (it needs no
marks) and prepared data; writes prepared data with the documents of lowest perplexity, all held-out documents as they
were, and `choice.json` with what was ranked. Prints the sample's distribution of stops for a recipe's `sampling`.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from punctuation_restoration.data.ngrams import NgramModel
from punctuation_restoration.data.prepare import clear_folder, explain
from punctuation_restoration.data.ranking import rank, summary, table
from punctuation_restoration.data.samples import build_converter, describe_stops, read_sample
from punctuation_restoration.data.shards import read_index, shard_documents, write_index, write_split


def main(argv: Sequence[str] | None = None) -> int:
    """Rank, write the choice, print the stops. Gives 0, or 1 after an error message."""
    args = parse_args(argv)
    try:
        index = of_language(read_index(*args.pool), args.language)
        sample = read_sample(args.sample, build_converter(index, args.tokenizer), args.language)
        print(describe_stops(sample))
        ranking = rank(index, NgramModel(sample.words, sample.starts), sample)
        chosen = ranking.best(args.words)
        report = summary(index, sample, ranking, chosen)
        write_choice(index, chosen, args.out, report)
    except (ValueError, OSError, MemoryError) as error:
        print(f"choosing: {explain(error)}", file=sys.stderr)
        return 1
    print(table(report))
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="choosing", description="Training text that is like a sample.")
    parser.add_argument("--sample", required=True, nargs="+", help="text to be like: files or folders; a line of a "
                        "document is an utterance")  # fmt: skip
    parser.add_argument("--pool", required=True, nargs="+", help="prepared data to choose from")
    parser.add_argument("--language", required=True, help="of the sample; the pool's other languages are left out")
    parser.add_argument("--words", required=True, type=int, help="how many words to choose, in whole documents")
    parser.add_argument("--out", required=True, type=Path, help="folder to write")
    parser.add_argument("--tokenizer", help="of the pool, where it is not where it was: folder or Hub id")
    return parser.parse_args(argv)


def of_language(index: Mapping[str, Any], language: str) -> dict[str, Any]:
    """The index with the sources of one language.

    Raises:
        ValueError: if there is none.
    """
    rows = [row for row in index["sources"] if row["language"] == language]
    if not rows:
        raise ValueError(f"Expected --language to be one of {index['languages']}, got {language!r}. Correct it.")
    return {**index, "languages": [language], "sources": rows}


def write_choice(index: Mapping[str, Any], chosen: np.ndarray, out: Path, report: Mapping[str, Any]) -> None:
    """Write the chosen training documents, and all held-out ones, as prepared data of their own.

    Args:
        index: of the pool.
        chosen: which of its training documents, (n_documents,) bool, as `Ranking` orders them.
        out: folder, which may hold an earlier choice.
        report: what `choice.json` is to hold.

    Raises:
        ValueError: if `out` is a folder of the pool.
        FileExistsError: if it holds something else.
    """
    shards = [shard for row in index["sources"] for counts in row["splits"].values() for shard in counts["shards"]]
    if out.resolve() in {Path(shard["file"]).resolve().parent for shard in shards}:
        raise ValueError(f"Expected --out to be another folder than the pool, got {out}. Choose another one.")
    clear_folder(out)
    wanted = iter(chosen.tolist())
    rows = []
    for row in index["sources"]:
        splits = {}
        for split, counts in row["splits"].items():
            documents = (one for shard in counts["shards"] for one in shard_documents(shard["file"]))
            kept = (one for one in documents if split != "train" or next(wanted))
            splits[split] = write_split(out, f"{row['name']}-{split}", kept)
        rows.append({**row, "splits": splits})
    (out / "choice.json").write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    write_index(out, {**index, "sources": rows})


if __name__ == "__main__":
    raise SystemExit(main())
