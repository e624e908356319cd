"""Writes a model folder exactly as it goes to the Hub; `hf upload` sends it.

    python -m punctuation_restoration.export OUT --model runs/my-model/best
    python -m punctuation_restoration.export OUT --backend onnx-int8

Takes a trained model (a folder, a checkpoint of a training run, or a name on the Hub); gives a folder with weights,
tokenizer, configuration, the code that runs them, a README and the licence of the code. Weights that half precision
holds exactly, as those of a shipped checkpoint, are stored in it, at half the size, and read back as the configuration
says: fp32. It does not know what is in the code: `save_pretrained` of the pipeline collects that. What the Hub gets is
what stands in the folder.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, pipeline
from transformers.utils import logging

from punctuation_restoration.pipeline.backends import FILES
from punctuation_restoration.pipeline.onnx_export import export_onnx
from punctuation_restoration.pipeline.restoration_pipeline import TASK
from punctuation_restoration.registration import CHECKOUT_MODEL, DEFAULT_MODEL, HUB_MODEL
from punctuation_restoration.whole_files import written_whole

# How this machine loaded a tokenizer is no business of those who download it.
LOCAL_KEYS = ("is_local", "local_files_only", "name_or_path", "_name_or_path", "cache_dir", "token")


def export(
    output: str | Path,
    model: str | Path | None = None,
    *,
    replace: bool = False,
    backends: Sequence[str] = (),
) -> list[Path]:
    """Write the folder, whole or not at all; gives the files in it, by name.

    Args:
        output: the folder to write.
        model: folder or Hub id of the model; None for the default model. Its README is the project's model card; other
            models keep the one beside their weights, or get a short card made here.
        replace: whether an earlier export may be replaced.
        backends: backends whose files are written as well, so that their first use need not.

    Raises:
        FileExistsError: if there is something at `output` that may not be replaced.
        OSError, ValueError: if the model or its tokenizer cannot be read; as transformers tells it.
        ImportError: if a package is missing that a backend needs.
    """
    output, source = Path(output).absolute(), str(model or DEFAULT_MODEL)
    check_place(output, source, replace, ("config.json", "restoration_pipeline.py"))
    restore: Any = _load(source)
    card = Path(source) / "README.md"
    if source == HUB_MODEL or Path(source).resolve() == CHECKOUT_MODEL:
        card = project_file("model_card.md")
    readme = card.read_text(encoding="utf-8") if card.is_file() else _short_card(restore.model.config)
    with written_whole(output) as folder:
        restore.save_pretrained(folder)
        _store_small(folder / "model.safetensors")
        (folder / "README.md").write_text(readme, encoding="utf-8")
        shutil.copyfile(project_file("LICENSE"), folder / "LICENSE")
        for name in ("config.json", "tokenizer_config.json"):
            _forget_this_machine(folder / name)
        for backend in backends:
            export_onnx(restore.model, folder / FILES[backend], restore.slots.pad_id, backend == "onnx-int8")
        for path in folder.rglob("*.*"):
            path.chmod(0o644)  # safetensors writes for the owner alone
    return sorted(path for path in output.rglob("*") if path.is_file())


def project_file(name: str) -> Path:
    """A file of the project: inside the package in a wheel, beside it in a checkout."""
    here = Path(__file__).resolve().parent
    return here / name if (here / name).is_file() else here.parent / name


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if all went well, 2 where something was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m punctuation_restoration.export", description=(__doc__ or "").partition("\n\n")[0]
    )
    add = parser.add_argument
    add("output", type=Path, help="folder to write")
    add("--model", help="folder or Hub id of the model (default: the one that the pipeline loads)")
    add("--force", action="store_true", help="replace an earlier export")
    add("--backend", nargs="+", default=[], choices=list(FILES), help="write the files of these backends as well")
    args = parser.parse_args(argv)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        files = export(args.output, args.model, replace=args.force, backends=args.backend)
        size = sum(path.stat().st_size for path in files) / 1e6
        print(f"{args.output}: {len(files)} files, {size:.1f} MB. Send them with `hf upload REPO {args.output}`.")
    except (OSError, ValueError, ImportError) as error:
        print(f"export: {error}", file=sys.stderr)
        return 2
    return 0


def check_place(output: Path, source: str, replace: bool, expected: Sequence[str]) -> None:
    """Raises a FileExistsError for a place that may not be replaced, or that holds anything but an earlier export."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if source and Path(source).is_dir() and Path(source).resolve() == output.resolve():
        raise FileExistsError(f"Expected another folder than the model's own, got {output}. Name a new one.")
    if not replace:
        raise FileExistsError(f"Expected a new folder, {output} exists. Name another, or replace it with --force.")
    if not all((output / name).is_file() for name in expected):
        raise FileExistsError(f"Expected an earlier export in {output}, it holds something else. Name another folder.")


def _load(source: str) -> Any:
    """The pipeline on the CPU, in the precision that its configuration names; pickled weights are not read.

    The configuration is asked first: of another model transformers would say only that the task does not fit.
    """
    config = AutoConfig.from_pretrained(source)
    if config.model_type != TASK:
        raise ValueError(
            f"Expected a model of type {TASK} in {source}, got one of type {config.model_type}. Train one from it "
            "with train.py, or give the folder of a trained one."
        )
    build: Any = pipeline  # its overloads name only the tasks of transformers itself
    return build(TASK, model=source, device="cpu", model_kwargs={"use_safetensors": True})


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


def _store_small(path: Path) -> None:
    """Store fp32 weights in half precision if no bit of them is lost; others are left alone."""
    if not path.is_file():  # several files, of a model far larger than ours
        return
    weights = load_file(path)
    halves = {name: weight.half() for name, weight in weights.items() if weight.dtype == torch.float32}
    if halves.keys() == weights.keys() and all(torch.equal(halves[name].float(), weights[name]) for name in halves):
        save_file(halves, path, metadata={"format": "pt"})  # transformers asks for the format


def _forget_this_machine(path: Path) -> None:
    """Take out of a configuration, and of those inside it, what tells where and how it was loaded."""
    text = path.read_text(encoding="utf-8")
    cleaned = json.loads(text, object_pairs_hook=lambda pairs: {k: v for k, v in pairs if k not in LOCAL_KEYS})
    if cleaned != json.loads(text):
        path.write_text(json.dumps(cleaned, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
