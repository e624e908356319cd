"""Holds out for a benchmark what preparation never reached: a source's documents after the last one that was used.

    python -m benchmarks.beyond_cap prepared/ goldminer_tech recipes/held_out/goldminer_tech.txt

Takes prepared data and the recipe; writes the hashes of the ids, which a source of the recipe names as `held_out`.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from punctuation_restoration.data.readers import read_documents
from punctuation_restoration.data.recipe import load_recipe
from punctuation_restoration.data.shards import hash_id, open_shard, read_index


def main(argv: Sequence[str] | None = None) -> int:
    """Write the hashes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("folder", type=Path, help="prepared data")
    parser.add_argument("source", help="name of the source")
    parser.add_argument("output", type=Path, help="file of hashes to write")
    parser.add_argument("--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"))
    args = parser.parse_args(argv)
    found = beyond_cap(args.folder, args.source, args.recipe)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    write_hashes(args.output, found, f"The last {len(found)} documents of {args.source}: benchmarks/beyond_cap.py")
    print(f"{args.output}: {len(found)} documents, the first is {found[0]!r}")
    return 0


def write_hashes(path: Path, document_ids: Iterable[str], comment: str) -> None:
    """Write the hashes of ids, below a line that says what they are."""
    lines = [f"# {comment}", *(f"{hash_id(one):016x}" for one in document_ids)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def beyond_cap(folder: Path, name: str, recipe: Path) -> list[str]:
    """The ids of a source's documents after the last one that is in the prepared data.

    Raises:
        ValueError: if the recipe or the data lack the source, or nothing of it is in the data, or nothing is left.
    """
    made = load_recipe(recipe)
    paths = [Path(made.root) / source.path for source in made.sources if source.name == name]
    rows = [row for row in read_index(folder)["sources"] if row["name"] == name]
    shards = [shard["file"] for row in rows for counts in row["splits"].values() for shard in counts["shards"]]
    used = {number for file in shards for number in open_shard(file)["document_hashes"].tolist()}
    ids = [document.id for path in paths for document in read_documents(path)]
    places = [place for place, one in enumerate(ids) if hash_id(one) in used]
    if not places or places[-1] == len(ids) - 1:
        raise ValueError(
            f"Expected {name!r} to be in {recipe} and prepared in {folder} in part, {len(places)} of {len(ids)} "
            "documents are. Give a source with a cap (max_words)."
        )
    return ids[places[-1] + 1 :]


if __name__ == "__main__":
    raise SystemExit(main())
