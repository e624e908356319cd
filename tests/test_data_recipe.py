"""Recipes: the shipped ones load, and every wrong key or value is named."""

from pathlib import Path
from typing import Any

import pytest

from punctuation_restoration.data.recipe import build_recipe, load_recipe

RECIPES = sorted((Path(__file__).parents[1] / "recipes").glob("*.yaml"))
SOURCE = {"path": "en/talks.jsonl.gz", "language": "en"}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_shipped_recipes_load(path: Path) -> None:
    from punctuation_restoration.training.settings import settings_of

    recipe = load_recipe(path)
    assert recipe.name == path.stem
    assert recipe.sources
    assert settings_of({}, recipe.model, recipe.training).max_steps > 0


def test_filters_at_the_top_hold_for_sources_that_do_not_overrule_them() -> None:
    recipe = build_recipe(
        {
            "name": "r",
            "filters": {"min_sentences": 5, "min_words": 2},
            "sources": [SOURCE, {**SOURCE, "name": "b", "filters": {"min_sentences": 1}}],
        }
    )
    assert [source.name for source in recipe.sources] == ["talks", "b"]
    assert [(source.filters.min_sentences, source.filters.min_words) for source in recipe.sources] == [(5, 2), (1, 2)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sorces": []}, r"only the keys .*got \['sorces'\]"),
        ({"sources": [{"path": "a"}]}, r"source 1 the keys \['language'\]"),
        ({"sources": ["a"]}, r"source 1 to be keys and values, got 'a'"),
        ({"sources": [{**SOURCE, "weight": "high"}]}, "weight in .*source 1 to be float, got 'high'"),
        ({"sources": [SOURCE, SOURCE]}, r"different source names .*\['talks'\] twice"),
        ({"sources": [{**SOURCE, "weight": -1}]}, "weights of 0 or more"),
        ({"sampling": {"lengths": {4: 1.0}}}, "lengths of 8 pieces or more"),
        ({"sampling": {"stops": {0: 1.0}}}, "stops from 1 on"),
        ({"sampling": {"document_starts": 0.6, "document_ends": 0.6}}, "add up to 1"),
        ({"sampling": {"questions": {"ms": 2}}}, "ms in .* from 0 to 1, got 2"),
        ({"sampling": {"temperature": 0}}, "temperature above 0"),
        ({"augmentation": {"rate": 1.5}}, "rate in .* from 0 to 1, got 1.5"),
        ({"augmentation": {"substitute": 0.7, "delete": 0.7}}, "substitute and delete"),
        ({"validation": 1.0}, "validation share"),
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
