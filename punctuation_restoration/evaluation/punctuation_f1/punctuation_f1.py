# mypy: ignore-errors
# (checked from the root, `evaluate` would be the script there and not the library)
"""The scores of this project as a module of the `evaluate` library: the same numbers as `evaluate.py`.

    metric = evaluate.load("path/to/punctuation_f1")        # offline, from any folder but the project's root
    metric.compute(predictions=[["O", "PERIOD"]], references=[["O", "PERIOD"]])["micro_f1"]    # 1.0

Takes label names, one list a text; gives fractions from 0 to 1. Needs the package `punctuation-restoration`.
"""

import datasets

import evaluate
from punctuation_restoration.evaluation.scores import metrics

DESCRIPTION = "Precision, recall and F1 of restored punctuation, per mark and overall; words without mark do not count."


class PunctuationF1(evaluate.Metric):
    """See the module."""

    def _info(self):
        labels = datasets.Sequence(datasets.Value("string"))
        features = datasets.Features({"predictions": labels, "references": labels})
        return evaluate.MetricInfo(
            DESCRIPTION, citation="", inputs_description=metrics.__doc__, features=features
        )

    def _compute(self, predictions, references, label_names=("O", "COMMA", "PERIOD", "QUESTION")):
        return metrics(references, predictions, label_names)
