"""Writes a model's folder as the Hub holds it, and uploads it if asked to.

    punctuation-restoration export --model runs/my-model/best --output hub/
    punctuation-restoration export --output hub/ --stored-bits 8 --backend onnx-int8 --push-to-hub me/my-model

Takes a trained model: a folder, a checkpoint of a training run, or a Hub id. Gives a folder with weights, tokenizer,
configuration, the code that runs them, a README and the licence of the code. Weights that half precision holds exactly
are stored in it, at half the size; the configuration says that they are read as fp32.
"""

import argparse
import json
import shutil
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from .default_models import HUB_MODEL, find_model, place_of
from .loading import add_trust_option, load_pipeline
from .whole_files import written_whole

TASK = "punctuation-restoration"
LOCAL_KEYS = (
    "is_local",
    "local_files_only",
    "name_or_path",
    "_name_or_path",
    "cache_dir",
    "token",
)  # of this machine
SHORT_CARD = f"""---
library_name: transformers
pipeline_tag: token-classification
tags: [punctuation-restoration]
---

Writes {{marks}} into text that has none, and changes nothing else. Mandarin text needs `pip install jieba`.

    from transformers import pipeline

    restore = pipeline("{TASK}", model="this/repository", trust_remote_code=True)
    print(restore("how are you")["text"])

The code here is under the Apache License 2.0 (`LICENSE`). Please add: languages, training data, results, limits and the
licence of the weights.
"""


def export(
    output: str | Path,
    model: str | Path | None = None,
    *,
    replace: bool = False,
    backends: Sequence[str] = (),
    stored_bits: int | None = None,
    trust_remote_code: bool = False,
) -> list[Path]:
    """Write the folder, whole or not at all; gives the files in it, by name.

    Args:
        output: the folder to write.
        model: folder or Hub id. Default: the default model, whose README is the project's model card; other models keep
            the README beside their weights, or get a short one.
        replace: whether an earlier export may be replaced.
        backends: `"onnx"` or `"onnx-int8"`, whose files are written too, so that their first use need not write them.
        stored_bits: 8 stores the encoder in 8 bits, a quarter of the size. Default: as it is stored now.
        trust_remote_code: whether Python code beside the model may run.

    Raises:
        FileExistsError: there is something at `output` that may not be replaced.
        OSError, ModelError, ValueError: the model or its tokenizer cannot be read.
        ImportError: a package is missing that a backend needs.
    """
    from transformers import AutoConfig
    from transformers.utils import cached_file

    from .pipeline.backends import FILES
    from .pipeline.onnx_export import export_onnx

    output, source = Path(output).absolute(), find_model(str(model) if model else None)
    check_place(output, source, replace, ("config.json", "restoration_pipeline.py", "LICENSE"))
    config = AutoConfig.from_pretrained(source, trust_remote_code=trust_remote_code)
    if config.model_type != TASK:
        what_to_do = "Train one from it with train.py, or give the folder of a trained one."
        got = f"one of type {config.model_type}"
        raise ValueError(f"Expected a model of type {TASK} in {source}, got {got}. {what_to_do}")
    restore = load_pipeline(
        source,
        "cpu",
        trust_remote_code=trust_remote_code,
        model_kwargs={"use_safetensors": True},  # pickled weights are not read
    )
    is_ours = source == HUB_MODEL or Path(source).resolve() == Path(place_of(HUB_MODEL)).resolve()
    beside = (
        None
        if is_ours
        else cached_file(source, "README.md", _raise_exceptions_for_missing_entries=False)
    )
    card = project_file("model_card.md") if is_ours else Path(beside or "")
    marks = ", ".join(
        f"`{label['before']}…{label['after']}`" for label in restore.model.config.labels[1:]
    )
    readme = card.read_text(encoding="utf-8") if card.is_file() else SHORT_CARD.format(marks=marks)
    with written_whole(output) as folder:
        restore.save_pretrained(folder, stored_bits=stored_bits or config.stored_bits)
        _store_small(folder / "model.safetensors")
        (folder / "README.md").write_text(readme, encoding="utf-8")
        shutil.copyfile(project_file("LICENSE"), folder / "LICENSE")
        for name in ("config.json", "tokenizer_config.json"):
            _forget_this_machine(folder / name)
        # From what the folder gives back: 8 bits round, and a file holds for the weights that it lies beside alone.
        stored = load_pipeline(str(folder), "cpu", dtype="float32").model if backends else None
        for backend in backends:
            export_onnx(
                stored, folder / FILES[backend], restore.slots.pad_id, backend == "onnx-int8"
            )
        for path in filter(Path.is_file, folder.rglob("*")):
            path.chmod(0o644)  # safetensors writes for the owner alone
    return sorted(path for path in output.rglob("*") if path.is_file())


def project_file(name: str) -> Path:
    """LICENSE or the model card: at the root of a checkout, or among the licence files of what is installed."""
    root = Path(__file__).resolve().parents[1]
    if (root / "pyproject.toml").is_file():
        return root / name
    installed = metadata.files("punctuation-restoration") or ()
    return next(Path(str(file.locate())) for file in installed if file.match(f"licenses/{name}"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command: 0 if all went well, 1 after an error message. A wrong command line ends with 2."""
    from .cli.commands import finish

    about = (__doc__ or "").partition("\n\n")[0]
    parser = argparse.ArgumentParser(prog="punctuation-restoration export", description=about)
    add = parser.add_argument
    add("--output", type=Path, required=True, help="folder to write")
    add(
        "--model",
        help="folder or Hub id; fast for the fast model (default: the one that the pipeline loads)",
    )
    add("--force", action="store_true", help="replace an earlier export")
    add(
        "--backend",
        nargs="+",
        default=[],
        choices=("onnx", "onnx-int8"),
        help="write the files of these too",
    )
    add(
        "--stored-bits",
        type=int,
        choices=(8,),
        help="store the encoder in 8 bits, a quarter of the size",
    )
    add("--push-to-hub", metavar="NAME", help="upload the folder to this repository, such as me/my-model; it is made "
        "if need be. Log in before with `hf auth login`.")  # fmt: skip
    add_trust_option(parser)
    args = parser.parse_args(argv)
    return finish("export", lambda: _export(args))


def _export(args: argparse.Namespace) -> None:
    """Write the folder, and upload it if asked to."""
    files = export(
        args.output,
        args.model,
        replace=args.force,
        backends=args.backend,
        stored_bits=args.stored_bits,
        trust_remote_code=args.trust_remote_code,
    )
    print(
        f"{args.output}: {len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB."
    )
    if args.push_to_hub:
        from huggingface_hub import HfApi

        try:
            repository = HfApi().create_repo(args.push_to_hub, exist_ok=True).repo_id
            print(HfApi().upload_folder(repo_id=repository, folder_path=args.output))
        except Exception as error:  # of the network: their classes change between versions
            wanted = f"to upload {args.output}, which is whole"
            what_to_do = f"Run `hf upload {args.push_to_hub} {args.output}` when it works again."
            raise ConnectionError(f"Expected {wanted}, got: {error}. {what_to_do}") from error


def check_place(output: Path, source: str, replace: bool, expected: Sequence[str]) -> None:
    """Raises a FileExistsError for a place that may not be replaced, or that holds anything but an earlier export."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if source and Path(source).resolve() == output.resolve():
        raise FileExistsError(
            f"Expected another folder than the model's own, got {output}. Name a new one."
        )
    if not replace:
        raise FileExistsError(
            f"Expected a new folder, {output} exists. Name another, or replace it with --force."
        )
    has_more = any(path.name.startswith(".") for path in output.iterdir())  # such as `.git`
    if has_more or not all((output / name).is_file() for name in expected):
        raise FileExistsError(
            f"Expected an earlier export in {output}, it holds something else. Name another folder."
        )


def _store_small(path: Path) -> None:
    """Store fp32 weights in half precision if that changes none of them."""
    import torch
    from safetensors.torch import load_file, save_file

    weights = (
        load_file(path) if path.is_file() else {}
    )  # a model of many gigabytes has several files
    halves = {
        name: weight.half() for name, weight in weights.items() if weight.dtype == torch.float32
    }
    is_exact = all(torch.equal(halves[name].float(), weights[name]) for name in halves)
    if weights and is_exact and weights.keys() == halves.keys():
        save_file(halves, path, metadata={"format": "pt"})  # transformers asks for the format


def _forget_this_machine(path: Path) -> None:
    """Remove from a configuration, and from those inside it, where and how it was loaded."""
    text = path.read_text(encoding="utf-8")
    cleaned = json.loads(
        text, object_hook=lambda one: {key: one[key] for key in one if key not in LOCAL_KEYS}
    )
    path.write_text(json.dumps(cleaned, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
