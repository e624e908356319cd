"""The command `prepare`: training data from a recipe, or from texts of one language.

    punctuation-restoration prepare --recipe recipes/en-zh-ms.yaml --output prepared/
    punctuation-restoration prepare --texts texts/ --language xx --tokenizer MODEL --output prepared/

Expected failures end in one line that says what to do.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from punctuation_restoration.cli.commands import finish
from punctuation_restoration.data.readers import list_files
from punctuation_restoration.data.recipe import load_recipe, read_labels, text_files
from punctuation_restoration.loading import add_trust_option


def main(argv: Sequence[str] | None = None) -> int:
    """Prepare the data of a recipe. Gives 0, or 1 after an error message; a wrong command line ends with 2."""
    parser = argparse.ArgumentParser(
        prog="punctuation-restoration prepare", description="Documents to training shards."
    )
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--recipe", help="recipe file (YAML)")
    given.add_argument(
        "--texts", nargs="+", help="files or folders of text in one language, instead of a recipe"
    )
    parser.add_argument("--language", default="xx", help="language code of --texts")
    parser.add_argument("--output", required=True, help="folder to write")
    parser.add_argument(
        "--tokenizer", help="tokenizer or model, folder or Hub id; default: the recipe's encoder"
    )
    parser.add_argument(
        "--labels", help="file with other labels than those of the tokenizer's model (YAML or JSON)"
    )
    parser.add_argument("--processes", type=int, default=2, help="worker processes")
    for split in ("validation", "test"):
        what = (
            f"share of documents for {split}; default: the recipe's; a source's own share is kept"
        )
        parser.add_argument(f"--{split}", type=float, metavar="SHARE", help=what)
    add_trust_option(parser)
    args = parser.parse_args(argv)
    return finish("prepare", lambda: _prepare(args))


def _prepare(args: argparse.Namespace) -> None:
    """Prepare the data; whatever is missing is told before anything is loaded that takes seconds."""
    if args.recipe:
        recipe = load_recipe(args.recipe)
        text_files(recipe)
    for path in args.texts or ():
        list_files(Path(path))
    from punctuation_restoration.data.preparation import prepare, recipe_for_texts

    if args.texts:
        recipe = recipe_for_texts(args.texts, args.language)
    if args.labels:
        recipe = replace(recipe, model={**recipe.model, **read_labels(args.labels)})
    if args.validation is not None:
        recipe = replace(recipe, validation=args.validation)
    if args.test is not None:
        recipe = replace(recipe, test=args.test)
    tokenizer = args.tokenizer or str(recipe.model.get("encoder") or "")
    prepare(recipe, Path(args.output), tokenizer, args.processes, args.trust_remote_code)


if __name__ == "__main__":
    raise SystemExit(main())
