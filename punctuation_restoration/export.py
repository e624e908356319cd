"""Writes a model's folder as the Hub holds it, and uploads it if asked to.

    punctuation-restoration export --model runs/my-model/best --output hub/
    punctuation-restoration export --output hub/ --stored-bits 8 --backend onnx-int8 --push-to-hub me/my-model

Takes a trained model: a folder, a checkpoint of a training run, or a Hub id. Gives a folder with weights, tokenizer,
configuration, the code that runs them, a README and the licence of the code. Weights are stored in 16 bits unless told
otherwise; the configuration says that they are read as fp32.
"""

import argparse
import json
import shutil
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from .default_models import HUB_MODEL, ROOT, find_model, hub_name
from .generated_card import TERMS_FILE, is_edited, read_origin, written_card
from .loading import add_trust_option, load_pipeline
from .whole_files import written_whole

TASK = "punctuation-restoration"
# Of this machine.
LOCAL_KEYS = "is_local local_files_only name_or_path _name_or_path cache_dir token".split()


def export(
    output: str | Path,
    model: str | Path | None = None,
    *,
    replace: bool = False,
    backends: Sequence[str] = (),
    stored_bits: int | None = None,
    trust_remote_code: bool = False,
    repository: str | None = None,
) -> list[Path]:
    """Write the folder, whole or not at all; gives the files in it, by name.

    Args:
        output: the folder to write.
        model: folder or Hub id. Default: the default model, whose README is the project's model card; other models keep
            the README beside their weights, or get one that says what their training noted.
        replace: whether an earlier export may be replaced; a README in it that was edited stays.
        backends: `"onnx"` or `"onnx-int8"`, whose files are written too, so that their first use need not write them.
        stored_bits: of a weight: 32; 16, half of the size; or 8 for those of the encoder, a quarter. Default: 8 if it
            is stored so now, or 16.
        trust_remote_code: whether Python code beside the model may run.
        repository: name under which the README loads the model. Default: that of the folder.

    Raises:
        FileExistsError: there is something at `output` that may not be replaced.
        OSError, ModelError, ValueError: the model or its tokenizer cannot be read.
        ImportError: a package is missing that a backend needs.
    """
    output, source = Path(output).absolute(), find_model(str(model) if model else None)
    check_place(output, source, replace, ("config.json", "restoration_pipeline.py", "LICENSE"))
    from transformers import AutoConfig

    from .pipeline.backends import FILES
    from .pipeline.onnx_export import export_onnx

    config = AutoConfig.from_pretrained(source, trust_remote_code=trust_remote_code)
    if config.model_type != TASK:
        raise ValueError(
            f"Expected a model of type {TASK} in {source}, got one of type {config.model_type}. Train one from it with "
            "train.py, or give the folder of a trained one."
        )
    restore = load_pipeline(
        source,
        "cpu",
        trust_remote_code=trust_remote_code,
        model_kwargs={"use_safetensors": True},  # pickled weights are not read
    )
    earlier = output / "README.md"
    kept = earlier.read_text(encoding="utf-8") if earlier.is_file() else ""
    bits = stored_bits or config.stored_bits or 16
    with written_whole(output) as folder:
        weights = restore.model.state_dict() if bits == 16 else {}
        restore.save_pretrained(
            folder,
            stored_bits=8 if bits == 8 else None,
            state_dict={name: _in_16_bits(weight) for name, weight in weights.items()} or None,
        )
        readme = own_readme(source) or written_card(
            read_origin(source),
            restore.model.config.labels,
            repository or output.name,
            has_terms=(folder / TERMS_FILE).is_file(),
        )
        if kept not in ("", readme) and is_edited(kept):
            print(f"{earlier} has been edited: it stays. Remove it to get a new one.")
            readme = kept
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


def own_readme(source: str) -> str | None:
    """The README of a model that has one: the project's card for the default model, or the one beside the weights."""
    from transformers.utils import cached_file

    if hub_name(source) == HUB_MODEL:
        return project_file("model_card.md").read_text(encoding="utf-8")
    beside = cached_file(source, "README.md", _raise_exceptions_for_missing_entries=False)
    return Path(beside).read_text(encoding="utf-8") if beside else None


def project_file(name: str) -> Path:
    """LICENSE or the model card: at the root of a checkout, or among the licence files of what is installed."""
    if (ROOT / "pyproject.toml").is_file():
        return ROOT / name
    installed = metadata.files("punctuation-restoration") or ()
    return next(Path(str(file.locate())) for file in installed if file.match(f"licenses/{name}"))


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="punctuation-restoration export",
        description="Write a model's folder as the Hub holds it, and upload it if asked to.",
    )
    add = parser.add_argument
    add("--output", type=Path, required=True, help="folder to write")
    add(
        "--model",
        help="folder or Hub id; fast for the fast model (default: the one that the pipeline loads)",
    )
    add("--force", dest="replace", action="store_true", help="replace an earlier export")
    add("--backend", dest="backends", nargs="+", default=[], choices=("onnx", "onnx-int8"),
        help="write the files of these too")  # fmt: skip
    add("--stored-bits", type=int, choices=(8, 16, 32),
        help="store weights so; 8 is of the encoder (default: 8 where it is stored so now, or 16)")  # fmt: skip
    add("--push-to-hub", dest="repository", metavar="NAME", help="upload the folder to this repository, such as "
        "me/my-model; it is made if need be. Log in before with `hf auth login`.")  # fmt: skip
    add_trust_option(parser)
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    """Write the folder, and upload it if asked to."""
    output, repository = args.output, args.repository
    files = export(**vars(args))
    n_bytes = sum(path.stat().st_size for path in files)
    print(f"{output}: {len(files)} files, {n_bytes / 1e6:.1f} MB.")
    if repository:
        from huggingface_hub import HfApi

        try:
            made = HfApi().create_repo(repository, exist_ok=True).repo_id
            print(HfApi().upload_folder(repo_id=made, folder_path=output))
        except Exception as error:  # of the network: their classes change between versions
            raise ConnectionError(
                f"Expected to upload {output}, which is whole, got: {error}. Run `hf upload {repository} {output}` "
                "when it works again."
            ) from error


def check_place(output: Path, source: str, replace: bool, expected: Sequence[str]) -> None:
    """Raises a FileExistsError for a place that may not be replaced, or that holds anything but an earlier export."""
    names = {path.name for path in output.iterdir()} if output.is_dir() else set()
    if not names and not output.is_file():
        return
    if source and Path(source).resolve() == output.resolve():
        raise FileExistsError(
            f"Expected another folder than the model's own, got {output}. Name a new one."
        )
    if not replace:
        raise FileExistsError(
            f"Expected a new folder, {output} exists. Name another, or replace it with --force."
        )
    has_more = any(name.startswith(".") for name in names)  # such as `.git`
    if has_more or not all((output / name).is_file() for name in expected):
        raise FileExistsError(
            f"Expected an earlier export in {output}, it holds something else. Name another folder."
        )


def _in_16_bits(weight: Any) -> Any:
    """An fp32 weight in half precision, or as it is if that cannot hold it; any other as it is."""
    import torch

    if weight.dtype == torch.float32 and (half := weight.half()).isfinite().all():
        return half
    return weight


def _forget_this_machine(path: Path) -> None:
    """Remove from a configuration, and from those inside it, where and how it was loaded."""
    kept = json.loads(
        path.read_bytes(),
        object_pairs_hook=lambda pairs: {
            key: value for key, value in pairs if key not in LOCAL_KEYS
        },
    )
    path.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
