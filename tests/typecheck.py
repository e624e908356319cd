"""Check the types of all product code: `python tests/typecheck.py`.

With `FILE ...` only what these files ask of our own modules, in seconds: libraries are then taken for `Any`.

`modeling/` and `pipeline/` lie beside the package in a checkout, where mypy would take what is imported from them for
`Any`. So it is shown a folder of links in which everything lies as in the wheel.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def check(files: list[str]) -> int:
    """Run mypy over the package, or over some files that import it; gives its exit status."""
    cache = ROOT / ".mypy_cache"
    what = ["--package", "punctuation_restoration", "--cache-dir", str(cache)]
    if files:
        what = ["--no-site-packages", *files, "--cache-dir", str(cache / "ours")]
    settings = ["--config-file", str(ROOT / "pyproject.toml")]
    with tempfile.TemporaryDirectory() as links:  # not below the root, where builds would follow them
        package, ours = Path(links) / "punctuation_restoration", ROOT / "punctuation_restoration"
        package.mkdir()
        for path in [*ours.iterdir(), ROOT / "modeling", ROOT / "pipeline"]:
            (package / path.name).symlink_to(path)
        return subprocess.run([sys.executable, "-m", "mypy", *settings, *what], cwd=links).returncode


if __name__ == "__main__":
    raise SystemExit(check(sys.argv[1:]))
