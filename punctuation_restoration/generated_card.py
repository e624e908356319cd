"""The README of an exported model, filled in from what its training noted beside the weights (`training.json`).

It knows neither torch nor transformers. By its last line a generated README is told from one that was edited.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .default_models import HUB_FAST, HUB_MODEL, place_of

ORIGIN_FILE = "training.json"
TERMS_FILE = "GEMMA_TERMS_OF_USE.txt"
LAST_LINE = re.compile(
    r"\n<!-- written by export, ([0-9a-f]{16}): an edited README is kept -->\n\Z"
)
GEMMA = """Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms; they are in
`GEMMA_TERMS_OF_USE.txt`, see `NOTICE`. This model was made from Gemma or has learned from a model that was, so its use
is subject to their restrictions, and so is the use of models that are trained from it or on its labels."""


def origin_of(start: str) -> dict[str, Any]:
    """What is known of the model or encoder that a training starts from: `base_model`, a Hub id, and its `license`."""
    folder = Path(start)
    for name in (HUB_MODEL, HUB_FAST):
        if start == name or folder.resolve() == Path(place_of(name)).resolve():
            return {"base_model": name}
    if not folder.exists():
        return {"base_model": start}
    noted = read_origin(folder)
    if not noted and (folder / "README.md").is_file():
        from huggingface_hub import metadata_load

        noted = metadata_load(folder / "README.md") or {}
    return {key: noted[key] for key in ("base_model", "license") if isinstance(noted.get(key), str)}


def read_origin(folder: Path) -> dict[str, Any]:
    """What the training of the model in a folder noted; empty if it noted nothing."""
    path = folder / ORIGIN_FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def written_card(
    origin: Mapping[str, Any], labels: Sequence[Mapping[str, str]], repository: str, has_terms: bool
) -> str:
    """The README of a model.

    Args:
        origin: what its training noted, see `training.json`.
        labels: of the model.
        repository: under which it can be loaded.
        has_terms: whether Gemma's terms lie beside the weights.
    """
    languages = [name for name in origin.get("languages", ()) if name != "xx"]
    marks = " ".join(f"`{label['before']}{label['after']}`" for label in labels[1:])
    base = origin.get("base_model") or Path(origin.get("started_from", "")).name
    parts = [
        "\n".join(_front_matter(origin, languages, has_terms)),
        "# Punctuation restoration" + (f": {', '.join(languages)}" if languages else ""),
        f"Writes {marks} into text that has none, such as recognised speech, and changes nothing else.",
        "## How to use",
        "`pip install transformers torch`, and `jieba` for Mandarin.",
        "```python\nfrom transformers import pipeline\n\n"
        f'restore = pipeline("punctuation-restoration", model="{repository}", trust_remote_code=True)\n'
        'print(restore("hello how are you")["text"])\n```',
    ]
    if languages_scored := origin.get("validation", {}).get("languages"):
        before = (origin.get("validation_before") or {}).get("languages", {})
        parts += ["## Results", "\n".join(_results(languages_scored, before, labels))]
    if base:
        n_words = f", on {origin['n_words']:,} words" if "n_words" in origin else ""
        steps = f" in {origin['steps']:,} steps" if "steps" in origin else ""
        parts += ["## Training", f"It started from `{base}` and was trained{steps}{n_words}."]
    return "\n\n".join([*parts, "## Licence", *_licence(origin, has_terms)])


def _front_matter(
    origin: Mapping[str, Any], languages: Sequence[str], has_terms: bool
) -> list[str]:
    """The lines that the Hub reads."""
    lines = [f"language: [{', '.join(languages)}]"] if languages else []
    if has_terms:
        name = "gemma-and-cc-by-nc-4.0" if _is_ours(origin) else "gemma"
        link = "https://ai.google.dev/gemma/terms"
        lines += ["license: other", f"license_name: {name}", f"license_link: {link}"]
    elif _is_ours(origin):
        lines.append("license: cc-by-nc-4.0")
    elif "license" in origin:
        lines.append(f"license: {origin['license']}")
    if "base_model" in origin:
        lines.append(f"base_model: {origin['base_model']}")
    lines += ["library_name: transformers", "pipeline_tag: token-classification"]
    return ["---", *lines, "tags: [punctuation-restoration, punctuation]", "metrics: [f1]", "---"]


def _results(
    scored: Mapping[str, Any], before: Mapping[str, Any], labels: Sequence[Mapping[str, str]]
) -> list[str]:
    """A table of F1 by language and mark."""
    names = [label["name"] for label in labels[1:]]
    signs = [f"`{label['before']}{label['after']}`" for label in labels[1:]]
    lines = [
        "F1 in points of 100 on text that was held out in training, by which the best weights were chosen:",
        "",
        "| held-out text | words | F1 before training | F1 | " + " | ".join(signs) + " |",
        "| --- |" + " ---: |" * (3 + len(signs)),
    ]
    for language, row in scored.items():
        first = f"{before[language]['f1']:.1f}" if language in before else "–"
        cells = [language, f"{row['n_words']:,}", first, f"{row['f1']:.1f}"]
        cells += [f"{row[name]:.1f}" if name in row else "–" for name in names]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _licence(origin: Mapping[str, Any], has_terms: bool) -> list[str]:
    """Paragraphs about the licences of code and weights."""
    paragraphs = ["The code in this repository is under the Apache License 2.0 (`LICENSE`)."]
    if has_terms:
        paragraphs.append(GEMMA)
    if _is_ours(origin):
        paragraphs.append(
            "What is not Gemma's in the weights is under CC BY-NC 4.0, because several of the texts that they were "
            "made from allow only non-commercial research."
        )
    elif base := origin.get("base_model"):
        paragraphs.append(f"The weights were made from `{base}`, whose licence holds for them too.")
    return paragraphs


def _is_ours(origin: Mapping[str, Any]) -> bool:
    return origin.get("base_model") in (HUB_MODEL, HUB_FAST)


def signed(card: str) -> str:
    """A generated README with a last line by which an edit is known."""
    digest = hashlib.sha256(card.strip().encode()).hexdigest()[:16]
    return f"{card.strip()}\n\n<!-- written by export, {digest}: an edited README is kept -->\n"


def is_edited(readme: str) -> bool:
    """Whether a README is other than `signed` wrote it."""
    found = LAST_LINE.search(readme)
    return not found or signed(readme[: found.start()]) != readme
