"""Writes a model folder exactly as it goes to the Hub, and sends it there.

    python -m punctuation_restoration.export OUT --model runs/my-model/best
    python -m punctuation_restoration.export OUT --push me/my-model --dry-run

Takes a trained model (a folder, a checkpoint of a training run, or a name on the Hub); gives a folder with weights,
tokenizer, configuration, the code that runs them, a README and the licence of the code. It does not know what is in
the code: `save_pretrained` of the pipeline collects that. What the Hub gets is what stands in the folder.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi
from transformers import AutoConfig, pipeline
from transformers.utils import logging

from punctuation_restoration.pipeline.restoration_pipeline import TASK
from punctuation_restoration.registration import CHECKOUT_MODEL, DEFAULT_MODEL, HUB_MODEL

# How this machine loaded a tokenizer is no business of those who download it.
LOCAL_KEYS = ("is_local", "local_files_only", "name_or_path", "_name_or_path", "cache_dir", "token")
CONFIGURATIONS = ("config.json", "tokenizer_config.json")


def export(
    output: str | Path,
    model: str | Path | None = None,
    *,
    revision: str | None = None,
    card: str | Path | None = None,
    replace: bool = False,
) -> list[Path]:
    """Write the folder: whole, or not at all.

    Args:
        output: the folder to write.
        model: folder or Hub id of the model; None for the default model.
        revision: revision on the Hub.
        card: the file that becomes README.md. Without it: the project's model card for the default model, for others
            the README beside their weights, or a short card made here.
        replace: whether an earlier export may be replaced.

    Returns:
        The files written, by name.

    Raises:
        FileExistsError: if there is something at `output` that may not be replaced.
        OSError, ValueError: if the model, its tokenizer or the card cannot be read; as transformers tells it.
    """
    output, source = Path(output).absolute(), str(model or DEFAULT_MODEL)
    _check_place(output, source, replace)
    restore: Any = _load(source, revision)
    readme = _card_text(restore, source, Path(card) if card else None)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}-") as beside:
        folder = Path(beside) / output.name
        restore.save_pretrained(folder)
        (folder / "README.md").write_text(readme, encoding="utf-8")
        shutil.copyfile(project_file("LICENSE"), folder / "LICENSE")
        for name in CONFIGURATIONS:
            _forget_this_machine(folder / name)
        for path in folder.iterdir():
            path.chmod(0o644)  # safetensors writes for the owner alone
        if output.exists():
            os.rename(output, Path(beside) / "replaced")
        os.rename(folder, output)
    return sorted(output.iterdir())


def push(
    folder: str | Path, repo_id: str, *, private: bool | None = None, message: str = "", tag: str | None = None
) -> str:
    """Send an exported folder to the Hub, all of it in one commit, and return its address.

    With `tag` the commit gets a name, such as `v0.1.0`, by which users can ask for exactly this state.

    Raises:
        OSError: without a network, without a token, or without the right to write; as huggingface_hub tells it.
    """
    api = HfApi()
    repo_id = api.create_repo(repo_id, private=private, exist_ok=True).repo_id
    commit = api.upload_folder(
        repo_id=repo_id, folder_path=folder, commit_message=message or "Upload punctuation model"
    )
    if tag:
        api.create_tag(repo_id, tag=tag)
    return str(commit)


def project_file(name: str) -> Path:
    """A file of the project: inside the package in a wheel, beside it in a checkout.

    Raises:
        FileNotFoundError: if this installation lacks it.
    """
    here = Path(__file__).resolve().parent
    for place in (here / name, here.parent / name):
        if place.is_file():
            return place
    raise FileNotFoundError(f"Expected {name} in {here} or beside it, found none. Install the package again.")


def listing(files: Sequence[Path]) -> str:
    """Names and sizes, one file a line, and their sum."""
    rows = [(path.name, path.stat().st_size) for path in files]
    rows.append((f"{len(files)} files", sum(size for _, size in rows)))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {_readable(size):>9}" for name, size in rows)


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m punctuation_restoration.export", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument("--model", help="folder or Hub id of the model (default: the one that the pipeline loads)")
    parser.add_argument("--revision", help="revision of the model on the Hub")
    parser.add_argument("--card", type=Path, help="file that becomes README.md")
    parser.add_argument("--force", action="store_true", help="replace an earlier export")
    sending = parser.add_argument_group("sending it to the Hub (log in with `hf auth login` first)")
    sending.add_argument("--push", metavar="REPO", help="send the folder to this repository, such as me/my-model")
    sending.add_argument("--private", action="store_true", help="if the repository is new, make it private")
    sending.add_argument("--message", default="", help="message of the commit")
    sending.add_argument("--tag", help="name of this state, such as v0.1.0, for users to pin")
    sending.add_argument("--dry-run", action="store_true", help="with --push: tell what would be sent, send nothing")
    args = parser.parse_args(argv)
    if args.dry_run and not args.push:
        parser.error("Expected --push REPO beside --dry-run, got none. Without --push nothing is sent anyway.")
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if all went well, 2 where something was wrong."""
    args = parse_args(argv)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        files = export(args.output, args.model, revision=args.revision, card=args.card, replace=args.force)
        print(f"{args.output}\n{listing(files)}")
        if args.push and args.dry_run:
            print(f"These files would go to https://huggingface.co/{args.push}; nothing was sent.")
        elif args.push:
            print(push(args.output, args.push, private=args.private or None, message=args.message, tag=args.tag))
    except (OSError, ValueError) as error:
        print(f"export: {error}", file=sys.stderr)
        return 2
    return 0


def _check_place(output: Path, source: str, replace: bool) -> None:
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if Path(source).is_dir() and Path(source).resolve() == output.resolve():
        raise FileExistsError(f"Expected another folder than the model's own, got {output}. Name a new one.")
    if not replace:
        raise FileExistsError(f"Expected a new folder, {output} exists. Name another, or replace it with --force.")
    if not (output / "config.json").is_file() or not (output / "restoration_pipeline.py").is_file():
        raise FileExistsError(f"Expected an earlier export in {output}, it holds something else. Name another folder.")


def _load(source: str, revision: str | None) -> Any:
    """The pipeline on the CPU, in the precision that its configuration names; pickled weights are not read.

    The configuration is asked first: of another model transformers would say only that the task does not fit.
    """
    config = AutoConfig.from_pretrained(source, revision=revision)
    if config.model_type != TASK:
        raise ValueError(
            f"Expected a model of type {TASK} in {source}, got one of type {config.model_type}. Train one from it "
            "with train.py, or give the folder of a trained one."
        )
    build: Any = pipeline  # its overloads name only the tasks of transformers itself
    return build(TASK, model=source, revision=revision, device="cpu", model_kwargs={"use_safetensors": True})


def _card_text(restore: Any, source: str, card: Path | None) -> str:
    """The text of the README."""
    if card is not None:
        return card.read_text(encoding="utf-8")
    if source == HUB_MODEL or Path(source).resolve() == CHECKOUT_MODEL:
        return project_file("model_card.md").read_text(encoding="utf-8")
    own = Path(source) / "README.md"
    return own.read_text(encoding="utf-8") if own.is_file() else _short_card(restore.model.config)


def _short_card(config: Any) -> str:
    """A card for a model of which we know only the configuration."""
    marks = ", ".join(f"`{label['before']}…{label['after']}`" for label in config.labels[1:])
    return (
        "---\nlibrary_name: transformers\npipeline_tag: token-classification\ntags:\n- punctuation-restoration\n---\n\n"
        "# Punctuation restoration\n\n"
        f"Writes {marks} into text that has none, and changes nothing else.\n\n"
        "```python\nfrom transformers import pipeline\n\n"
        f'restore = pipeline("{TASK}", model="this/repository", trust_remote_code=True)\n'
        'print(restore("how are you")["text"])\n```\n\n'
        "Mandarin text needs `pip install jieba`. Where the package `punctuation-restoration` is installed and "
        "imported, `trust_remote_code` is not needed.\n\n"
        "The code in this folder is under the Apache License 2.0 (`LICENSE`). Languages, training data, results, "
        "limits and the licence of the weights are for those to tell who trained them.\n"
    )


def _forget_this_machine(path: Path) -> None:
    """Take out of a configuration, and of those inside it, what tells where and how it was loaded."""
    settings = json.loads(path.read_text(encoding="utf-8"))
    cleaned = _without_local_keys(settings)
    if cleaned != settings:
        path.write_text(json.dumps(cleaned, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _without_local_keys(settings: Any) -> Any:
    if not isinstance(settings, dict):
        return settings
    return {key: _without_local_keys(value) for key, value in settings.items() if key not in LOCAL_KEYS}


def _readable(size: int) -> str:
    """Bytes as the Hub shows them, in powers of ten."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1e3:.1f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"


if __name__ == "__main__":
    sys.exit(main())
