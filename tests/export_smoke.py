"""Loads an export of the default model in new environments that have only torch, transformers and jieba.

    make export-smoke        needs a package registry; some minutes, most of them for installing

Once with the oldest transformers that pyproject.toml allows, once with the newest: from the folder, and offline from a
cache as the Hub fills it. The text must be the one that this checkout gives.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.export import export

ROOT = Path(punctuation_restoration.__file__).resolve().parents[1]
TEXT = "okay so the budget is fixed 但是我们还可以改时间表 boleh tak kita mula minggu depan"
REPOSITORY, COMMIT = "some-one/punctuation", "0123456789abcdef0123456789abcdef01234567"
STRANGER = """
import importlib.util, json, sys
assert importlib.util.find_spec("punctuation_restoration") is None
import transformers
texts = []
for place, revision in ((sys.argv[1], None), (sys.argv[2], "main")):
    restore = transformers.pipeline(
        "punctuation-restoration", model=place, revision=revision, trust_remote_code=True, device="cpu"
    )
    assert str(restore.model.dtype) == "torch.float32"
    texts.append(restore(sys.argv[3])["text"])
print(json.dumps([transformers.__version__, texts]))
"""


def fill_cache(home: Path, exported: Path) -> None:
    """Lay an export where `HF_HOME` would have it after a download."""
    entry = home / "hub" / f"models--{REPOSITORY.replace('/', '--')}"
    shutil.copytree(exported, entry / "snapshots" / COMMIT)
    (entry / "refs").mkdir()
    (entry / "refs" / "main").write_text(COMMIT)


def restored_in_new_environment(folder: Path, transformers: str, exported: Path) -> tuple[str, list[str]]:
    """Make an environment with this transformers; its version, and what it restores from folder and cache."""
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    for packages in ([os.environ.get("TORCH", "torch")], [transformers, "jieba"]):
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    home = folder / "home"
    fill_cache(home, exported)
    environment = {"PATH": os.environ["PATH"], "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    command = [python, "-c", STRANGER, exported, REPOSITORY, TEXT]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    version, texts = json.loads(done.stdout.splitlines()[-1])
    return version, texts


def main() -> int:
    requirement = re.search(r'"transformers(>=([\d.]+),<\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert requirement, "pyproject.toml names no range of transformers."
    expected = pipeline("punctuation-restoration", model=punctuation_restoration.DEFAULT_MODEL, device="cpu")(TEXT)
    with tempfile.TemporaryDirectory() as place:
        exported = Path(place) / "exported"
        export(exported)
        for name, transformers in (("oldest", f"=={requirement[2]}.*"), ("newest", requirement[1])):
            version, texts = restored_in_new_environment(Path(place) / name, f"transformers{transformers}", exported)
            if texts != [expected["text"]] * 2:
                print(f"transformers {version}: expected {expected['text']!r} twice, got {texts}.", file=sys.stderr)
                return 1
            print(f"transformers {version}: the same text from folder and cache.", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
