"""What computes the labels, behind one call: torch, ONNX Runtime or OpenVINO. Knows tensors and files, not text.

    torch           the model itself; the default. float32, or what `dtype=` says
    onnx            ONNX Runtime, float32
    onnx-int8       ONNX Runtime, int8: see `onnx_export.py`
    openvino-int8   OpenVINO, int8, the rest in bf16 where the processor has it: the fastest

ONNX Runtime reads a file, which is looked for in the model's folder or repository (`onnx/model.onnx`,
`onnx/model_int8.onnx`: written there by `python -m punctuation_restoration.export OUT --backend onnx-int8`) and in the
cache; there it is written at first use. A file that other weights gave is never used. What OpenVINO reads is made from
texts too, so only `python -m punctuation_restoration.export OUT --backend openvino-int8` writes it, beside the model.
"""

import functools
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import constants
from transformers.utils import cached_file

from .onnx_export import FORMAT, export_onnx, fingerprint, import_packages

OPENVINO = "openvino-int8"
BACKENDS = ("torch", "onnx", "onnx-int8", OPENVINO)
FILES = {"onnx": "onnx/model.onnx", "onnx-int8": "onnx/model_int8.onnx", OPENVINO: "openvino/model_int8.xml"}
MADE_FROM = "punctuation_restoration"  # in the `rt_info` of a graph for OpenVINO
CACHE_FOLDER = os.path.join(constants.HF_HOME, "punctuation-restoration", "backends")

# Called with input_ids (B, P), attention_mask (B, P) or None, slot_positions (B, W), and perhaps pauses (B, W)
# -> probabilities (B, W, M) of labels; of a model with casings (B, W, M + C), those of the casings behind them
Backend = Callable[..., torch.Tensor]


def make_backend(name: str, model: Any, pad_id: int) -> Backend:
    """The backend of that name for this model.

    `model` is a `PunctuationRestorationModel`, on the CPU unless for torch; `pad_id` its padding piece.

    Raises:
        ValueError: for an unknown name, or if there is no file for OpenVINO of these weights.
        ImportError: if a package is missing; with what to install.
    """
    if name not in BACKENDS:
        raise ValueError(f"Expected backend to be one of {BACKENDS}, got {name!r}. Choose one.")
    if name == OPENVINO:
        return OpenVinoBackend(openvino_file(model))
    if name != "torch":
        return OnnxBackend(backend_file(name, model, pad_id))
    if model.dtype == torch.bfloat16 and model.device.type == "cpu" and not cpu_has_bf16():
        warnings.warn(
            "Expected a processor with bf16 instructions (avx512_bf16, amx_bf16) for dtype=bfloat16, this one has "
            "none and would take many times as long; computing in float32. Leave dtype out.",
            stacklevel=2,
        )
        model.float()
    return functools.partial(_compute_with_torch, model)


def cpu_has_bf16(cpuinfo: str | None = None) -> bool:
    """Whether the processor computes in bf16, by the flags in `/proc/cpuinfo` (or the text given)."""
    path = Path("/proc/cpuinfo")
    if cpuinfo is None:
        cpuinfo = path.read_text(errors="ignore") if path.exists() else ""
    return bool({"avx512_bf16", "amx_bf16", "bf16"} & set(cpuinfo.split()))


class OnnxBackend:
    """A file that ONNX Runtime computes, with as many threads as torch; `file` is its path, or what would be in it."""

    def __init__(self, file: str | bytes) -> None:
        self.file = file
        self._session = _session(file, torch.get_num_threads())
        self._sizes = {taken.name: taken.shape for taken in self._session.get_inputs()}

    def __call__(self, **inputs: torch.Tensor | None) -> torch.Tensor:
        given = all_inputs(inputs)
        if "memory" in self._sizes:
            ids, slots = given["input_ids"], given["slot_positions"]
            nothing = torch.zeros([len(ids) if size == "B" else size for size in self._sizes["memory"]])
            return self.go_on(ids, slots, nothing)[0].softmax(dim=-1)
        return torch.cat([scores.softmax(dim=-1) for scores in self._run(given)], dim=-1)

    def go_on(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """As `onnx_export.go_on`."""
        return self._run(dict(zip(("input_ids", "slot_positions", "memory"), inputs, strict=True)))

    def _run(self, given: dict[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        found = self._session.run(None, {name: given[name].numpy() for name in self._sizes})
        return tuple(map(torch.from_numpy, found))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.file,)  # a session cannot be sent to another process


class OpenVinoBackend(OnnxBackend):
    """The same for a file that OpenVINO computes; `file` is the path of its graph, whose weights lie beside it."""

    def __init__(self, file: str) -> None:
        self.file = file
        (openvino,) = import_packages("openvino", extra="openvino")
        settings = {
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            "INFERENCE_PRECISION_HINT": "bf16" if cpu_has_bf16() else "f32",
            "ENABLE_CPU_PINNING": False,  # else all processes with one thread would share the first core
        }
        self._graph = openvino.Core().compile_model(file, "CPU", settings)
        self._sizes = {taken.any_name: () for taken in self._graph.inputs}

    def _run(self, given: dict[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        # A request serves one thread at a time, and a new one costs nothing.
        found = self._graph.infer_new_request({name: given[name].numpy() for name in self._sizes})
        return tuple(map(torch.from_numpy, found.values()))


def all_inputs(inputs: Mapping[str, torch.Tensor | None]) -> dict[str, torch.Tensor]:
    """The inputs of a graph, those too that a call of the model may leave out."""
    given = {name: tensor for name, tensor in inputs.items() if tensor is not None}
    mask, pauses = torch.ones_like(given["input_ids"]), torch.zeros_like(given["slot_positions"])
    return {"attention_mask": mask, "pauses": pauses, **given}


def _compute_with_torch(model: Any, **inputs: torch.Tensor | None) -> torch.Tensor:
    outputs = model(**inputs)
    found = [scores for scores in (outputs.logits, outputs.casing_logits) if scores is not None]
    return torch.cat([scores.float().softmax(dim=-1) for scores in found], dim=-1)


def backend_file(name: str, model: Any, pad_id: int) -> str | bytes:
    """The file of a backend: from beside the model, from the cache, or written now.

    Where the cache cannot be written either, the file itself, with a warning.
    """
    weights = fingerprint(model)
    beside = _beside_model(FILES[name], model)
    made = _session(beside, 1).get_modelmeta().custom_metadata_map if beside else {}
    if beside and (made.get("weights"), made.get("format")) == (weights, str(FORMAT)):
        return beside
    path = Path(CACHE_FOLDER) / f"{weights[:32]}-{FORMAT}-torch{torch.__version__}" / Path(FILES[name]).name
    if path.is_file():
        return str(path)
    try:
        export_onnx(model, path, pad_id, in_int8=name == "onnx-int8")
        return str(path)
    except OSError as error:
        warnings.warn(
            f"Expected to keep the file of backend {name} in {path.parent}, got: {error}. It is made anew each time; "
            "set HF_HOME to a folder that can be written.",
            stacklevel=2,
        )
    with tempfile.TemporaryDirectory() as folder:
        export_onnx(model, Path(folder) / "model.onnx", pad_id, in_int8=name == "onnx-int8")
        return (Path(folder) / "model.onnx").read_bytes()


def openvino_file(model: Any) -> str:
    """The graph for OpenVINO in the model's folder or repository; its weights are there as well."""
    (openvino,) = import_packages("openvino", extra="openvino")
    graph, weights = (_beside_model(str(Path(FILES[OPENVINO]).with_suffix(end)), model) for end in (".xml", ".bin"))
    if graph and weights:
        found = openvino.Core().read_model(graph)
        if found.has_rt_info(MADE_FROM) and found.get_rt_info(MADE_FROM).value == made_from(model):
            return graph
    source = model.config._name_or_path
    raise ValueError(
        f"Expected {FILES[OPENVINO]}, and its .bin, made from the weights of {source or 'this model'}, found "
        f"{'those of others' if graph and weights else 'none'}. Run `python -m punctuation_restoration.export OUT "
        f"--model {source or 'MODEL'} --backend {OPENVINO}` and load OUT, or use backend 'onnx-int8'."
    )


def made_from(model: Any) -> str:
    """What the entry `MADE_FROM` of a graph for OpenVINO says."""
    return f"{fingerprint(model)} {FORMAT}"


def _beside_model(file: str, model: Any) -> str | None:
    """A file in the model's folder, or in its repository on the Hub, if there is one."""
    source, revision = model.config._name_or_path, getattr(model.config, "_commit_hash", None)
    if not source:
        return None
    try:
        return cached_file(source, file, revision=revision, _raise_exceptions_for_connection_errors=False)
    except OSError:  # no such file, or a name that is neither folder nor repository
        return None


def _session(file: str | bytes, n_threads: int) -> Any:
    (onnxruntime,) = import_packages("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
