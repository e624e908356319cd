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
    labelled: bool = True  # False: its marks are thrown away, for self-training
    format: str = "auto"  # jsonl, text, tsv, datasets; auto goes by the file's name
    text_field: str = "text"
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How windows are cut from the words of the sources, see `data.sampling`."""

    lengths: Mapping[int, float] = field(default_factory=lambda: {32: 0.1, 64: 0.2, 128: 0.3, 256: 0.4})
    temperature: float = 1.0  # a language is drawn with its weighted number of words to the power 1 / temperature
    language_weights: Mapping[str, float] = field(default_factory=dict)  # times that, by language; 1 where absent
    document_starts: float = 0.15  # share of windows that begin where a document begins
    document_ends: float = 0.15  # share of windows that end where a document ends
    # In use, a window's last words are decided only at the end of the text, where a sentence ends. Training windows
    # that end anywhere would teach the model to put no mark there.
    sentence_ends: float = 0.5  # share of windows that end where a sentence ends
    sentence_starts: float = 0.1  # share of windows that begin after a sentence end
    filled_windows: float = 0.5  # share of windows that show some true marks in their slots
    max_filled: float = 0.5  # the share of shown slots in such a window is drawn evenly from 0 to this
    utterances: float = 0.0  # share of steps whose windows are utterances: whole sentences, as many as `stops` says
    stops: Mapping[int, float] = field(default_factory=lambda: {1: 0.5, 2: 0.3, 3: 0.2})  # shares by number of stops
    questions: Mapping[str, float] = field(default_factory=dict)  # share of a language's windows that get a question


@dataclass(frozen=True, slots=True)
class Augmentation:
    """How training windows are changed on the fly, see `data.augmentation`. All rates are per word, 0 to 1."""

    windows: float = 1.0  # share of windows that Alam et al.'s changes are tried on
    rate: float = 0.0  # alpha: a word is touched; Alam et al. (2020) use 0.15
    substitute: float = 0.4  # alpha_sub, of the touched
    delete: float = 0.4  # alpha_del, of the touched; the rest get <unk> before them
    random_pieces: float = 0.0  # of the substituted: by a random piece instead of <unk>
    noise_windows: float = 1.0  # share of windows that get the changes below
    fillers: float = 0.0
    repeats: float = 0.0
    cut_offs: float = 0.0
    losses: float = 0.0
    filler_words: Mapping[str, list[str]] = field(  # by language
        default_factory=lambda: {
            "en": ["uh", "um", "er", "you know", "like"],
            "zh": ["嗯", "呃", "啊", "那个"],
            "ms": ["err", "emm", "aa", "apa tu"],
            "id": ["eh", "em", "anu"],
        }
    )


@dataclass(frozen=True, slots=True)
class Recipe:
    """A whole recipe. `model` and `training` go to the trainer, which checks them."""

    name: str
    sources: tuple[Source, ...]
    root: str = "."
    validation: float = 0.015
    sampling: Sampling = field(default_factory=Sampling)
    augmentation: Augmentation = field(default_factory=Augmentation)
    spell_numbers: bool = False  # write numbers, amounts and links in words, see `data.normalisation`
    leak_check: tuple[str, ...] = ()  # benchmark files or folders that no training document may repeat
    max_leak: float = 0.02  # a document sharing more of its text with them is left out
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)


def load_recipe(path: str | Path) -> Recipe:
    """Read a recipe from a YAML file.

    A recipe may build on another in the same folder, named by `base`: its keys replace those of the base, and mappings
    are merged key by key. `only` and `without` choose from the base's sources by name.

    Raises:
        ValueError: if it is not a recipe; the message names the file and the key.
    """
    return build_recipe(_read_content(Path(path)), str(path))


def _read_content(path: Path) -> dict[str, Any]:
    """The dictionary of a recipe file, its base merged in."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"Expected a recipe file at {path}, found none. Check --recipe.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"Expected a YAML recipe in {path}, could not read it: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"Expected {path} to hold the keys of a recipe, got {type(content).__name__}.")
    return _on_base(content, path) if "base" in content else content


def _on_base(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """A recipe's keys over those of its base."""
    base = _read_content(path.parent / str(content.pop("base")))
    only, without = content.pop("only", None), content.pop("without", [])
    rows = {row.get("name", _stem(str(row.get("path", "")))): row for row in base.get("sources", ())}
    unknown = sorted({*(only or ()), *without} - set(rows))
    if unknown:
        raise ValueError(f"Expected in {path} names of the base's sources, got {unknown}. It has {sorted(rows)}.")
    base["sources"] = [row for name, row in rows.items() if (only is None or name in only) and name not in without]
    merged = {**base, **content}
    for key in base.keys() & content.keys():
        if isinstance(base[key], dict) and isinstance(content[key], dict):
            merged[key] = {**base[key], **content[key]}
    return merged


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
    content["augmentation"] = settings_from(Augmentation, content.get("augmentation", {}), f"{where}, augmentation")
    if isinstance(content.get("leak_check"), list):
        content["leak_check"] = tuple(map(str, content["leak_check"]))
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
    names = [source.name for source in recipe.sources]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"Expected different source names in {where}, got {twice} twice. Give each a 'name'.")
    if not 0 <= recipe.validation < 1 or any(source.weight < 0 for source in recipe.sources):
        raise ValueError(f"Expected a validation share from 0 to below 1 and weights of 0 or more in {where}.")
    _check_sampling(recipe.sampling, where)
    _check_augmentation(recipe.augmentation, where)


def _check_sampling(sampling: Sampling, where: str) -> None:
    if not sampling.lengths or min(sampling.lengths) < 8 or min(sampling.lengths.values()) < 0:
        raise ValueError(f"Expected window lengths of 8 pieces or more with shares in {where}, got {sampling.lengths}.")
    if not sampling.stops or min(sampling.stops) < 1 or min(sampling.stops.values()) < 0:
        raise ValueError(f"Expected numbers of stops from 1 on with shares in {where}, got {sampling.stops}.")
    places = ("document_starts", "document_ends", "sentence_ends", "sentence_starts")
    shares = (*places, "filled_windows", "max_filled", "utterances")
    for name, share in [*((name, getattr(sampling, name)) for name in shares), *sampling.questions.items()]:
        if not 0 <= share <= 1:
            raise ValueError(f"Expected {name} in {where} from 0 to 1, got {share}. Correct it.")
    if sum(getattr(sampling, name) for name in places) > 1:
        raise ValueError(
            f"Expected {', '.join(places[:-1])} and {places[-1]} in {where} to add up to 1 at most. Lower one."
        )
    if sampling.temperature <= 0:
        raise ValueError(f"Expected a temperature above 0 in {where}, got {sampling.temperature}. Raise it.")


def _check_augmentation(augmentation: Augmentation, where: str) -> None:
    for f in dataclasses.fields(augmentation):
        share = getattr(augmentation, f.name)
        if f.name != "filler_words" and not 0 <= share <= 1:
            raise ValueError(f"Expected {f.name} in {where}, augmentation, from 0 to 1, got {share}. Correct it.")
    if augmentation.substitute + augmentation.delete > 1:
        raise ValueError(f"Expected substitute and delete in {where} to add up to 1 at most. Lower one.")
    if augmentation.fillers + augmentation.repeats + augmentation.cut_offs + augmentation.losses > 1:
        raise ValueError(f"Expected the rates of noise in {where} to add up to 1 at most. Lower them.")
