"""Recipes: the shipped ones load, and every wrong key or value is named."""

from pathlib import Path
from typing import Any

import pytest

from punctuation_restoration.cli.train import parse_args
from punctuation_restoration.data.recipe import build_recipe, load_recipe
from punctuation_restoration.evaluation.benchmarks import LIST
from punctuation_restoration.training.settings import settings_of

RECIPES = sorted(set((Path(__file__).parents[1] / "recipes").glob("*.yaml")) - {LIST})
SOURCE = {"path": "en/talks.jsonl.gz", "language": "en"}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_shipped_recipes_load(path: Path) -> None:
    recipe = load_recipe(path)
    assert recipe.name == path.stem
    assert recipe.sources
    assert (settings_of({}, recipe).max_steps or 1) > 0


def test_the_command_switches_off_what_a_recipe_switches_on() -> None:
    recipe = build_recipe({"name": "r", "training": {"compile": True, "casing_rate": 0.5}})
    for options, expected in (([], True), (["--no-compile"], False), (["--compile"], True)):
        given = vars(parse_args(["--data", "d", "--output", "o", *options]))
        given = {name: value for name, value in given.items() if name == "compile"}
        assert settings_of(given, recipe).compile is expected


def test_filters_and_words_at_the_top_hold_for_sources_that_do_not_overrule_them() -> None:
    sources = [SOURCE, {**SOURCE, "name": "b", "filters": {"min_sentences": 1}, "max_words": 9}]
    top = {"filters": {"min_sentences": 5, "max_marks_per_word": 0.4}, "max_words": 70}
    recipe = build_recipe({"name": "r", **top, "sources": sources})
    assert [source.name for source in recipe.sources] == ["talks", "b"]
    assert [source.max_words for source in recipe.sources] == [70, 9]
    filters = [source.filters for source in recipe.sources]
    assert [(own.min_sentences, own.max_marks_per_word) for own in filters] == [(5, 0.4), (1, 0.4)]


def test_a_number_may_be_written_as_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("{name: own, sources: [], sampling: {temperature: 2e1, sentence_ends: 5e-1}}")
    recipe = load_recipe(tmp_path / "own.yaml")
    assert (recipe.sampling.temperature, recipe.sampling.sentence_ends) == (20.0, 0.5)


def test_an_empty_key_counts_as_left_out(tmp_path: Path) -> None:
    source = "{path: a.txt, language: x, filters: }"
    (tmp_path / "own.yaml").write_text(f"name: own\nsampling:\nmax_words:\nfilters:\nsources: [{source}]")
    assert load_recipe(tmp_path / "own.yaml") == build_recipe(
        {"name": "own", "sources": [{"path": "a.txt", "language": "x"}]}
    )


def test_a_recipe_may_stand_on_another(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        "{name: base, root: there, filters: {min_sentences: 7}, sources: [{path: a.txt, language: x}, "
        "{path: b.txt, language: x, name: second}], sampling: {temperature: 2.0, lengths: {64: 1}}}"
    )
    (tmp_path / "own.yaml").write_text("{base: base.yaml, name: own, sampling: {temperature: 3.0}}")
    recipe = load_recipe(tmp_path / "own.yaml")
    assert (recipe.name, recipe.root, recipe.sampling.temperature, recipe.sampling.lengths) == (
        "own", "there", 3.0, {64: 1},
    )  # fmt: skip
    assert [source.name for source in recipe.sources] == ["a", "second"]
    assert recipe.sources[0].filters.min_sentences == 7
    (tmp_path / "own.yaml").write_text("{base: base.yaml, only: [second]}")
    assert [source.name for source in load_recipe(tmp_path / "own.yaml").sources] == ["second"]
    (tmp_path / "own.yaml").write_text("{base: base.yaml, only: [third]}")
    with pytest.raises(ValueError, match=r"names of the base's sources, got \['third'\]"):
        load_recipe(tmp_path / "own.yaml")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sorces": []}, r'known keys .* in recipe: can not match "sorces"'),
        ({"sources": [{"path": "a"}]}, r'in recipe, source 1: missing value for field "language"'),
        ({"name": None}, r'in recipe: missing value for field "name"\. Add that key'),
        ({"sources": 3}, "keys and values in recipe, source 1, got 3"),
        ({"sources": ["a"]}, "keys and values in recipe, source 1, got 'a'"),
        ({"sources": [{**SOURCE, "weight": "high"}]}, '"weight" - should be "float" instead of value "high"'),
        ({"sources": [{**SOURCE, "max_words": True}]}, 'source 1: .*"max_words" - should be .*int.*"True"'),
        ({"sources": [{**SOURCE, "filters": {"min_wrds": 2}}]}, 'source 1: can not match "min_wrds"'),
        ({"sampling": {"stops": {"one": 1.0}}}, r'"sampling.stops" - should be .*\[int, float\]'),
        ({"sources": [SOURCE, SOURCE]}, r"different source names, got \['talks', 'talks'\]"),
        ({"sources": [{**SOURCE, "weight": -1}]}, "weights of 0 or more"),
        ({"sampling": {"lengths": {4: 1.0}}}, "lengths of 8 pieces or more"),
        ({"sampling": {"lengths": {64: 0}}}, "lengths of 8 pieces or more with shares"),
        ({"sampling": {"stops": {0: 1.0}}}, "stops from 1 on"),
        ({"sampling": {"document_starts": 0.6, "document_ends": 0.6}}, "sentences of 1 at most together, got 1.8"),
        ({"sampling": {"temperature": 0}}, r"above 0, .*got {'temperature': 0}"),
        ({"sampling": {"max_passes": 0}}, r"above 0, .*got {'max_passes': 0}"),
        ({"spoken_forms": {"numbers": 40}}, "shares from 0 to 1, got {'numbers': 40}"),
        ({"augmentation": {"rate": 1.5}}, "shares from 0 to 1, got {'rate': 1.5}"),
        ({"augmentation": {"substitute": 0.7, "delete": 0.7}}, "substitute and delete"),
        ({"validation": 1.0}, "shares for validation and test"),
        ({"validation": 0.5, "sources": [{**SOURCE, "test": 0.5}]}, "shares for validation and test"),
        ({"test": -0.1}, "shares for validation and test"),
    ],
)
def test_wrong_recipes_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_recipe({"name": "r", "sources": [SOURCE], **changes})


@pytest.mark.parametrize(
    ("content", "message"), [("a: [", "could not read it"), ("- a", "keys of a recipe, got list"), (None, "found none")]
)
def test_files_that_are_no_recipes_are_named(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "r.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=message):
        load_recipe(path)
