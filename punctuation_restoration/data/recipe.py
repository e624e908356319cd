"""A recipe file (YAML) -> checked, frozen settings: which sources to read, how to weigh them, cut windows, train."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from dacite import Config, DaciteError, WrongTypeError, from_dict

from punctuation_restoration.data.readers import list_files, plain_stem

LABEL_KEYS = ("labels", "mark_labels")
AnySettings = TypeVar("AnySettings")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents are used. `marks_per_word` counts every label that is not the first one."""

    min_sentences: int = 3  # the MLM-Punct paper keeps documents of more than two sentences
    min_marks_per_word: float = 0.03  # fewer: captions and lists that nobody punctuated
    max_marks_per_word: float = 0.5  # more: tables, menus, shouting


@dataclass(frozen=True, slots=True)
class Source:
    """One source of documents: a file or a folder in one language."""

    name: str
    path: str
    language: str
    weight: float = 1.0  # times its number of words: how often it is drawn within its language
    validation: float | None = None  # share of its documents held out; None: the recipe's
    test: float | None = None  # share of its documents kept for test; None: the recipe's
    max_words: int | None = None  # stop reading after this many words
    held_out: str | None = (
        None  # file of hashes of ids, see `shards.read_hashes`, of documents that are not read
    )
    text_field: str = "text"
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How windows are cut from the words of the sources, see `data.sampling`."""

    lengths: Mapping[int, float] = field(
        default_factory=lambda: {32: 0.1, 64: 0.2, 128: 0.3, 256: 0.4}
    )
    temperature: float = (
        1.0  # a language is drawn with its weighted number of words to the power 1 / temperature
    )
    language_weights: Mapping[str, float] = field(
        default_factory=dict
    )  # times that, by language; 1 where absent
    document_starts: float = 0.15  # share of windows that begin where a document begins
    document_ends: float = 0.15  # share of windows that end where a document ends
    # A window's last words are decided only at the end of a text. Windows that end anywhere would teach no mark there.
    sentence_ends: float = 0.5  # share of windows that end where a sentence ends
    sentence_starts: float = 0.1  # share of windows that begin after a sentence end
    filled_windows: float = 0.5  # share of windows that show some true marks in their slots
    max_filled: float = (
        0.5  # the share of shown slots in such a window is drawn evenly from 0 to this
    )
    utterances: float = (
        0.0  # share of steps whose windows are utterances: whole sentences, as many as `stops` says
    )
    stops: Mapping[int, float] = field(
        default_factory=lambda: {1: 0.5, 2: 0.3, 3: 0.2}
    )  # shares by number of stops
    questions: Mapping[str, float] = field(
        default_factory=dict
    )  # share of a language's windows that get a question


@dataclass(frozen=True, slots=True)
class Augmentation:
    """How training windows are changed on the fly, see `data.collation`. All rates are per word, 0 to 1."""

    windows: float = 1.0  # share of windows that Alam et al.'s changes are tried on
    rate: float = 0.0  # alpha: a word is touched; Alam et al. (2020) use 0.15
    substitute: float = 0.4  # alpha_sub, of the touched
    delete: float = 0.4  # alpha_del, of the touched; the rest get <unk> before them
    random_pieces: float = 0.0  # of the substituted: by a random piece instead of <unk>


@dataclass(frozen=True, slots=True)
class SpokenForms:
    """Shares of numbers and abbreviations that are written as they are said. 0 to 1, drawn for each of them."""

    numbers: float = 0.0  # in words: `1,200` -> one thousand two hundred
    digits: float = 0.0  # of these, of three to ten digits and no year: digit by digit, as telephone numbers always are
    oh: float = 0.0  # of what English reads digit by digit: 0 is oh, not zero
    letters: float = 0.0  # abbreviations letter by letter: `BBC` -> B B C


@dataclass(frozen=True, slots=True)
class Recipe:
    """A whole recipe. `model` and `training` go to the trainer, which checks them."""

    name: str
    sources: tuple[Source, ...]
    root: str = "."
    validation: float = 0.015
    test: float = 0.0  # share of documents kept for test; 0.1 here and for validation is 80/10/10
    sampling: Sampling = field(default_factory=Sampling)
    augmentation: Augmentation = field(default_factory=Augmentation)
    # How numbers, amounts, links and abbreviations of the texts are written, see `data.normalisation`
    spoken_forms: SpokenForms | None = None
    leak_check: tuple[
        str, ...
    ] = ()  # benchmark files or folders, or tables of sentences, that no document may repeat
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sampling, augmentation = self.sampling, self.augmentation
        lengths, stops = sampling.lengths, sampling.stops
        names = [source.name for source in self.sources]
        held_out = [
            (self.validation, self.test),
            *(held_out_shares(source, self) for source in self.sources),
        ]
        are_lengths = min(lengths, default=0) >= 8 and min(lengths.values()) >= 0 < sum(
            lengths.values()
        )
        can_hold_out = all(min(pair) >= 0 and sum(pair) < 1 for pair in held_out)
        shares = {
            **asdict(sampling),
            **asdict(augmentation),
            **sampling.questions,
            "temperature": 0,
        }
        outside = {
            name: n for name, n in shares.items() if isinstance(n, int | float) and not 0 <= n <= 1
        }
        kinds = (
            sampling.document_starts
            + sampling.document_ends
            + sampling.sentence_ends
            + sampling.sentence_starts
        )
        expected = {
            f"different source names, got {sorted(names)}": len(set(names)) == len(names),
            "weights of 0 or more": all(source.weight >= 0 for source in self.sources),
            "shares for validation and test of 0 or more, below 1 together": can_hold_out,
            f"lengths of 8 pieces or more with shares, got {lengths}": are_lengths,
            f"stops from 1 on with shares, got {stops}": min(stops, default=0) >= 1
            and min(stops.values()) >= 0,
            f"a temperature above 0, got {sampling.temperature}": sampling.temperature > 0,
            f"shares from 0 to 1, got {outside}": not outside,
            f"starts and ends of documents and sentences of 1 at most together, got {kinds}": kinds
            <= 1,
            "substitute and delete of 1 at most together": augmentation.substitute
            + augmentation.delete
            <= 1,
        }
        if wrong := [what for what, is_so in expected.items() if not is_so]:
            raise ValueError(
                f"Expected in recipe {self.name!r} {'; '.join(wrong)}. Change the recipe so."
            )


def held_out_shares(source: Source, recipe: Recipe) -> tuple[float, float]:
    """The shares of a source's documents for validation and for test: its own, or else the recipe's."""
    validation = recipe.validation if source.validation is None else source.validation
    return validation, recipe.test if source.test is None else source.test


def text_files(recipe: Recipe) -> list[Path]:
    """All files of a recipe's sources; a `ValueError` for a source that has none."""
    files: list[Path] = []
    for source in recipe.sources:
        files += list_files(Path(recipe.root) / source.path)
    return files


def load_recipe(path: str | Path) -> Recipe:
    """Read a recipe from a YAML file; a `ValueError` names the file and what is wrong.

    `base` names another recipe: keys replace those of the base, mappings are merged, `only` chooses from its sources.
    """
    return build_recipe(_read_content(Path(path)), str(path))


def build_recipe(content: Mapping[str, Any], where: str = "recipe") -> Recipe:
    """Check the dictionary of a recipe and give the recipe; a `ValueError` says what is wrong.

    `filters` and `max_words` at the top are every source's defaults; a source without `name` takes that of its file; an
    empty key counts as left out.
    """
    given = {key: value for key, value in content.items() if value is not None}
    content = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
    }
    defaults, most, rows = (
        content.pop("filters", {}),
        content.pop("max_words", None),
        content.pop("sources", ()),
    )
    sources = list[Source]()
    for number, row in enumerate(rows if isinstance(rows, tuple) else [rows], 1):
        here = f"{where}, source {number}"
        if not isinstance(row, Mapping):
            raise ValueError(
                f"Expected keys and values in {here}, got {row!r}. Write path and language there."
            )
        row = {
            "max_words": most,
            **_named(row),
            "filters": {**defaults, **(row.get("filters") or {})},
        }
        sources.append(checked(Source, row, here))
    return checked(Recipe, {**content, "sources": tuple(sources)}, where)


def checked(kind: type[AnySettings], values: Mapping[str, Any], where: str) -> AnySettings:
    """Build the dataclass `kind` and those in it; a `ValueError` for wrong keys, or values of another type."""
    # True and False, which Python takes for numbers, become text where a number belongs; `5e-5`, which YAML takes for
    # text, becomes a number.
    hooks: dict[Any, Any] = {
        int: lambda value: str(value) if isinstance(value, bool) else value,
        float: _number,
    }
    try:
        return from_dict(kind, values, Config(strict=True, type_hooks=hooks))
    except DaciteError as error:
        wanted = f" ({error.field_type})" if isinstance(error, WrongTypeError) else ""
        what = f"known keys and values of their types in {where}: {error}{wanted}"
        raise ValueError(f"Expected {what}. Change or remove that key.") from error


def _number(value: Any) -> Any:
    try:
        return (
            float(value)
            if isinstance(value, str)
            else str(value)
            if isinstance(value, bool)
            else value
        )
    except ValueError:
        return value


def read_labels(path: str | Path) -> dict[str, Any]:
    """The `labels` and `mark_labels` of a file (YAML or JSON), as a recipe's `model` has them, or of a recipe."""
    content = _read_content(Path(path))
    fields = content["model"] if isinstance(content.get("model"), dict) else content
    found = {key: fields[key] for key in LABEL_KEYS if key in fields}
    if not isinstance(found.get("labels"), list) or (fields is content and found != fields):
        wanted = f"in {path} 'labels' and perhaps 'mark_labels'"
        raise ValueError(f"Expected {wanted}, got {sorted(fields)}. See recipes/all-marks.yaml.")
    return found


def _read_content(path: Path) -> dict[str, Any]:
    """The dictionary of a recipe file, its base merged in."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(
            f"Expected a recipe file at {path}, found none. Check --recipe or --labels."
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"Expected a YAML recipe in {path}, could not read it: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(
            f"Expected {path} to hold the keys of a recipe, got {type(content).__name__}."
        )
    if "base" not in content:
        return content
    base = _read_content(path.parent / str(content.pop("base")))
    rows = {_named(row)["name"]: row for row in base.get("sources") or ()}
    only = content.pop("only", rows)
    if unknown := sorted(set(only) - set(rows)):
        raise ValueError(
            f"Expected in {path} names of the base's sources, got {unknown}. It has {sorted(rows)}."
        )
    base["sources"] = [row for name, row in rows.items() if name in only]
    shared = [
        key for key in base if isinstance(base[key], dict) and isinstance(content.get(key), dict)
    ]
    return {**base, **content, **{key: {**base[key], **content[key]} for key in shared}}


def _named(row: Mapping[str, Any]) -> dict[str, Any]:
    """A source's row with its name."""
    return {"name": plain_stem(Path(str(row.get("path", "")))), **row}
