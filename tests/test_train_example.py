"""The example in recipes/README.md, run as it stands but for paths and size."""

import re
from pathlib import Path

import pytest


def test_the_trainer_example_runs(tiny_checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors.torch import load_file

    from punctuation_restoration.data.preparation import prepare, recipe_for_texts

    (tmp_path / "x.txt").write_text("Hello, you are the best. Is the day you say? " * 40)
    prepare(recipe_for_texts([str(tmp_path / "x.txt")], "en", 0.0), tmp_path / "prepared", tiny_checkpoint, 1)
    readme = (Path(__file__).parents[1] / "recipes" / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    changes = {
        '"checkpoints/en-zh-ms"': repr(tiny_checkpoint),
        "n_windows=20_000": "n_windows=20",
        "max_steps=2000": "max_steps=2, use_cpu=True, report_to=[], disable_tqdm=True",
    }
    for old, new in changes.items():
        assert old in code
        code = code.replace(old, new)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "recipes/README.md", "exec"), {})
    before = load_file(Path(tiny_checkpoint) / "model.safetensors")
    after = load_file(tmp_path / "runs" / "trainer" / "final" / "model.safetensors")
    assert any((before[name] != after[name]).any() for name in before)
