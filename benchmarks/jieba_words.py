"""How many marks of Mandarin text fall inside jieba words, where no slot stands? With and without jieba's hidden
Markov model.

    python -m benchmarks.jieba_words ../shared/bench/zh/iwslt-*.jsonl --output results/segmentation.json

Takes JSONL documents with `text`; those with `"punctuated": false` are left out.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import regex

from benchmarks.writing import tell
from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_MARK_LABELS
from punctuation_restoration.pipeline.segmentation import HanSegmenter

_HAN_RUN = regex.compile(rf"\p{{Han}}(?:[ {regex.escape(''.join(DEFAULT_MARK_LABELS))}]*\p{{Han}})*")
_HAN = regex.compile(r"\p{Han}")


def marked_runs(texts: Iterable[str]) -> Iterable[tuple[str, set[int]]]:
    """Runs of Han characters without their marks, and before which characters a mark stood."""
    for text in texts:
        for match in _HAN_RUN.finditer(text):
            characters: list[str] = []
            marked: set[int] = set()
            for sign in match.group():
                if _HAN.match(sign):
                    characters.append(sign)
                elif sign != " ":
                    marked.add(len(characters))
            yield "".join(characters), marked


def count(runs: Sequence[tuple[str, set[int]]], use_hidden_markov_model: bool) -> dict[str, object]:
    """Marks inside words, all marks between Han characters, words, and the commonest words that hide a mark."""
    tokenizer = HanSegmenter()._tokenizer
    n_hidden = n_marks = n_words = 0
    hiding: Counter[str] = Counter()
    for characters, marked in runs:
        n_marks += len(marked)
        start = 0
        for word in tokenizer.cut(characters, HMM=use_hidden_markov_model):
            inside = [place - start for place in marked if start < place < start + len(word)]
            hiding.update(word[:place] + "|" + word[place:] for place in inside)
            n_hidden += len(inside)
            n_words += 1
            start += len(word)
    share = round(100 * n_hidden / max(n_marks, 1), 2)
    examples = [word for word, _ in hiding.most_common(10)]
    return {"hidden": n_hidden, "marks": n_marks, "hidden_percent": share, "words": n_words, "examples": examples}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Marks inside jieba words.")
    parser.add_argument("files", nargs="+", type=Path, help="JSONL documents with `text`")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    documents = [json.loads(line) for path in args.files for line in path.read_text(encoding="utf-8").splitlines()]
    runs = list(marked_runs(doc["text"] for doc in documents if doc.get("punctuated", True)))
    result = {
        "files": [path.name for path in args.files],
        "with_hidden_markov_model": count(runs, True),
        "without_hidden_markov_model": count(runs, False),
    }
    tell(result, args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
