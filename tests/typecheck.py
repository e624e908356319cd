"""Check the types of all code of the project: `python tests/typecheck.py`.

`modeling/` and `pipeline/` lie beside the package in a checkout, where mypy would take what is imported from them for
`Any`. So it is shown a folder of links in which everything lies as in the wheel.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ("tests", "tools", "space", "examples")


def main() -> int:
    """Run mypy over the package and what stands beside it; gives its exit status."""
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    with tempfile.TemporaryDirectory() as links:  # not below the root, where builds would follow them
        package, ours = Path(links) / "punctuation_restoration", ROOT / "punctuation_restoration"
        package.mkdir()
        for path in [*ours.iterdir(), ROOT / "modeling", ROOT / "pipeline"]:
            (package / path.name).symlink_to(path)
        for name in BESIDE:
            (Path(links) / name).symlink_to(ROOT / name)
        return subprocess.run([sys.executable, "-m", "mypy", *settings, package.name, *BESIDE], cwd=links).returncode


if __name__ == "__main__":
    raise SystemExit(main())
