"""A recipe file (YAML) -> checked, frozen settings: which sources to read, how to weigh them, cut windows, train."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import yaml
from dacite import Config, DaciteError, MissingValueError, WrongTypeError, from_dict

from punctuation_restoration.data.readers import Fields, list_files, numbered_lines, plain_stem

LABEL_KEYS = ("labels", "mark_labels")
# Other numbers of `Sampling`, `Augmentation` and `SpokenForms` are shares.
ABOVE_0 = ("temperature", "max_passes")
AnySettings = TypeVar("AnySettings")
Shares = Mapping[int, float]  # by number


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
    # File of hashes of ids, 16 hexadecimal digits each, of documents that are only scored.
    held_out: str | None = None
    text_field: str = "text"
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How windows are cut from the words of the sources, see `data.sampling`."""

    # Pieces of a window -> its share.
    lengths: Shares = field(default_factory=lambda: {32: 0.1, 64: 0.2, 128: 0.3, 256: 0.4})
    # A language is drawn with its weighted number of words to the power 1 / temperature,
    temperature: float = 1.0
    # times this, by language; 1 where absent.
    language_weights: Mapping[str, float] = field(default_factory=dict)
    max_passes: float | None = None  # times that a run may read a source; other sources fill up
    document_starts: float = 0.15  # share of windows that begin where a document begins
    document_ends: float = 0.15  # share of windows that end where a document ends
    # A window's last words are decided only at the end of a text. Windows that end anywhere would teach no mark there.
    sentence_ends: float = 0.5  # share of windows that end where a sentence ends
    sentence_starts: float = 0.1  # share of windows that begin after a sentence end
    # Share of steps whose windows are utterances: whole sentences,
    utterances: float = 0.0
    # as many as this: number of sentences -> share.
    stops: Shares = field(default_factory=lambda: {1: 0.5, 2: 0.3, 3: 0.2})


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
    # Benchmark files or folders, or tables of sentences, that no document may repeat.
    leak_check: tuple[str, ...] = ()
    model: Fields = field(default_factory=dict)
    training: Fields = field(default_factory=dict)

    def __post_init__(self) -> None:
        sampling, changes = self.sampling, self.augmentation
        forms = asdict(self.spoken_forms) if self.spoken_forms else {}
        names = sorted(source.name for source in self.sources)
        held_out: list[Any] = [
            (source.validation, source.test) for source in resolved_sources(self)
        ]
        outside = {
            name: number
            for name, number in {**asdict(sampling), **asdict(changes), **forms}.items()
            if isinstance(number, int | float)
            and not (number > 0 if name in ABOVE_0 else 0 <= number <= 1)
        }
        at_documents = sampling.document_starts + sampling.document_ends
        cut = at_documents + sampling.sentence_ends + sampling.sentence_starts
        expected = {
            f"different source names, got {names}": len(set(names)) == len(names),
            "weights of 0 or more": all(source.weight >= 0 for source in self.sources),
            "shares for validation and test of 0 or more, below 1 together": all(
                min(shares) >= 0 and sum(shares) < 1 for shares in held_out
            ),
            f"lengths of 8 pieces or more with shares, got {sampling.lengths}": _are_shares(
                sampling.lengths, least=8
            ),
            f"stops from 1 on with shares, got {sampling.stops}": _are_shares(
                sampling.stops, least=1
            ),
            f"{' and '.join(ABOVE_0)} above 0, shares from 0 to 1, got {outside}": not outside,
            f"starts and ends of documents and sentences of 1 at most together, got {cut}": cut
            <= 1,
            "substitute and delete of 1 at most together": changes.substitute + changes.delete <= 1,
        }
        if wrong := [what for what, is_so in expected.items() if not is_so]:
            raise ValueError(
                f"Expected in recipe {self.name!r} {'; '.join(wrong)}. Change the recipe so."
            )


def _are_shares(shares: Shares, least: int) -> bool:
    """Whether these are shares of numbers from `least` on."""
    return min(shares, default=0) >= least and min(shares.values()) >= 0 < sum(shares.values())


def resolved_sources(recipe: Recipe) -> list[Source]:
    """The sources of a recipe with their whole path, and with its shares where they have none of their own."""
    return [
        replace(
            source,
            path=str(Path(recipe.root) / source.path),
            validation=recipe.validation if source.validation is None else source.validation,
            test=recipe.test if source.test is None else source.test,
        )
        for source in recipe.sources
    ]


def splitter(source: Source) -> Callable[[int], str]:
    """What each document of a source is for, by the hash of its id: `"train"`, `"validation"` or `"test"`.

    It is `"benchmark"` for those that the file of the source lists, which are held out from all of these.
    """
    listed = read_hashes(source.held_out)
    validation, test = source.validation or 0.0, source.test or 0.0

    def split_of(document_hash: int) -> str:
        if document_hash in listed:
            return "benchmark"
        if document_hash < validation * 2.0**64:
            return "validation"
        return "test" if document_hash < (validation + test) * 2.0**64 else "train"

    return split_of


def read_hashes(path: str | None) -> frozenset[int]:
    """The hashes in a file, 16 hexadecimal digits a line, with comments after #; none without a file."""
    if not path:
        return frozenset()
    if not Path(path).is_file():
        raise ValueError(
            f"Expected a file of hashes at {path}, found none. Check held_out in the recipe."
        )
    hashes = set()
    for number, line in numbered_lines(Path(path)):
        for text in line.partition("#")[0].split():
            if not re.fullmatch("[0-9a-fA-F]{16}", text):
                raise ValueError(
                    f"Expected 16 hexadecimal digits in {path}, line {number}, got {text!r:.60}. Write it again."
                )
            hashes.add(int(text, 16))
    return frozenset(hashes)


def text_files(recipe: Recipe) -> list[Path]:
    """All files of a recipe's sources; a `ValueError` for a source that has none."""
    return [file for source in resolved_sources(recipe) for file in list_files(Path(source.path))]


def load_recipe(path: str | Path) -> Recipe:
    """Read a recipe from a YAML file; a `ValueError` names the file and what is wrong.

    `base` names another recipe: keys replace those of the base, mappings are merged, `only` chooses from its sources.
    """
    return build_recipe(_read_content(Path(path)), str(path))


def recipe_for_texts(
    paths: Sequence[str], language: str, validation: float = 0.1, **fields: Any
) -> Recipe:
    """A recipe for texts of one language. A document needs one sentence end, and one to fifty marks a hundred words."""
    filters = Filters(1, min_marks_per_word=0.01)
    names = distinct_names([plain_stem(Path(path)) or "texts" for path in paths])
    sources = [
        Source(name, path, language, filters=filters)
        for name, path in zip(names, paths, strict=True)
    ]
    return Recipe(language, tuple(sources), validation=validation, **fields)


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names, each that is there several times followed by its number."""
    return [
        f"{name}-{number}" if names.count(name) > 1 else name for number, name in enumerate(names)
    ]


def build_recipe(content: Fields, where: str = "recipe") -> Recipe:
    """Check the dictionary of a recipe and give the recipe; a `ValueError` says what is wrong.

    `filters` and `max_words` at the top are every source's defaults; a source without `name` takes that of its file; an
    empty key counts as left out.
    """
    fields: Fields = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in content.items()
        if value is not None
    }
    filters, max_words = fields.pop("filters", {}), fields.pop("max_words", None)
    rows = fields.pop("sources", ())
    sources = []
    for number, row in enumerate(rows if isinstance(rows, tuple) else [rows], 1):
        here = f"{where}, source {number}"
        if not isinstance(row, Mapping):
            raise ValueError(
                f"Expected keys and values in {here}, got {row!r}. Write path and language there."
            )
        row = {"max_words": max_words, **_named(row)}
        row["filters"] = {**filters, **(row.get("filters") or {})}
        sources.append(checked(Source, row, here))
    return checked(Recipe, {**fields, "sources": tuple(sources)}, where)


def checked(kind: type[AnySettings], values: Fields, where: str) -> AnySettings:
    """Build the dataclass `kind` and those in it; a `ValueError` for wrong keys, or values of another type."""
    try:
        return from_dict(
            kind, values, Config(strict=True, type_hooks={int: _number, float: _number})
        )
    except DaciteError as error:
        wanted = f" ({error.field_type})" if isinstance(error, WrongTypeError) else ""
        is_missing = isinstance(error, MissingValueError)
        what_to_do = "Add" if is_missing else "Change or remove"
        raise ValueError(
            f"Expected known keys and values of their types in {where}: {error}{wanted}. {what_to_do} that key."
        ) from error


def _number(value: Any) -> Any:
    """A value where a number belongs: `5e-5`, which YAML takes for text, is one; True and False are none."""
    if isinstance(value, bool):
        return str(value)
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def read_labels(path: str | Path) -> Fields:
    """The `labels` and `mark_labels` of a file (YAML or JSON), as a recipe's `model` has them, or of a recipe."""
    content = _read_content(Path(path))
    model = content.get("model")
    fields = model if isinstance(model, dict) else content
    labels = {key: fields[key] for key in LABEL_KEYS if key in fields}
    has_more = fields is content and labels != fields
    if has_more or not isinstance(labels.get("labels"), list) or not labels["labels"]:
        raise ValueError(
            f"Expected in {path} a list of 'labels' and perhaps 'mark_labels', got {sorted(fields)}. See "
            "recipes/all-marks.yaml."
        )
    return labels


def _read_content(path: Path) -> Fields:
    """The dictionary of a recipe file, its base merged in."""
    try:
        content = yaml.safe_load(path.read_bytes())
    except FileNotFoundError as error:
        raise ValueError(
            f"Expected a recipe file at {path}, found none. Check --recipe or --labels."
        ) from error
    except yaml.YAMLError as error:
        raise ValueError(f"Expected a YAML recipe in {path}, could not read it: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(
            f"Expected {path} to hold the keys of a recipe, got {type(content).__name__}."
        )
    if "base" not in content:
        return content
    merged = _read_content(path.parent / str(content.pop("base")))
    rows = {_named(row)["name"]: row for row in merged.get("sources") or ()}
    only = content.pop("only", rows)
    if unknown := sorted(set(only) - set(rows)):
        raise ValueError(
            f"Expected in {path} names of the base's sources, got {unknown}. It has {sorted(rows)}."
        )
    merged["sources"] = [row for name, row in rows.items() if name in only]
    for key, value in content.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = {**merged[key], **value} if both else value
    return merged


def _named(row: Mapping[str, Any]) -> Fields:
    """A source's row with its name."""
    return {"name": plain_stem(Path(str(row.get("path", "")))), **row}
