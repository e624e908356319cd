"""A model -> a file for ONNX Runtime, in fp32 or in int8. Knows tensors and files, not text.

The graph takes `input_ids` (B, P), `attention_mask` (B, P) and `slot_positions` (B, W), and gives `logits` (B, W, M),
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
from torch import nn

from .slot_reader import reads_short

NOT_COMPUTED = {"_name_or_path", "architectures", "dtype", "transformers_version"}  # settings that change no result
FORMAT = 4  # raised when files made by an earlier version of this module should not be used any more


def fingerprint(model: Any) -> str:
    """SHA-256 over weights and configuration: two models with the same one compute the same."""
    settings = model.config.get_text_config().to_dict()
    settings = {key: value for key, value in settings.items() if key not in NOT_COMPUTED}
    settings["n_slot_layers"] = model.n_slot_layers
    if model.config.bidirectional_from is not None:
        settings["bidirectional_from"] = model.config.bidirectional_from
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for name, tensor in sorted(model.state_dict().items()):
        values = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {values.dtype} {tuple(values.shape)}".encode())
        digest.update(values.reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def export_onnx(model: Any, path: str | os.PathLike[str], pad_id: int, in_int8: bool) -> None:
    """Write the file: whole, or not at all; several processes may write the same one.

    Args:
        model: a `PunctuationRestorationModel`; it stays as it is.
        path: the file. Its folder is made.
        pad_id: id of the padding piece.
        in_int8: whether to quantise.

    Raises:
        ImportError: if a package is missing that is needed for writing.
        OSError: if the file cannot be written.
        ValueError: if torch cannot write this encoder as ONNX.
    """
    path = Path(path)
    _check_packages()
    weights = fingerprint(model)
    if model.dtype != torch.float32:
        model = copy.deepcopy(model).float()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".writing-") as beside:
        whole = Path(beside) / "fp32.onnx"
        with _quiet():
            _write_fp32(model, whole, pad_id, in_int8)
            if in_int8:
                whole = _quantised(whole)
        _sign(whole, weights)
        os.replace(whole, path)


class GraphReader(nn.Module):
    """The model as it is exported: queries, keys and values in one product, word embeddings in int8 if wanted."""

    words: torch.Tensor  # (V, H)
    scales: torch.Tensor  # (V, 1)
    places: torch.Tensor  # (longest window, H)

    def __init__(self, model: Any, in_int8: bool) -> None:
        super().__init__()
        embeddings = model.encoder.embeddings
        words = embeddings.word_embeddings.weight.detach().float()  # (V, H)
        self.has_int8_words = in_int8
        if in_int8:
            scales = words.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
            self.register_buffer("words", (words / scales).round().to(torch.int8))
            self.register_buffer("scales", scales)
        else:
            self.register_buffer("words", words)
        first = getattr(embeddings, "padding_idx", -1) + 1  # RoBERTa counts positions from behind its padding id
        places = embeddings.position_embeddings.weight[first:] + embeddings.token_type_embeddings.weight[0]
        self.register_buffer("places", places.detach().float())
        self.norm = embeddings.LayerNorm
        layers = list(model.encoder.encoder.layer)
        n_slot_layers = max(model.n_slot_layers, 1)
        self.layers = nn.ModuleList(_GraphLayer(layer, 3, in_int8) for layer in layers[:-n_slot_layers])
        self.slot_layers = nn.ModuleList(_GraphLayer(layer, 2, in_int8) for layer in layers[-n_slot_layers:])
        self.slot_states = model.slot_states
        self.classifier = model.classifier

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, slot_positions: torch.Tensor
    ) -> torch.Tensor:
        states = self.words[input_ids]
        if self.has_int8_words:
            states = states.to(torch.float32) * self.scales[input_ids]
        states = self.norm(states + self.places[: input_ids.shape[1]])
        # Added to the scores; a large number, where -inf would make ONNX Runtime look for rows without any piece.
        bias = (1.0 - attention_mask.to(torch.float32))[:, None, None, :] * -1e9
        for layer in self.layers:
            states = layer(states, states, bias)
        slot_states = self.slot_states(states, slot_positions)
        for layer in self.slot_layers[:-1]:
            both = layer(torch.cat([states, slot_states], dim=1), states, bias)
            states, slot_states = both[:, : states.shape[1]], both[:, states.shape[1] :]
        return self.classifier(self.slot_layers[-1](slot_states, states, bias))


class _GraphLayer(nn.Module):
    """An encoder layer whose last `n_joined` of query, key and value are one matrix product.

    With `by_piece`, the inner states of each piece are divided by the largest of them, and the product multiplied.
    """

    def __init__(self, layer: Any, n_joined: int, by_piece: bool) -> None:
        super().__init__()
        attention = layer.attention.self
        self.head_size = attention.attention_head_size
        parts = [attention.query, attention.key, attention.value]
        self.separate = nn.ModuleList(parts[: 3 - n_joined])
        joined = parts[3 - n_joined :]
        self.joined = nn.Linear(joined[0].in_features, sum(part.out_features for part in joined))
        with torch.no_grad():
            self.joined.weight.copy_(torch.cat([part.weight for part in joined]))
            self.joined.bias.copy_(torch.cat([part.bias for part in joined]))
        self.n_joined, self.by_piece = n_joined, by_piece
        self.mix, self.intermediate, self.output = layer.attention.output, layer.intermediate, layer.output

    def forward(self, states: torch.Tensor, seen: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        parts = [*(part(states) for part in self.separate), *self.joined(seen).chunk(self.n_joined, dim=-1)]
        query, key, value = (part.unflatten(-1, (-1, self.head_size)).transpose(1, 2) for part in parts)
        scores = (query * self.head_size**-0.5) @ key.transpose(2, 3) + bias  # (B, heads, P or W, P)
        mixed = (scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2)
        states = self.mix(mixed, states)
        inner = self.intermediate(states)
        if not self.by_piece:
            return self.output(inner, states)
        largest = inner.abs().amax(dim=-1, keepdim=True).clamp(min=1e-6)
        outer = nn.functional.linear(inner / largest, self.output.dense.weight) * largest + self.output.dense.bias
        return self.output.LayerNorm(outer + states)


class _WholeModel(nn.Module):
    """Any other model as it is exported."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, slot_positions: torch.Tensor
    ) -> torch.Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, slot_positions=slot_positions).logits


def _check_packages() -> None:
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401  torch writes ONNX with it
    except ImportError as error:
        raise ImportError(
            f"Expected onnx, onnxruntime and onnxscript, which write ONNX files; {error.name} is not installed. Run "
            "`pip install onnx onnxruntime onnxscript`, or `pip install 'punctuation-restoration[fast]'`."
        ) from error


def _write_fp32(model: Any, path: Path, pad_id: int, has_int8_words: bool) -> None:
    graph = GraphReader(model, has_int8_words) if reads_short(model, pad_id) else _WholeModel(model)
    # Sizes above 1, which torch takes for constants.
    example = {
        "input_ids": torch.full((2, 12), pad_id + 1),
        "attention_mask": torch.ones(2, 12, dtype=torch.long),
        "slot_positions": torch.tensor([[2, 5, 10], [1, 4, 6]]),
    }
    sizes = {"input_ids": {0: "B", 1: "P"}, "attention_mask": {0: "B", 1: "P"}, "slot_positions": {0: "B", 1: "W"}}
    try:
        torch.onnx.export(
            graph.eval(), (), str(path), kwargs=example, dynamo=True, dynamic_shapes=sizes, opset_version=20,
            output_names=["logits"], external_data=False, verbose=False,
        )  # fmt: skip
    except torch.onnx.errors.OnnxExporterError as error:
        raise ValueError(
            f"Expected an encoder that torch can write as ONNX, {type(model.encoder).__name__} is none. Use "
            "backend 'torch'."
        ) from error


def _quantised(path: Path) -> Path:
    """The file with matrix products in int8, beside the given one."""
    quantization = importlib.import_module("onnxruntime.quantization")
    output = path.with_name("int8.onnx")
    # Per channel, in seven bits: with eight, two products overflow 16 bits where the processor has no VNNI.
    quantization.quantize_dynamic(
        path, output, op_types_to_quantize=["MatMul", "Gemm"], weight_type=quantization.QuantType.QInt8,
        per_channel=True, reduce_range=True,
    )  # fmt: skip
    return output


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


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch and ONNX Runtime tell their developers."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir", "root")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
