"""A pipeline's model and some texts -> a file for OpenVINO in int8. Knows files and batches, not what they say.

Weights of matrix products and the states that they are multiplied with are quantised. NNCF reads the ranges of these
states off the windows that the pipeline makes of the texts, which should have some thousand words of each language of
the model: with random pieces, or one language alone, several times as many decisions change (`docs/speed.md`).
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.pipeline.backends import MADE_FROM, all_inputs, made_from
from punctuation_restoration.pipeline.batching import batches_by_length, collate
from punctuation_restoration.pipeline.onnx_export import import_packages, quiet, write_fp32
from punctuation_restoration.pipeline.restoration_pipeline import BUDGET


def export_openvino(restore: Any, path: Path, texts: Sequence[str]) -> None:
    """Write the graph to `path`, an `.xml`, and its weights into the `.bin` beside it. The folder is made.

    `restore` is a `PunctuationRestorationPipeline` on the CPU; of the texts the marks are not read.

    Raises:
        ImportError: if a package is missing; with what to install.
        ValueError: if the encoder is not of BERT's family, or there are no words in the texts.
    """
    model = restore.model
    if not model.reads_short:
        raise ValueError(
            f"Expected an encoder of BERT's family, without a memory, for OpenVINO, got {type(model.encoder).__name__}."
            " Use backend 'onnx-int8'."
        )
    windows = [window for text in texts for window in restore.preprocess(text, existing="replace")]
    windows = [window for window in windows if window["slot_positions"]]
    if not windows:
        raise ValueError("Expected texts with words to calibrate on, got none. Name some files with --calibration.")
    os.environ.setdefault("NNCF_CI", "1")  # without it NNCF reports to Google Analytics that it is used
    # Progress does not belong into the output of a command.
    with quiet(), contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        nncf, openvino, *_ = import_packages("nncf", "openvino", "onnx", "onnxscript", extra="openvino-export")
        write_fp32(model, Path(folder) / "fp32.onnx", restore.slots.pad_id, in_int8=True)
        graph = openvino.Core().read_model(Path(folder) / "fp32.onnx")
        names = [taken.any_name for taken in graph.inputs]
        batches = []
        for indices in batches_by_length([len(window["input_ids"]) for window in windows], None, BUDGET["cpu"]):
            inputs = all_inputs(collate([windows[index] for index in indices], restore.slots.pad_id))
            batches.append({name: inputs[name].numpy() for name in names})
        # SmoothQuant with 0.95, and ranges that need not be symmetric, are what NNCF does for transformers.
        found = nncf.quantize(
            graph, nncf.Dataset(batches), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(batches)
        )
    found.set_rt_info(made_from(model), MADE_FROM)
    path.parent.mkdir(parents=True, exist_ok=True)
    openvino.save_model(found, path, compress_to_fp16=False)
