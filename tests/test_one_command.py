"""The command `punctuation-restoration` passes its arguments on, and says what is missing."""

import pytest

from punctuation_restoration.cli import commands


def exit_code(*given):
    with pytest.raises(SystemExit) as done:
        commands.main(given)
    return done.value.code


@pytest.mark.parametrize("name", list(commands.COMMANDS))
def test_each_command_has_its_help_and_refuses_what_it_does_not_know(name, capsys):
    assert exit_code(name, "--help") == 0
    out = capsys.readouterr().out
    assert f"punctuation-restoration {name}" in out
    assert "--model" in out or "--tokenizer" in out
    assert exit_code(name, "--bogus") == 2


def test_without_a_command_the_help_names_all_of_them(capsys):
    for given in ([], ["--help"]):
        assert exit_code(*given) == 0
        out = capsys.readouterr().out
        assert all(f"  {name} " in out for name in commands.COMMANDS)
    assert exit_code("trian") == 2
    assert "train" in capsys.readouterr().err


def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch, capsys):
    monkeypatch.setattr(commands.importlib, "import_module", lambda name: __import__("babel_that_is_not_there"))
    assert commands.main(["train", "--output", "x"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("train: Expected the package babel_that_is_not_there")
    assert 'pip install -e ".[train]"' in message
    assert "Traceback" not in message
