"""The command `prepare`: training data from a recipe, or from texts of one language.

    punctuation-restoration prepare --recipe recipes/en-zh-ms.yaml --output prepared/
    punctuation-restoration prepare --texts texts/ --language xx --tokenizer MODEL --output prepared/

Expected failures end in one line that says what to do.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Prepare the data of a recipe. Gives 0, or 1 after an error message; a wrong command line ends with 2."""
    args = parse_args(argv)
    from concurrent.futures import BrokenExecutor

    from punctuation_restoration.data import recipe as recipes
    from punctuation_restoration.data.preparation import explain, prepare, recipe_for_texts

    try:
        recipe = recipes.load_recipe(args.recipe) if args.recipe else recipe_for_texts(args.texts, args.language)
        given = {name: getattr(args, name) for name in ("validation", "test") if getattr(args, name) is not None}
        recipe = replace(recipe, **given)
        if args.labels:
            recipe = replace(recipe, model={**recipe.model, **recipes.read_labels(args.labels)})
        tokenizer = args.tokenizer or str(recipe.model.get("encoder", ""))
        prepare(recipe, Path(args.output), tokenizer, args.processes, args.max_words)
    except (ValueError, OSError, MemoryError, BrokenExecutor) as error:
        print(f"prepare: {explain(error)}", file=sys.stderr)
        return 1
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line of `prepare`."""
    parser = argparse.ArgumentParser(
        prog="punctuation-restoration prepare", description="Documents to training shards."
    )
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--recipe", help="recipe file (YAML)")
    given.add_argument("--texts", nargs="+", help="files or folders of text in one language, instead of a recipe")
    parser.add_argument("--language", default="xx", help="language code of --texts")
    parser.add_argument("--output", required=True, help="folder to write")
    parser.add_argument("--tokenizer", help="tokenizer or model, folder or Hub id; default: the recipe's encoder")
    parser.add_argument("--labels", help="file with other labels than those of the tokenizer's model (YAML or JSON)")
    parser.add_argument("--processes", type=int, default=2, help="worker processes")
    parser.add_argument("--max-words", type=int, help="stop each source after so many words")
    for split in ("validation", "test"):
        what = f"share of documents for {split}; default: the recipe's; a source's own share stands"
        parser.add_argument(f"--{split}", type=float, metavar="SHARE", help=what)
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
