"""Writes the folder of the Gradio page: the files of `space/`, and the parts of the package that they use.

    python -m tools.space_folder page/
    hf upload me/punctuation page/ --repo-type space

The page runs the code that it brings, as a wheel holds it; of the Hub's model it takes the weights alone.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from punctuation_restoration.export import check_place
from punctuation_restoration.whole_files import written_whole

ROOT = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if all went well, 2 where something was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument("--force", action="store_true", help="replace an earlier one")
    args = parser.parse_args(argv)
    try:
        files = export_space(args.output, replace=args.force)
    except OSError as error:
        print(f"space_folder: {error}", file=sys.stderr)
        return 2
    print(f"{args.output}: {len(files)} files. Send them with `hf upload REPO {args.output} --repo-type space`.")
    return 0


def export_space(output: str | Path, *, replace: bool = False) -> list[Path]:
    """Write the folder, whole or not at all; gives its files. A `FileExistsError` for what may not be replaced."""
    output = Path(output).absolute()
    check_place(output, "", replace, ("app.py", "restorer.py"))
    leave_out = shutil.ignore_patterns("__pycache__", ".*")
    with written_whole(output) as folder:
        own, package = ROOT / "punctuation_restoration", folder / "punctuation_restoration"
        shutil.copytree(ROOT / "space", folder, ignore=leave_out)
        for part in (own / "transcripts", ROOT / "modeling", ROOT / "pipeline"):
            shutil.copytree(part, package / part.name, ignore=leave_out)
        for path in own.glob("*.py"):
            shutil.copyfile(path, package / path.name)
        shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    return sorted(path for path in output.rglob("*") if path.is_file())


if __name__ == "__main__":
    raise SystemExit(main())
