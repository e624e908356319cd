"""The command `punctuation-restoration` passes its arguments on, and says what is missing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from punctuation_restoration import default_models
from punctuation_restoration.cli import commands

ROOT = Path(default_models.__file__).resolve().parents[1]


@pytest.mark.parametrize("name", list(commands.COMMANDS))
def test_each_command_has_its_help_and_refuses_what_it_does_not_know(name, capsys):
    with pytest.raises(SystemExit) as done:
        commands.main([name, "--help"])
    assert done.value.code == 0
    out = capsys.readouterr().out
    assert f"punctuation-restoration {name}" in out
    assert "--model" in out or "--tokenizer" in out
    with pytest.raises(SystemExit) as done:
        commands.main([name, "--bogus"])
    assert done.value.code == 2


def test_without_a_command_the_help_names_all_of_them(capsys):
    for given in ([], ["--help"]):
        with pytest.raises(SystemExit) as done:
            commands.main(given)
        assert done.value.code == 0
        out = capsys.readouterr().out
        assert all(f"  {name} " in out for name in commands.COMMANDS)
    with pytest.raises(SystemExit) as done:
        commands.main(["trian"])
    assert done.value.code == 2
    assert "train" in capsys.readouterr().err


@pytest.mark.parametrize("given", [["--help"], ["evaluate", "--help"]])
def test_the_help_loads_neither_torch_nor_transformers(given):
    code = f"""
import contextlib, io, json, sys
from punctuation_restoration.cli.commands import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main({given})
print(json.dumps(sorted({{"torch", "transformers"}} & set(sys.modules))))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "punctuation_restoration.cli.train", None)
    monkeypatch.setattr(commands.importlib, "import_module", lambda name: (_ for _ in ()).throw(missing("babel")))
    assert commands.main(["train", "--output", "x"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("train: Expected the package babel")
    assert 'pip install ".[train]"' in message
    assert "Traceback" not in message


def missing(name: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"No module named {name!r}", name=name)
