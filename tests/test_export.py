"""The folder for the Hub: complete, loadable without this package, and free of this machine."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from export_smoke import REPOSITORY, fill_cache
from huggingface_hub import ModelCard
from safetensors.torch import load_file
from transformers import Trainer, TrainingArguments, pipeline

import punctuation_restoration
from punctuation_restoration import export as exporting
from punctuation_restoration import whole_files
from punctuation_restoration.cli import commands
from punctuation_restoration.default_models import HUB_MODEL
from punctuation_restoration.loading import ModelError, load_pipeline
from punctuation_restoration.modeling.modeling_punctuation import NOTICES
from tools.card import weights_line
from tools.shipping import ship

ROOT = Path(punctuation_restoration.__file__).resolve().parents[1]
TEXT = "hello are you the 你好我们大家今天 saya is the awak in 北京"

# Runs where our package cannot be imported, with an empty cache of modules: as for a stranger.
STRANGER = """
import json, sys
sys.modules["punctuation_restoration"] = None
from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer, pipeline

folder, repository, text, again, tuned, *others = sys.argv[1:]
texts = {}
restore = pipeline("punctuation-restoration", model=folder, trust_remote_code=True, device="cpu")
texts["folder"] = restore(text)["text"]
restore = pipeline(model=repository, revision="main", trust_remote_code=True, device="cpu")
texts["cache, task not named"] = restore(text)["text"]
restore.save_pretrained(again)
texts["saved again"] = pipeline("punctuation-restoration", model=again, trust_remote_code=True)(text)["text"]
model = AutoModelForTokenClassification.from_pretrained(repository, trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained(repository, trust_remote_code=True)
texts["from its parts"] = type(restore)(model=model, tokenizer=tokenizer)(text)["text"]
for part in (model, tokenizer):
    part.save_pretrained(tuned)
for place in (tuned, *others):
    texts[place] = pipeline("punctuation-restoration", model=place, trust_remote_code=True)(text)["text"]
config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
modules = {type(part).__module__.split(".")[0] for part in (config, model, restore)}
print(json.dumps({"texts": texts, "modules": sorted(modules)}))
"""


@pytest.fixture(scope="module")
def exported(tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "tiny"
    exporting.export(folder, tiny_checkpoint)
    return folder


@pytest.fixture(scope="module")
def hub_home(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as HF_HOME names it, with the export in its cache as if downloaded."""
    home = tmp_path_factory.mktemp("hub")
    fill_cache(home, exported)
    return home


def run(code: str, *arguments: object, home: Path) -> str:
    """What a script prints that runs far from this checkout, offline and with a cache of its own."""
    environment = {"PATH": os.environ["PATH"], "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], env=environment, cwd=home,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_stranger_without_our_package_gets_the_same_text(
    exported, hub_home, tiny_model, tiny_tokenizer, tiny_pipeline, tmp_path
):
    """From an export, from what models and trainers write here, and from what the stranger writes from either."""
    names = ("again", "tuned", "model", "trainer")
    again, tuned, model, trainer = places = [tmp_path / name for name in names]
    for part in (tiny_model, tiny_tokenizer):
        part.save_pretrained(model)
    arguments = TrainingArguments(str(tmp_path / "run"), report_to=[], use_cpu=True)
    Trainer(tiny_model, arguments, processing_class=tiny_tokenizer).save_model(str(trainer))
    told = json.loads(run(STRANGER, exported, REPOSITORY, TEXT, *places, home=hub_home).splitlines()[-1])
    assert {str(tuned), str(model), str(trainer)} < set(told["texts"])
    expected = tiny_pipeline(TEXT)["text"]
    assert expected != TEXT
    assert told["texts"] == dict.fromkeys(told["texts"], expected)
    assert told["modules"] == ["transformers_modules"]
    # What was loaded from the Hub and saved again is as complete, and names neither the repository nor a folder.
    missing = {path.name for path in exported.iterdir()} - {path.name for path in again.iterdir()}
    assert missing == {"README.md", "LICENSE"}
    settings = (again / "config.json").read_text()
    assert REPOSITORY not in settings
    assert str(hub_home) not in settings


def test_with_our_package_nobody_has_to_trust_remote_code(exported, hub_home, tiny_pipeline, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub_home / "hub"))
    for place in (exported, REPOSITORY):
        restore = pipeline("punctuation-restoration", model=str(place), device="cpu")
        assert type(restore) is type(tiny_pipeline)
        assert type(restore.model) is type(tiny_pipeline.model)
        assert restore(TEXT)["text"] == tiny_pipeline(TEXT)["text"]


def test_the_folder_is_complete_and_readable_names_no_machine_and_is_the_same_when_exported_again(
    exported, tiny_checkpoint, tmp_path
):
    names = {path.name for path in exported.iterdir() if path.suffix != ".py"}
    assert names == {
        "LICENSE", "README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip
    assert {path.stat().st_mode & 0o777 for path in exported.iterdir()} == {0o644}
    assert (exported / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    exporting.export(tmp_path / "again", exported)
    for path in exported.iterdir():
        content = path.read_bytes()
        assert (tmp_path / "again" / path.name).read_bytes() == content, path.name
        if path.suffix == ".py":
            own = [ROOT / folder / path.name for folder in ("modeling", "pipeline")]
            assert [place.read_bytes() for place in own if place.exists()] == [content], path.name
        elif path.suffix == ".json":
            for local in (tiny_checkpoint, str(exported), str(ROOT), "local_files_only", "is_local", "_name_or_path"):
                assert local not in content.decode(), path.name


def test_weights_are_stored_in_16_bits_unless_told_otherwise(exported, tiny_checkpoint, tmp_path):
    command = ["--output", str(tmp_path / "32"), "--model", tiny_checkpoint, "--stored-bits", "32"]
    assert commands.run("export", command) == 0
    half, full, trained = (
        load_file(Path(folder) / "model.safetensors") for folder in (exported, tmp_path / "32", tiny_checkpoint)
    )
    assert all(torch.equal(full[name], trained[name]) for name in trained)
    assert all(torch.equal(half[name], trained[name].half()) for name in trained)
    ship(tiny_checkpoint, tmp_path / "shipped")
    assert commands.run("export", ["--output", str(tmp_path / "out"), "--model", str(tmp_path / "shipped")]) == 0
    assert "stored as F16, read as float32" in weights_line(tmp_path / "out")
    restore, original = (pipeline("punctuation-restoration", model=str(tmp_path / name)) for name in ("out", "shipped"))
    assert restore.model.dtype == torch.float32
    assert restore(TEXT) == original(TEXT)


def test_8_bits_are_stored_where_asked_and_kept_by_the_next_export(tiny_checkpoint, exported, tmp_path):
    places = [tmp_path / "first", tmp_path / "second"]
    command = ["--output", str(places[0]), "--model", tiny_checkpoint, "--stored-bits", "8"]
    assert commands.run("export", command) == 0
    exporting.export(places[1], places[0])
    sizes = [Path(place, "model.safetensors").stat().st_size for place in (tiny_checkpoint, *places)]
    assert sizes[1] == sizes[2] < sizes[0] / 2
    restored = [pipeline("punctuation-restoration", model=str(place), device="cpu")(TEXT) for place in places]
    assert restored[0] == restored[1]
    with pytest.raises(SystemExit):
        commands.run("export", [*command[:-1], "4"])


def test_a_checkpoint_of_a_training_run_is_exported_without_the_state_of_the_training_and_with_its_readme(
    exported, tiny_checkpoint, tiny_pipeline, tmp_path, monkeypatch
):
    own = shutil.copytree(tiny_checkpoint, tmp_path / "step-000500")
    for name in ("trainer.pt", "optimizer.pt", "training_args.bin", "trainer_state.json"):
        (own / name).write_bytes(b"state")
    (own / "README.md").write_text("# 我们的卡\n", encoding="utf-8")
    names = {path.name for path in exporting.export(tmp_path / "out", own)}
    assert names == {path.name for path in exported.iterdir()}
    assert (tmp_path / "out" / "README.md").read_text(encoding="utf-8") == "# 我们的卡\n"
    assert pipeline("punctuation-restoration", model=str(tmp_path / "out"))(TEXT)["text"] == tiny_pipeline(TEXT)["text"]
    # A model without a card gets a short one, the default model the project's.
    assert 'pipeline("punctuation-restoration"' in (exported / "README.md").read_text(encoding="utf-8")
    monkeypatch.setattr("punctuation_restoration.default_models.place_of", lambda _: str(own))
    exporting.export(tmp_path / "default", own)
    assert (tmp_path / "default" / "README.md").read_bytes() == (ROOT / "model_card.md").read_bytes()


NOTED = {
    "base_model": "me/encoder", "license": "mit", "languages": ["id", "xx"], "started_from": "/home/me/first",
    "n_words": 17_395, "steps": 96, "validation": {"languages": {"id": {"f1": 91.04, "COMMA": 80.0, "n_words": 2_831}}},
    "validation_before": {"languages": {"id": {"f1": 28.0}}},
}  # fmt: skip


def test_a_trained_model_gets_a_readme_of_what_its_training_noted_and_an_edited_one_stays(
    tiny_checkpoint, tmp_path, capsys
):
    trained, out = shutil.copytree(tiny_checkpoint, tmp_path / "best"), tmp_path / "my-model"
    (trained / "training.json").write_text(json.dumps(NOTED))
    assert commands.run("export", ["--output", str(out), "--model", str(trained)]) == 0
    readme = (out / "README.md").read_text(encoding="utf-8")
    head = ModelCard(readme).data.to_dict()
    assert (head["language"], head["license"], head["base_model"]) == (["id"], "mit", "me/encoder")
    assert "| id | 2,831 | 28.0 | 91.0 | 80.0 | – | – |" in readme
    assert 'model="my-model"' in readme
    assert "/home/me" not in readme
    assert "training.json" not in {path.name for path in out.iterdir()}
    (trained / "training.json").write_text(json.dumps({**NOTED, "base_model": HUB_MODEL}))
    for name in NOTICES:
        (trained / name).write_text("terms")
    exporting.export(out, trained, replace=True, repository="me/it")  # nobody has edited it: a new one
    readme = (out / "README.md").read_text(encoding="utf-8")
    head = ModelCard(readme).data.to_dict()
    assert (head["license_name"], head["base_model"]) == ("gemma-and-cc-by-nc-4.0", HUB_MODEL)
    assert "Gemma Terms of Use found at ai.google.dev/gemma/terms" in readme
    assert 'model="me/it"' in readme
    for unmeasured in ({}, {"languages": {}, "mean_f1": 0.0}):
        (trained / "training.json").write_text(json.dumps({**NOTED, "validation": unmeasured}))
        exporting.export(tmp_path / "unmeasured", trained, replace=True)
        assert "F1" not in (tmp_path / "unmeasured" / "README.md").read_text(encoding="utf-8")
    edited = readme.replace("## How to use", "## Tried on my talks")
    (out / "README.md").write_text(edited, encoding="utf-8")
    capsys.readouterr()
    exporting.export(out, trained, replace=True)
    assert (out / "README.md").read_text(encoding="utf-8") == edited
    assert "has been edited: it stays" in capsys.readouterr().out


def test_the_command_makes_the_repository_and_sends_the_folder(tiny_checkpoint, tmp_path, monkeypatch, capsys):
    sent = {}

    class Hub:
        def create_repo(self, name, exist_ok):
            assert exist_ok
            return type("Url", (), {"repo_id": f"me/{name}"})

        def upload_folder(self, repo_id, folder_path):
            sent[repo_id] = sorted(path.name for path in Path(folder_path).iterdir())
            return f"https://hub/{repo_id}"

    monkeypatch.setattr("huggingface_hub.HfApi", Hub)
    out = tmp_path / "out"
    assert commands.run("export", ["--output", str(out), "--model", tiny_checkpoint, "--push-to-hub", "mine"]) == 0
    assert sent == {"me/mine": sorted(path.name for path in out.iterdir())}
    said = capsys.readouterr().out
    assert said.startswith(f"{out}: {len(sent['me/mine'])} files, ")
    assert said.endswith("https://hub/me/mine\n")
    monkeypatch.setattr(Hub, "create_repo", lambda *_, **__: 1 / 0)  # as the network fails, with errors of its own
    assert (
        commands.run("export", ["--output", str(out), "--model", tiny_checkpoint, "--force", "--push-to-hub", "mine"])
        == 1
    )
    assert f"Run `hf upload mine {out}` when it works again" in capsys.readouterr().err


def test_an_earlier_export_is_replaced_when_asked_and_nothing_else_ever(exported, tiny_checkpoint, tmp_path, capsys):
    out = shutil.copytree(exported, tmp_path / "out")
    (out / "old_module.py").write_text("")
    with pytest.raises(FileExistsError, match="--force"):
        exporting.export(out, tiny_checkpoint)
    exporting.export(out, tiny_checkpoint, replace=True)
    assert {path.name for path in out.iterdir()} == {path.name for path in exported.iterdir()}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    for foreign in (out / ".git", tmp_path / "trained"):  # what is under version control, and the result of a training
        shutil.copytree(tiny_checkpoint, foreign)
        shutil.copy(out / "restoration_pipeline.py", foreign)
        with pytest.raises(FileExistsError, match="it holds something else"):
            exporting.export(foreign.parent if foreign.name == ".git" else foreign, tiny_checkpoint, replace=True)
        shutil.rmtree(foreign)
    with pytest.raises(FileExistsError, match="the model's own"):
        exporting.export(out, out, replace=True)
    (tmp_path / "thesis.txt").write_text("years of work")
    for force in ([], ["--force"]):
        assert commands.run("export", ["--output", str(tmp_path), "--model", tiny_checkpoint, *force]) == 1
        assert "Expected" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"out", "thesis.txt"}


def test_an_old_folder_stays_until_the_new_one_is_in_its_place(tmp_path, monkeypatch):
    def write(then):
        with contextlib.suppress(OSError, SystemExit), whole_files.written_whole(tmp_path / "out") as beside:
            beside.mkdir()
            (beside / "new").write_text("")
            monkeypatch.setattr(Path, "replace", then)

    (tmp_path / "out").mkdir()
    write(lambda *_: os.open("nowhere", os.O_RDONLY))  # as where a file in it is open on Windows
    assert [path.name for path in tmp_path.rglob("*")] == ["out"]
    monkeypatch.undo()
    killed = tmp_path / ".out.x.part"  # between moving the old one away and the new one in
    (tmp_path / "out").rename(tmp_path / "old")
    shutil.copytree(tmp_path / "old", killed / " replaced")
    (killed / "out" / "new").mkdir(parents=True)
    whole_files.remove_unfinished(tmp_path, "out")
    assert {path.name for path in tmp_path.rglob("*")} == {"old", "out", "new"}


def test_a_link_to_a_folder_stays_and_its_folder_gets_the_new_content(tmp_path):
    (tmp_path / "disk" / "old").mkdir(parents=True)
    link = tmp_path / "here" / "model"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "disk")
    with whole_files.written_whole(link) as beside:
        beside.mkdir()
        (beside / "new").write_text("")
    assert link.is_symlink()
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["new"]
    assert [path.name for path in link.parent.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("part", "said"), [("tiny_config", "train.py"), ("tiny_model", "okenizer")], ids=["an encoder", "no tokenizer"]
)
def test_what_is_no_whole_model_is_refused_and_leaves_nothing_behind(part, said, request, tmp_path, capsys):
    model = request.getfixturevalue(part)
    (model.encoder_config if part == "tiny_config" else model).save_pretrained(tmp_path / "model")
    assert commands.run("export", ["--output", str(tmp_path / "out"), "--model", str(tmp_path / "model")]) == 1
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ("version https://git-lfs.github.com/spec/v1\n", r"^Expected safetensors weights in .*Download or copy"),
        ("", r"^Expected safetensors weights in .*Download or copy"),
        (None, r"no file named model\.safetensors.*Give a folder with all files of a model"),
    ],
)
def test_weights_that_are_damaged_or_missing_are_named_whatever_transformers_says(
    weights, said, tiny_checkpoint, tmp_path
):
    shutil.copytree(tiny_checkpoint, tmp_path / "model")
    (path,) = (tmp_path / "model").glob("*.safetensors")
    path.unlink()
    if weights is not None:
        path.write_text(weights)
    with pytest.raises(ModelError, match=said):
        load_pipeline(str(tmp_path / "model"))


def test_a_pipeline_is_not_saved_over_a_file(tiny_pipeline, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="Expected a folder"):
        tiny_pipeline.save_pretrained(tmp_path / "file")
