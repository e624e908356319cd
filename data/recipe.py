"""A recipe file: which sources to read, how to filter and weigh them, how to cut windows, how to train.

Takes a YAML file (or its dictionary), gives checked, frozen settings. Reads no training text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

Settings = TypeVar("Settings")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents are used. `marks_per_word` counts every label that is not the first one."""

    min_sentences: int = 3  # the MLM-Punct paper keeps documents of more than two sentences
    min_words: int = 1
    min_marks_per_word: float = 0.03  # fewer: captions and lists that nobody punctuated
    max_marks_per_word: float = 0.5  # more: tables, menus, shouting


@dataclass(frozen=True, slots=True)
class Source:
    """One source of documents: a file, a folder or a data set in one language."""

    name: str
    path: str
    language: str
    weight: float = 1.0  # times its number of words: how often it is drawn within its language
    validation: float | None = None  # share of its documents held out; None: the recipe's
    max_words: int | None = None  # stop reading after so many words
    format: str = "auto"
    text_field: str = "text"
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How windows are cut from the words of the sources, see `data.windows`."""

    lengths: Mapping[int, float] = field(default_factory=lambda: {32: 0.1, 64: 0.2, 128: 0.3, 256: 0.4})
    temperature: float = 1.0  # a language is drawn with its weighted number of words to the power 1 / temperature
    language_weights: Mapping[str, float] = field(default_factory=dict)  # times that, by language; 1 where absent
    document_starts: float = 0.15  # share of windows that begin where a document begins
    document_ends: float = 0.15  # share of windows that end where a document ends
    sentence_starts: float = 0.3  # share of windows that begin after a sentence end
    sentence_ends: float = 0.0  # share of windows that end with a sentence end, at the price of some padding
    filled_windows: float = 0.5  # share of windows that show some true marks in their slots
    max_filled: float = 0.5  # the share of such a window's slots that shows its mark is uniform from 0 to this


@dataclass(frozen=True, slots=True)
class Recipe:
    """A whole recipe. `model` and `training` go to the trainer, which checks them."""

    name: str
    sources: tuple[Source, ...]
    root: str = "."
    validation: float = 0.015
    sampling: Sampling = field(default_factory=Sampling)
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)


def load_recipe(path: str | Path) -> Recipe:
    """Read a recipe from a YAML file.

    Raises:
        ValueError: if it is not a recipe; the message names the file and the key.
    """
    path = Path(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"Expected a recipe file at {path}, found none. Check --recipe.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"Expected a YAML recipe in {path}, could not read it: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"Expected {path} to hold the keys of a recipe, got {type(content).__name__}.")
    return build_recipe(content, str(path))


def build_recipe(content: Mapping[str, Any], where: str = "recipe") -> Recipe:
    """Check the dictionary of a recipe and give the recipe.

    `filters` at the top are the defaults of every source; a source without `name` takes that of its file.

    Raises:
        ValueError: for an unknown key, a value of the wrong type, a name twice or shares outside 0 to 1.
    """
    content = dict(content)
    defaults = content.pop("filters", {})
    sources = []
    for index, row in enumerate(content.pop("sources", ())):
        place = f"{where}, source {index + 1}"
        if not isinstance(row, Mapping):
            raise ValueError(f"Expected {place} to be keys and values, got {row!r}.")
        row = {"name": _stem(str(row.get("path", ""))), **row}
        row["filters"] = settings_from(Filters, {**defaults, **row.get("filters", {})}, f"{place}, filters")
        sources.append(settings_from(Source, row, place))
    sampling = settings_from(Sampling, content.pop("sampling", {}), f"{where}, sampling")
    recipe = settings_from(Recipe, {**content, "sources": tuple(sources), "sampling": sampling}, where)
    _check_recipe(recipe, where)
    return recipe


def settings_from(kind: type[Settings], values: Mapping[str, Any], where: str) -> Settings:
    """Build the dataclass `kind` from keys and values.

    Raises:
        ValueError: for unknown or missing keys, or a number where text belongs and the reverse.
    """
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - set(fields))
    if unknown:
        raise ValueError(f"Expected in {where} only the keys {sorted(fields)}, got {unknown}. Check the spelling.")
    missing = [
        name
        for name, f in fields.items()
        if name not in values and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ValueError(f"Expected in {where} the keys {missing}, which are not there. Add them.")
    for name, value in values.items():
        wanted = str(fields[name].type).split(" | ")
        if not _fits(value, wanted):
            raise ValueError(f"Expected {name} in {where} to be {' or '.join(wanted)}, got {value!r}. Correct it.")
    return kind(**values)


def _fits(value: Any, wanted: list[str]) -> bool:
    names = {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,), "None": (type(None),)}
    if not set(wanted) <= set(names):
        return True  # mappings and nested settings are checked where they are built
    if isinstance(value, bool):
        return "bool" in wanted
    return any(isinstance(value, names[name]) for name in wanted)


def _stem(path: str) -> str:
    stem = Path(path).name
    for suffix in (".gz", ".jsonl", ".txt", ".tsv", ".json"):
        stem = stem.removesuffix(suffix)
    return stem


def _check_recipe(recipe: Recipe, where: str) -> None:
    if not recipe.sources:
        raise ValueError(f"Expected one source or more in {where}, got none. Add a list under 'sources'.")
    names = [source.name for source in recipe.sources]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"Expected different source names in {where}, got {twice} twice. Give each a 'name'.")
    sampling = recipe.sampling
    if not sampling.lengths or min(sampling.lengths) < 8 or min(sampling.lengths.values()) < 0:
        raise ValueError(f"Expected window lengths of 8 pieces or more with shares, got {dict(sampling.lengths)}.")
    for name in ("document_starts", "document_ends", "sentence_starts", "sentence_ends", "filled_windows"):
        if not 0 <= getattr(sampling, name) <= 1:
            raise ValueError(f"Expected {name} in {where} from 0 to 1, got {getattr(sampling, name)}.")
    if sampling.document_starts + sampling.document_ends + sampling.sentence_starts > 1:
        raise ValueError(f"Expected the shares of document starts, ends and sentence starts in {where} to stay below 1.")
    if not 0 <= sampling.max_filled <= 1 or sampling.temperature <= 0:
        raise ValueError(f"Expected max_filled from 0 to 1 and a temperature above 0 in {where}.")
    if not 0 <= recipe.validation < 1 or any(source.weight < 0 for source in recipe.sources):
        raise ValueError(f"Expected a validation share from 0 to below 1 and weights of 0 or more in {where}.")
