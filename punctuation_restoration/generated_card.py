"""The README of an exported model, filled in from what its training noted beside the weights (`training.json`).

It knows neither torch nor transformers. By its last line a generated README is told from one that was edited.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .default_models import OUR_MODELS, hub_name

ORIGIN_FILE = "training.json"
TERMS_FILE = "GEMMA_TERMS_OF_USE.txt"
Fields = dict[str, Any]  # of what training noted, or of a card
LAST_LINE = "\n<!-- written by export"
CARD = """---
{head}
---

# Punctuation restoration

Writes {marks} into text that has none, such as recognised speech, and changes nothing else.

## How to use

`pip install transformers torch`, and `jieba` for Mandarin.

```python
from transformers import pipeline

restore = pipeline("punctuation-restoration", model="{repository}", trust_remote_code=True)
print(restore("hello how are you")["text"])
```
{results}
## Licence

The code in this repository is under the Apache License 2.0 (`LICENSE`).
"""
RESULTS = """
## Training and results

It started from `{base}`, and took {steps:,} steps. F1 in points of 100 on text that was held out,
by which the best weights were chosen:

{table}
"""
GEMMA = """
Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms; they are in
`GEMMA_TERMS_OF_USE.txt`, see `NOTICE`. This model was made from Gemma or has learned from a model that was, so its use
is subject to their restrictions, and so is the use of models that are trained from it or on its labels.
"""
OURS = """
What is not Gemma's in the weights is under CC BY-NC 4.0, because several of the texts that they were made from allow
only non-commercial research.
"""
OTHERS = "\nThe weights were made from `{base}`, whose licence holds for them too.\n"


def origin_of(start: str) -> Fields:
    """What is known of the model or encoder that a training starts from: `base_model`, a Hub id, and its `license`."""
    ours, readme = hub_name(start), Path(start, "README.md")
    if ours or not Path(start).exists():
        return {"base_model": ours or start}
    noted = read_origin(start)
    if not noted and readme.is_file():
        from huggingface_hub import metadata_load

        noted = metadata_load(readme) or {}
    return {key: noted[key] for key in ("base_model", "license") if isinstance(noted.get(key), str)}


def read_origin(folder: str) -> Fields:
    """What the training of the model in a folder noted; empty if it noted nothing."""
    path = Path(folder, ORIGIN_FILE)
    return json.loads(path.read_bytes()) if path.is_file() else {}


def written_card(
    origin: Fields, labels: Sequence[Mapping[str, str]], repository: str, has_terms: bool
) -> str:
    """The README of a model, signed, so that an edit is known.

    Args:
        origin: what its training noted, see `training.json`.
        labels: of the model.
        repository: under which it can be loaded.
        has_terms: whether Gemma's terms lie beside the weights.
    """
    from huggingface_hub import ModelCardData

    base = origin.get("base_model")
    is_ours = base in OUR_MODELS
    licence: Fields = {"license": "cc-by-nc-4.0" if is_ours else origin.get("license")}
    if has_terms:
        licence = {
            "license": "other",
            "license_name": "gemma-and-cc-by-nc-4.0" if is_ours else "gemma",
            "license_link": "https://ai.google.dev/gemma/terms",
        }
    languages = [name for name in origin.get("languages", ()) if name != "xx"]
    head = ModelCardData(
        **licence,
        language=languages or None,
        base_model=base,
        library_name="transformers",
        pipeline_tag="token-classification",
        tags=["punctuation-restoration", "punctuation"],
        metrics=["f1"],
    )
    marks = {label["name"]: f"`{label['before']}{label['after']}`" for label in labels[1:]}
    card = CARD.format(
        head=head.to_yaml(),
        marks=" ".join(marks.values()),
        repository=repository,
        results=_results(origin, marks) if origin.get("validation", {}).get("languages") else "",
    )
    if has_terms:
        card += GEMMA
    if is_ours:
        card += OURS
    elif base:
        card += OTHERS.format(base=base)
    return signed(card)


def _results(origin: Fields, marks: Mapping[str, str]) -> str:
    """What a model was trained from, and its F1 by language and mark; `marks` are as they are shown, by label."""
    before = origin.get("validation_before", {}).get("languages", {})
    rows = [["language", "words", "F1 before", "F1 after", *marks.values()]]
    rows.append(["---", *["---:"] * (len(rows[0]) - 1)])
    for language, row in origin["validation"]["languages"].items():
        scores = [before.get(language, {}).get("f1"), row["f1"], *map(row.get, marks)]
        cells = ["–" if score is None else f"{score:.1f}" for score in scores]
        rows.append([language, f"{row['n_words']:,}", *cells])
    return RESULTS.format(
        base=origin.get("base_model") or Path(origin["started_from"]).name,
        steps=origin["steps"],
        table="\n".join(f"| {' | '.join(row)} |" for row in rows),
    )


def signed(card: str) -> str:
    """A generated README with a last line by which an edit is known."""
    digest = hashlib.sha256(card.encode()).hexdigest()[:16]
    return f"{card}{LAST_LINE}, {digest}: an edited README is kept -->\n"


def is_edited(readme: str) -> bool:
    """Whether a README is other than `signed` wrote it."""
    return signed(readme.rpartition(LAST_LINE)[0]) != readme
