"""A model -> a file for ONNX Runtime, in fp32 or in int8. Knows tensors and files, not text.

The graph takes `input_ids` (B, P), `attention_mask` (B, P) and `slot_positions` (B, W), where the model has learned
pauses also `pauses` (B, W), and gives `logits` (B, W, M) and, where it has learned casings, `casing_logits` (B, W, C),
for any B, P and W. In int8, weights of matrix products have one scale an output channel and seven bits, because eight
overflow on processors without VNNI; word embeddings have one scale a row; activations are quantised as they come, so
that nothing needs to be calibrated. The inner states of the feed-forward part are scaled piece by piece, since a few
pieces have states so large that one scale for all would leave the others a handful of values.
"""

import contextlib
import copy
import hashlib
import importlib
import json
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

NOT_COMPUTED = {"_name_or_path", "architectures", "dtype", "transformers_version"}  # settings that change no result
EXTRAS = {
    "fast": "onnx onnxruntime onnxscript",
    "openvino": "openvino",
    "openvino-export": "openvino nncf onnx onnxscript",
}
FORMAT = 6  # raised when files made by an earlier version of this module should not be used any more


def fingerprint(model: Any) -> str:
    """SHA-256 over weights and configuration: two models with the same one compute the same."""
    config = model.config
    encoder = config.get_text_config().to_dict().items()
    settings = {key: value for key, value in encoder if key not in NOT_COMPUTED}
    settings["n_slot_layers"] = model.n_slot_layers
    if config.slot_style == "mask-stream":
        settings["mask_token_id"] = config.mask_token_id
    if config.bidirectional_from is not None:
        settings["bidirectional_from"] = config.bidirectional_from
    if config.head.endswith("crf"):  # whose graph reads windows up to this size
        settings["max_window_pieces"] = config.max_window_pieces
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for name, tensor in sorted(model.state_dict().items()):
        values = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {values.dtype} {tuple(values.shape)}".encode())
        digest.update(values.reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def export_onnx(model: Any, path: str | os.PathLike[str], pad_id: int, in_int8: bool) -> None:
    """Write the file: whole, or not at all; several processes may write the same one.

    `model` is a `PunctuationRestorationModel`, which stays as it is, and `pad_id` its padding piece. The folder of
    `path` is made.

    Raises:
        ImportError: if a package is missing that is needed for writing.
        OSError: if the file cannot be written.
        ValueError: if torch cannot write this encoder as ONNX.
    """
    path = Path(path)
    import_packages("onnx", "onnxruntime", "onnxscript")  # torch writes ONNX with the last one
    weights = fingerprint(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".writing-") as beside:
        whole = Path(beside) / "fp32.onnx"
        with quiet():
            write_fp32(model, whole, pad_id, in_int8)
            if in_int8:
                quantization = importlib.import_module("onnxruntime.quantization")
                whole = Path(beside) / "int8.onnx"
                operations = ["MatMul", "Gemm", *["LSTM"] * keeps_memory(model)]
                quantization.quantize_dynamic(
                    Path(beside) / "fp32.onnx", whole, op_types_to_quantize=operations,
                    weight_type=quantization.QuantType.QInt8, per_channel=True, reduce_range=True,
                )  # fmt: skip
        _sign(whole, weights)
        os.replace(whole, path)


def keeps_memory(model: Any) -> bool:
    """Whether a model can go on where it stopped: its encoder and its head read to the right only, and words alone.

    One that knows casings does not, since `go_on` gives logits of labels only.
    """
    config = model.config
    settings = config.head, config.slot_style, config.pause_edges, config.casings
    return settings == ("linear", "last-piece", None, False) and hasattr(model.encoder, "nothing_read")


def go_on(model: Any, input_ids: Tensor, slot_positions: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """Logits (B, W, M) at slots of pieces (B, P) that follow on what a memory holds, and the memory after them."""
    states, memory = model.encoder.go_on(model.get_input_embeddings()(input_ids), memory)
    return model.classifier(model.slot_states(states, slot_positions), slot_positions != 0), memory


class _Graph(nn.Module):
    """The model as it is exported, a copy: tensors in, logits out."""

    def __init__(self, model: Any, in_int8: bool) -> None:
        super().__init__()
        self.model = copy.deepcopy(model).float().eval()
        for owner in list(self.model.modules()):
            for name, part in list(owner.named_children()):
                if isinstance(part, nn.LSTM):
                    setattr(owner, name, _OnnxLSTM(part))
        layers = self.model.encoder.encoder.layer if self.model.reads_short else ()
        if layers:
            self.model.encoder.config._attn_implementation = ATTENTION
        if in_int8 and (layers or keeps_memory(model)):
            self.model.set_input_embeddings(_Int8Embedding(model.get_input_embeddings()))
            for layer in layers:
                layer.output = _OutputByPiece(layer.output)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, slot_positions: Tensor, pauses: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        outputs = self.model(input_ids, attention_mask, slot_positions, pauses=pauses)
        return tuple(scores for scores in (outputs.logits, outputs.casing_logits) if scores is not None)


def _attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, is_piece: Tensor, **options: Any
) -> tuple[Tensor, None]:
    """As transformers' attention "sdpa", in operations that ONNX Runtime computes fast."""
    # A large number, where -inf would make ONNX Runtime look for rows without any piece. Not as a product: OpenVINO in
    # int8 takes `(1 - is_piece) * -1e9` for the scale of quantised numbers, and would attend to nothing.
    bias = torch.where(is_piece, 0.0, -1e9)
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(2, 3) + bias  # (B, heads, N, P)
    return (scores.softmax(dim=-1) @ value).transpose(1, 2), None


ATTENTION = "onnx-sdpa"  # its name in transformers
AttentionInterface.register(ATTENTION, _attend)


class _Int8Embedding(nn.Module):
    """Word embeddings with one scale a row."""

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        words = embedding.weight.detach().float()
        self.scales = nn.Buffer(words.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127)  # (V, 1)
        self.words = nn.Buffer((words / self.scales).round().to(torch.int8))  # (V, H)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.words[input_ids].to(torch.float32) * self.scales[input_ids]


class _OnnxLSTM(nn.Module):
    """An LSTM as the one operation of ONNX, for any W; torch would write one step after the other, for a fixed W."""

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        self.width = lstm.hidden_size
        self.inner = nn.Buffer(self._gates(lstm.weight_ih_l0))  # (1, 4 H, H), as `outer`
        self.outer = nn.Buffer(self._gates(lstm.weight_hh_l0))
        biases = self._gates(lstm.bias_ih_l0), self._gates(lstm.bias_hh_l0)
        self.biases = nn.Buffer(torch.cat(biases, dim=1))  # (1, 8 H)

    def forward(self, states: Tensor, before: Any = None) -> tuple[Tensor, Any]:
        state = () if before is None else (None, *before)  # None: all sequences are as long as the longest
        inputs = states.transpose(0, 1), self.inner, self.outer, self.biases, *state
        n_texts, n_slots, _ = states.shape
        options: Any = {"hidden_size": self.width}
        last = 1, n_texts, self.width
        outputs, *after = torch.onnx.ops.symbolic_multi_out(
            "LSTM", inputs, options, dtypes=[states.dtype] * 3, shapes=[(n_slots, *last), last, last], version=20
        )
        return outputs.squeeze(1).transpose(0, 1), tuple(after)

    @staticmethod
    def _gates(weights: Any) -> Tensor:
        """In ONNX's order: input, output, forget, cell."""
        inputs, forget, cell, output = weights.detach().chunk(4)
        return torch.cat([inputs, output, forget, cell]).unsqueeze(0)


class _MemoryGraph(_Graph):
    """That of a model that keeps a memory, which it takes and gives besides logits, see `go_on`."""

    def forward(self, input_ids: Tensor, slot_positions: Tensor, memory: Tensor) -> Any:  # type: ignore[override]
        return go_on(self.model, input_ids, slot_positions, memory)


class _OutputByPiece(nn.Module):
    """The end of a layer: the inner states of each piece are divided by the largest, and the product multiplied."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.dense, self.norm = output.dense, output.LayerNorm

    def forward(self, inner: Tensor, states: Tensor) -> Tensor:
        largest = inner.abs().amax(dim=-1, keepdim=True).clamp(min=1e-6)
        outer = nn.functional.linear(inner / largest, self.dense.weight) * largest + self.dense.bias
        return self.norm(outer + states)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without what torch, ONNX Runtime and NNCF tell their developers."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(before)


def import_packages(*names: str, extra: str = "fast") -> list[Any]:
    """The packages, which are not needed for torch alone; `extra` of this project is what has them.

    Raises:
        ImportError: if one is missing; with what to install.
    """
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError as error:
        raise ImportError(
            f"Expected {', '.join(names)}, which this backend needs; {error.name} is not installed. Run `pip install "
            f"{EXTRAS[extra]}`, or `pip install 'punctuation-restoration[{extra}]'`."
        ) from error


def write_fp32(model: Any, path: Path, pad_id: int, in_int8: bool) -> None:
    """Write the graph in fp32; with `in_int8` scaled so that its products can be quantised.

    Raises:
        ValueError: if torch cannot write this encoder as ONNX.
    """
    has_memory = keeps_memory(model)
    if hasattr(model.encoder, "nothing_read") and not has_memory:
        raise ValueError(
            f"Expected head 'linear', slot_style 'last-piece', no pause_edges and no casings of a "
            f"{type(model.encoder).__name__} for ONNX, got {model.config.head!r}, {model.config.slot_style!r}, "
            f"{model.config.pause_edges} and {model.config.casings}. Use backend 'torch'."
        )
    graph: nn.Module = (_MemoryGraph if has_memory else _Graph)(model, in_int8)
    # Sizes above 1, which torch takes for constants.
    example = {"input_ids": torch.full((2, 12), pad_id + 1), "slot_positions": torch.tensor([[2, 5, 10], [1, 4, 6]])}
    sizes = {"input_ids": {0: "B", 1: "P"}, "slot_positions": {0: "B", 1: "W"}}
    if has_memory:
        example["memory"], sizes["memory"] = model.encoder.nothing_read(2).float(), {2: "B"}
    else:
        example["attention_mask"], sizes["attention_mask"] = torch.ones(2, 12, dtype=torch.long), sizes["input_ids"]
    if model.classifier.pauses is not None:
        example["pauses"], sizes["pauses"] = torch.zeros_like(example["slot_positions"]), sizes["slot_positions"]
    second = "memory_after" if has_memory else "casing_logits"
    n_outputs = 1 + (has_memory or model.classifier.casings is not None)
    try:
        torch.onnx.export(
            graph, (), str(path), kwargs=example, dynamo=True, dynamic_shapes=sizes, opset_version=20,
            output_names=["logits", second][:n_outputs], external_data=False, verbose=False,
        )  # fmt: skip
    except torch.onnx.errors.OnnxExporterError as error:
        raise ValueError(
            f"Expected a model that torch can write as ONNX, {type(model.encoder).__name__} with head "
            f"{model.config.head!r} is none. Use backend 'torch'."
        ) from error


def _sign(path: Path, weights: str) -> None:
    """Write into the file which weights it was made from."""
    onnx = importlib.import_module("onnx")
    graph = onnx.load(path)
    onnx.helper.set_model_props(graph, {"weights": weights, "format": str(FORMAT)})
    graph.doc_string = graph.graph.doc_string = ""
    for node in graph.graph.node:  # where in which file of torch each node came from: as large as the graph itself
        node.doc_string = ""
        del node.metadata_props[:]
    onnx.save(graph, path)
