"""A trained model → a checkpoint to ship: weights stored in half precision or 8 bits, and read back in fp32.

    python -m tools.shipping runs/first/final checkpoints/en-zh-ms --stored-bits 8

fp16 halves the file, 8 bits for the encoder's matrices quarter it. An earlier checkpoint's README, notice
and terms stay. Code and local paths are left out: a checkout has the code, and `punctuation_restoration.export` adds it
for the Hub.
"""

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from punctuation_restoration.export import check_place
from punctuation_restoration.modeling.modeling_punctuation import NOTICES, PunctuationRestorationModel
from punctuation_restoration.whole_files import written_whole


def ship(source: str, target: Path, stored_bits: int | None = None, **settings: Any) -> None:
    """Write the checkpoint of a trained model.

    Args:
        source: folder of a trained model with its tokenizer.
        target: folder to write; a checkpoint that is there is replaced, but not its README, notice and terms.
        stored_bits: 8 for the matrices of the encoder; None for half precision.
        settings: fields of the configuration to set, such as `thresholds`.

    Raises:
        FileExistsError: if there is something else than a checkpoint at `target`.
        FileNotFoundError: if a model of Gemma's family comes without its notice and terms.
        OverflowError: if a weight is too large for half precision.
    """
    check_place(target, source, True, ("config.json", "model.safetensors"))
    model = PunctuationRestorationModel.from_pretrained(source, dtype=torch.float32)
    model.config.update(settings)
    with written_whole(target) as beside:
        model.save_pretrained(beside, stored_bits=stored_bits)
        for kept in filter(Path.is_file, (target / name for name in (*NOTICES, "README.md"))):
            shutil.copyfile(kept, beside / kept.name)
        AutoTokenizer.from_pretrained(source).save_pretrained(beside)
        weights = load_file(beside / "model.safetensors")
        if not stored_bits:
            weights = {name: weight.half() for name, weight in weights.items()}
        is_gemma = model.config.encoder_config.model_type.startswith("gemma")
        if is_gemma and not all((beside / name).is_file() for name in NOTICES):
            raise FileNotFoundError(f"Expected {' and '.join(NOTICES)} beside {source} or in {target}. Put them there.")
        too_large = [name for name, weight in weights.items() if not torch.isfinite(weight).all()]
        if too_large:
            raise OverflowError(f"Expected weights below 65,504, {too_large} are larger. Ship them in fp32 instead.")
        save_file(weights, beside / "model.safetensors", metadata={"format": "pt"})
        for code in beside.glob("*.py"):
            code.unlink()
        config = json.loads((beside / "config.json").read_text(encoding="utf-8"))
        for key in ("auto_map", "_name_or_path"):
            config.pop(key, None)
            config["encoder_config"].pop(key, None)
        # The precision to load in: fp32, which a CPU computes fastest, whatever the file has.
        config["dtype"] = "float32"
        config["encoder_config"].pop("dtype", None)
        text = json.dumps(config, indent=2, ensure_ascii=False, sort_keys=True)
        (beside / "config.json").write_text(text + "\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write a trained model as a checkpoint to ship.")
    parser.add_argument("source", help="folder of the trained model")
    parser.add_argument("target", type=Path, help="folder of the checkpoint")
    parser.add_argument("--thresholds", type=Path, help="JSON file that tools.thresholds wrote")
    parser.add_argument("--stored-bits", type=int, choices=(8,), help="store the encoder in 8 bits")
    given = vars(parser.parse_args(argv))
    if thresholds := given.pop("thresholds"):
        found = json.loads(thresholds.read_text(encoding="utf-8"))
        given |= {name: found[name] for name in ("calibration_temperature", "thresholds") if name in found}
    ship(given.pop("source"), given.pop("target"), **given)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
