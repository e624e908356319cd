"""A model -> a file for ONNX Runtime, in fp32 or in int8. Knows tensors and files, not text.

The graph takes `input_ids` (B, P), `attention_mask` (B, P) and `slot_positions` (B, W), for any B, P and W. It gives
`logits` (B, W, M) and, for a model with casings, `casing_logits` (B, W, C).

In int8, weights of matrix products have one scale for each output channel, and seven bits, because eight overflow on
processors without VNNI. Activations are quantised as they are computed. What the second matrix of a feed-forward part
reads is scaled piece by piece: a few pieces have values so large that one scale would leave the others a few steps.
"""

import contextlib
import copy
import importlib
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .int8_layers import in_steps

FORMAT = 8  # raised when files of earlier versions of this module should not be used any more


def export_onnx(model: Any, path: str | os.PathLike[str], pad_id: int, in_int8: bool) -> None:
    """Write the file of a model: a ValueError if ONNX cannot hold it, an ImportError where a package is missing."""
    onnx = import_package("onnx")
    for name in ("onnxruntime", "onnxscript"):  # torch writes ONNX with the second
        import_package(name)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with _quiet():
        graph = _graph_of(model, pad_id, in_int8)
        if in_int8:
            quantization = importlib.import_module("onnxruntime.quantization")
            quantization.quantize_dynamic(
                graph, path, op_types_to_quantize=["MatMul", "Gemm"], weight_type=quantization.QuantType.QInt8,
                per_channel=True, reduce_range=True,
            )  # fmt: skip
            graph = onnx.load(path)
    onnx.helper.set_model_props(graph, {"weights": model.fingerprint(), "format": str(FORMAT)})
    graph.doc_string = graph.graph.doc_string = ""
    # Where in which file of torch each node came from is as large as the graph itself.
    for node in graph.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    onnx.save(graph, path)


def import_package(name: str) -> Any:
    """A package that torch alone does without; where it is missing, the ImportError says what to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"Expected {name}, which this backend needs; {error.name} is not installed. Run `pip install onnx "
            "onnxruntime onnxscript`."
        ) from error


def _exported(model: Any, in_int8: bool) -> Any:
    """A copy of the model whose layers are those that ONNX Runtime computes fast."""
    model = copy.deepcopy(model).float().eval()
    model.set_attn_implementation("eager")
    if in_int8:
        model.set_input_embeddings(_Int8Embedding(model.get_input_embeddings()))
    encoder = model.encoder
    width = getattr(encoder.config, "intermediate_size", None)
    for name, part in list(encoder.named_modules()):
        if type(part).__name__.endswith("RMSNorm"):
            encoder.set_submodule(name, _RMSNorm(part))
        elif in_int8 and isinstance(part, nn.Linear) and part.in_features == width:
            encoder.set_submodule(name, _LinearByPiece(part))
    return model


class _Int8Embedding(nn.Module):
    """Word embeddings with one scale a row."""

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        steps, scales = in_steps(embedding.weight.detach().float())
        self.words = nn.Buffer(steps)  # (V, H)
        factor = getattr(embedding, "embed_scale", 1.0)  # by which Gemma multiplies what it reads
        self.scales = nn.Buffer(scales * factor)  # (V, 1)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.words[input_ids].to(torch.float32) * self.scales[input_ids]


class _RMSNorm(nn.Module):
    """The normalisation of Gemma, Llama and their like, in the operations that ONNX Runtime fuses into one."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.eps = getattr(norm, "eps", None) or getattr(norm, "variance_epsilon", None) or 1e-6
        ones = torch.ones_like(norm.get_parameter("weight"))
        # The weight, to which Gemma adds 1.
        self.scale = nn.Buffer(norm(ones).detach() * (1 + self.eps) ** 0.5)

    def forward(self, states: Tensor) -> Tensor:
        return states / (states.pow(2).mean(-1, keepdim=True) + self.eps).sqrt() * self.scale


class _LinearByPiece(nn.Module):
    """A linear layer that reads each piece divided by its largest value."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, inner: Tensor) -> Tensor:
        largest = inner.abs().amax(dim=-1, keepdim=True).clamp(min=1e-6)
        outer = nn.functional.linear(inner / largest, self.weight) * largest
        return outer if self.bias is None else outer + self.bias


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch, ONNX Script and ONNX Runtime tell their developers."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(level)


def _graph_of(model: Any, pad_id: int, in_int8: bool) -> Any:
    """The graph in fp32; with `in_int8` scaled so that its products can be quantised."""
    # Sizes above 1, which torch takes for constants.
    example = {
        "input_ids": torch.full((2, 12), pad_id + 1),
        "attention_mask": torch.ones(2, 12, dtype=torch.long),
        "slot_positions": torch.tensor([[2, 5, 10], [1, 4, 6]]),
    }
    pieces = {0: "B", 1: "P"}
    try:
        program: Any = torch.onnx.export(
            _exported(model, in_int8), (), kwargs=example, dynamo=True, opset_version=20, verbose=False,
            dynamic_shapes={"input_ids": pieces, "attention_mask": pieces, "slot_positions": {0: "B", 1: "W"}},
            output_names=["logits", "casing_logits"] if model.config.casings else ["logits"],
        )  # fmt: skip
    except torch.onnx.errors.OnnxExporterError as error:
        kind = type(model.encoder).__name__
        raise ValueError(
            f"Expected an encoder that torch writes as ONNX, {kind} is none. Use 'torch'."
        ) from error
    return program.model_proto
