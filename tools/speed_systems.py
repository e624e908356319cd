"""The systems whose speed is compared, each in a process of its own that answers requests: what `speed.py` starts.

    python -m tools.speed_systems onnx-int8 --threads 2

Takes requests and gives answers as JSON lines: `{"texts": [...]}` -> `{"wall": s, "cpu": s}`, `{}` -> peak memory.

Systems:
    torch, onnx, onnx-int8        slot filling as users get it, by backend
    tagging-torch, tagging-...    our tagging variant: the same encoder without masks, reading a word's last piece
    xlmr-base                     the shape of XLM-R-base with random weights, as `punctuators` runs it
    xlmr-large                    the shape of XLM-R-large with random weights, as FullStop runs it
    floor                         the matrix products of our encoder and nothing else, in fp32, for the same windows

The peers' own tokenizer is not here; they cut words into the pieces of ours, whose vocabulary is part of theirs. Random
weights compute as long as trained ones.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

XLMR = {"xlmr-base": (12, 768, 12, 3072), "xlmr-large": (24, 1024, 16, 4096)}  # layers, width, heads, feed-forward
XLMR_VOCABULARY = 250_002
LABELS = ("", ",", ".", "?", "-", ":")  # FullStop's; so many labels cost nothing
PEER_BATCH = 4  # windows; on a CPU more is no faster

System = Callable[[Sequence[str]], list[str]]


def ours(backend: str, model: str | None, slot_style: str | None = None) -> tuple[System, int]:
    """Our pipeline, with the slot style of its model or another, and its size on disk in bytes."""
    from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

    import punctuation_restoration

    build: Any = pipeline
    place = model or punctuation_restoration.DEFAULT_MODEL
    if slot_style is None:
        restore = build("punctuation-restoration", model=place, backend=backend, device="cpu")
    else:
        network = AutoModelForTokenClassification.from_pretrained(place, slot_style=slot_style)
        tokenizer = AutoTokenizer.from_pretrained(place)
        restore = build("punctuation-restoration", model=network, tokenizer=tokenizer, backend=backend, device="cpu")
    file = Path(getattr(restore._probabilities, "file", Path(place) / "model.safetensors"))
    n_bytes = sum(path.stat().st_size for path in file.parent.glob(f"{file.stem}.*"))
    return lambda texts: [one["text"] for one in restore(list(texts), return_words=False)], n_bytes


def xlmr_tagging(name: str, model: str | None) -> tuple[System, int]:
    """A peer: word tagging by an encoder of the shape of XLM-R.

    `punctuators` (base) reads windows of 256 pieces that overlap by 16, in batches; FullStop (large) reads windows of
    230 words that overlap by 5, one at a time.
    """
    from transformers import AutoTokenizer, XLMRobertaConfig, XLMRobertaForTokenClassification

    import punctuation_restoration

    n_layers, width, n_heads, feed_forward = XLMR[name]
    config = XLMRobertaConfig(
        vocab_size=XLMR_VOCABULARY, hidden_size=width, num_hidden_layers=n_layers, num_attention_heads=n_heads,
        intermediate_size=feed_forward, max_position_embeddings=514, type_vocab_size=1, num_labels=len(LABELS),
    )  # fmt: skip
    torch.manual_seed(0)
    network = XLMRobertaForTokenClassification(config).eval()
    tokenizer = AutoTokenizer.from_pretrained(model or punctuation_restoration.DEFAULT_MODEL)
    n_bytes = sum(parameter.numel() * parameter.element_size() for parameter in network.parameters())

    @torch.inference_mode()
    def labels_of(windows: Sequence[list[int]]) -> list[list[int]]:
        longest = max(map(len, windows))
        ids = torch.tensor([[0, *window, 2, *[1] * (longest - len(window))] for window in windows])
        mask = None if len(set(map(len, windows))) == 1 else (ids != 1).long()
        return network(input_ids=ids, attention_mask=mask).logits.argmax(dim=-1)[:, 1:].tolist()

    def restore(text: str) -> str:
        words = text.split()
        pieces = tokenizer(words, add_special_tokens=False).input_ids
        windows = windows_by_pieces(pieces, 254, 16) if name == "xlmr-base" else windows_by_words(len(words), 230, 5)
        marks = [""] * len(words)
        step = PEER_BATCH if name == "xlmr-base" else 1
        for at in range(0, len(windows), step):
            batch = windows[at : at + step]
            rows = labels_of([[piece for word in pieces[first:end] for piece in word] for first, end in batch])
            for (first, end), row in zip(batch, rows, strict=True):
                place = -1
                for index in range(first, end):
                    place += len(pieces[index])
                    marks[index] = LABELS[row[place]]
        return " ".join(word + mark for word, mark in zip(words, marks, strict=True))

    return lambda texts: [restore(text) for text in texts], n_bytes


def windows_by_words(n_words: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Ranges of words of one size, each beginning `overlap` words before the end of the last."""
    starts = range(0, max(1, n_words - overlap), size - overlap)
    return [(start, min(n_words, start + size)) for start in starts]


def windows_by_pieces(pieces: Sequence[Sequence[int]], size: int, overlap: int) -> list[tuple[int, int]]:
    """Ranges of whole words with at most `size` pieces, which overlap by up to `overlap` pieces."""
    windows, first = [], 0
    while first < len(pieces):
        end, n_pieces = first, 0
        while end < len(pieces) and n_pieces + len(pieces[end]) <= size:
            n_pieces += len(pieces[end])
            end += 1
        end = max(end, first + 1)
        windows.append((first, end))
        if end == len(pieces):
            break
        first, n_back = end, 0
        while first > windows[-1][0] + 1 and n_back + len(pieces[first - 1]) <= overlap:
            first -= 1
            n_back += len(pieces[first])
    return windows


def floor(model: str | None) -> tuple[System, int]:
    """The matrix products of the default backend, in fp32, with nothing between them."""
    from transformers import pipeline

    import punctuation_restoration

    build: Any = pipeline
    restore = build("punctuation-restoration", model=model or punctuation_restoration.DEFAULT_MODEL, device="cpu")
    encoder = restore.model.config.get_text_config()
    width, inner, n_heads = encoder.hidden_size, encoder.intermediate_size, encoder.num_attention_heads
    head, n_labels = restore.model.config.head_width, len(restore.model.config.label_names)
    shapes: dict[str, list[tuple[int, int]]] = {}  # pieces and slots of each window of a text

    def products(n_pieces: int, n_slots: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for _ in range(encoder.num_hidden_layers):
            yield matrix(n_pieces, width), matrix(width, 3 * width)
            size = width // n_heads
            yield matrix(n_heads, n_pieces, size), matrix(n_heads, size, n_pieces)
            yield matrix(n_heads, n_pieces, n_pieces), matrix(n_heads, n_pieces, size)
            yield matrix(n_pieces, width), matrix(width, width)
            yield matrix(n_pieces, width), matrix(width, inner)
            yield matrix(n_pieces, inner), matrix(inner, width)
        yield matrix(n_slots, width), matrix(width, head)
        yield matrix(n_slots, head), matrix(head, n_labels)

    matrices: dict[tuple[int, ...], torch.Tensor] = {}

    def matrix(*shape: int) -> torch.Tensor:
        if shape not in matrices:
            matrices[shape] = torch.randn(shape)
        return matrices[shape]

    @torch.inference_mode()
    def run(texts: Sequence[str]) -> list[str]:
        for text in texts:
            for n_pieces, n_slots in shapes[text]:
                for left, right in products(n_pieces, n_slots):
                    torch.matmul(left, right)
        return list(texts)

    def prepared(texts: Sequence[str]) -> list[str]:
        for text in texts:
            windows = restore.preprocess(text)
            shapes[text] = [(len(window["input_ids"]), len(window["slot_positions"])) for window in windows]
        run(texts[:3])
        return list(texts)

    run.prepare = prepared  # type: ignore[attr-defined]
    return run, 0


def make(name: str, model: str | None) -> tuple[System, int]:
    """A system by name, and its size on disk."""
    if name in XLMR:
        return xlmr_tagging(name, model)
    if name == "floor":
        return floor(model)
    return ours(name.removeprefix("tagging-"), model, "last-piece" if name.startswith("tagging-") else None)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("system")
    parser.add_argument("--model")
    parser.add_argument("--threads", type=int, default=0)
    args = parser.parse_args(argv)
    answers, sys.stdout = sys.stdout, sys.stderr
    if args.threads:
        torch.set_num_threads(args.threads)
    from transformers import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    system, n_bytes = make(args.system, args.model)
    prepare = getattr(system, "prepare", None)
    if prepare is None:
        system(["hello how are you"])
    print(json.dumps({"ready": True, "bytes": n_bytes, "threads": torch.get_num_threads()}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "texts" in request:
            if prepare is not None:
                prepare(request["texts"])
            wall, cpu = time.perf_counter(), time.process_time()
            system(request["texts"])
            answer: dict[str, float] = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        else:
            answer = {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
