"""Python code that lies beside a model runs only where the command line says so; standard input is not asked."""

import io
import json
import shutil
import sys
from pathlib import Path

import pytest

from punctuation_restoration.cli import commands, punctuate

CODE = """
from pathlib import Path
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

Path({proof!r}).touch()

class OwnTokenizer(PreTrainedTokenizerFast):
    pass

class OwnConfig(BertConfig):
    pass

class OwnModel(BertModel):
    config_class = OwnConfig

    def __init__(self, config):
        super().__init__(config, add_pooling_layer=False)
"""
OWN_PARTS = {
    "tokenizer_config.json": {
        "tokenizer_class": "OwnTokenizer",
        "auto_map": {"AutoTokenizer": [None, "own.OwnTokenizer"]},
    },
    "config.json": {"model_type": "own-bert", "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}},
}
COMMANDS = {
    "punctuate": "--text hello --model {model}",
    "punctuate --live": "--live --model {model}",
    "evaluate": "evaluate --model {model} --benchmark {texts}/talks.txt --output {out}",
    "train": "train --model {model} --data {prepared} --output {out} --max-steps 1 --device cpu",
    "train --encoder": "train --encoder {encoder} --data {prepared} --output {out} --max-steps 1 --device cpu",
    "label": "label --model {model} --data {prepared} --output {out} --device cpu",
    "export": "export --model {model} --output {out}",
    "prepare": "prepare --texts {texts} --tokenizer {model} --output {out} --processes 1",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_code_beside_a_model_runs_only_if_the_option_is_given(
    command, tiny_checkpoint, tiny_encoder, texts, prepared, tmp_path, monkeypatch, capsys
):
    proof = tmp_path / "code was run"
    for source, name, changed in (
        (tiny_checkpoint, "model", "tokenizer_config.json"),
        (tiny_encoder, "encoder", "config.json"),
    ):
        folder = Path(shutil.copytree(source, tmp_path / name))
        settings = json.loads((folder / changed).read_text())
        (folder / changed).write_text(json.dumps(settings | OWN_PARTS[changed]))
        (folder / "own.py").write_text(CODE.format(proof=str(proof)))
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    places = {name: tmp_path / name for name in ("model", "encoder", "out")}
    given = COMMANDS[command].format(**places, texts=texts, prepared=prepared).split()
    main = punctuate.main if command.startswith("punctuate") else commands.main

    def run(*options: str) -> int:
        heard = io.TextIOWrapper(io.BytesIO(b"so\nyes\n"))
        monkeypatch.setattr(sys, "stdin", heard)
        return main([*given, *options])

    assert run() == 1
    assert not proof.exists()
    assert "add --trust-remote-code" in capsys.readouterr().err
    assert run("--trust-remote-code") == 0
    assert proof.exists()
