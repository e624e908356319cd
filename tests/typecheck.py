"""Check the types of all product code: `python tests/typecheck.py [FILE ...]`, files being checked in its place.

`modeling/` and `pipeline/` lie beside the package in a checkout, where mypy would take what is imported from them for
`Any`. So it is shown a folder of links in which everything lies as in the wheel.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINKS = ROOT / ".types"


def link_package() -> None:
    """Make the folder of links."""
    package, ours = LINKS / "punctuation_restoration", ROOT / "punctuation_restoration"
    package.mkdir(parents=True, exist_ok=True)
    wanted = {path.name: path for path in [*ours.iterdir(), ROOT / "modeling", ROOT / "pipeline"]}
    for there in package.iterdir():
        if there.resolve() != wanted.get(there.name):
            there.unlink()
    for name, path in wanted.items():
        if not (package / name).is_symlink():
            (package / name).symlink_to(path)


def check(files: list[str]) -> int:
    """Run mypy over the package, or over some files that import it; gives its exit status."""
    link_package()
    what = files or ["--package", "punctuation_restoration"]
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *what]
    return subprocess.run(command, cwd=LINKS).returncode


if __name__ == "__main__":
    raise SystemExit(check(sys.argv[1:]))
