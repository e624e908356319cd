"""The command `prepare`: training data from a recipe, or from texts of one language.

    punctuation-restoration prepare --recipe recipes/en-zh-ms.yaml --output prepared/
    punctuation-restoration prepare --texts texts/ --language xx --tokenizer MODEL --output prepared/

Expected failures end in one line that says what to do.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from punctuation_restoration.data.recipe import (
    load_recipe,
    read_labels,
    recipe_for_texts,
    text_files,
)
from punctuation_restoration.loading import add_trust_option


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="punctuation-restoration prepare", description="Documents to training shards."
    )
    texts = parser.add_mutually_exclusive_group(required=True)
    texts.add_argument("--recipe", help="recipe file (YAML)")
    what = "files or folders of text in one language, instead of a recipe"
    texts.add_argument("--texts", nargs="+", help=what)
    add = parser.add_argument
    add("--language", default="xx", help="language code of --texts")
    add("--output", required=True, type=Path, help="folder to write")
    add("--tokenizer", help="tokenizer or model, folder or Hub id; default: the recipe's encoder")
    add(
        "--labels", help="file with other labels than those of the tokenizer's model (YAML or JSON)"
    )
    add("--processes", type=int, default=2, help="worker processes")
    for split in ("validation", "test"):
        what = f"share of documents for {split}; default: the recipe's; a source's own is kept"
        add(f"--{split}", type=float, metavar="SHARE", help=what)
    add_trust_option(parser)
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    """Prepare the data; whatever is missing is told before anything is loaded that takes seconds."""
    recipe = recipe_for_texts(args.texts, args.language) if args.texts else load_recipe(args.recipe)
    shares = {"validation": args.validation, "test": args.test}
    recipe = replace(recipe, **{name: share for name, share in shares.items() if share is not None})
    if args.labels:
        recipe = replace(recipe, model={**recipe.model, **read_labels(args.labels)})
    text_files(recipe)
    from punctuation_restoration.data.preparation import prepare

    tokenizer = args.tokenizer or str(recipe.model.get("encoder") or "")
    prepare(recipe, args.output, tokenizer, args.processes, args.trust_remote_code)
