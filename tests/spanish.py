"""Nine labels as the recipe for Spanish has them."""

from pathlib import Path

from punctuation_restoration.data.recipe import load_recipe
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.pipeline.words import WordFinder

RECIPE = Path(__file__).parents[1] / "recipes" / "spanish.yaml"
MODEL = load_recipe(RECIPE).model
LABELS = MODEL["labels"]
LABEL_KEYS = {"labels": LABELS, "mark_labels": dict(MODEL["mark_labels"])}
CONFIG = PunctuationRestorationConfig(**LABEL_KEYS)
NAMES = CONFIG.label_names
SHORT = {
    "-": "O", ",": "COMMA", ".": "PERIOD", "¿": "OPEN_QUESTION", "?": "CLOSE_QUESTION", "¿?": "FULL_QUESTION",
    "¡": "OPEN_EXCLAMATION", "!": "CLOSE_EXCLAMATION", "¡!": "FULL_EXCLAMATION",
}  # fmt: skip
IDS = {short: NAMES.index(name) for short, name in SHORT.items()}
find_words = WordFinder(CONFIG.mark_labels)
