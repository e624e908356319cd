"""Tells transformers about our configuration, model and task. Knows where the default model is, and nothing else."""

from pathlib import Path

from transformers import AutoConfig, AutoModelForTokenClassification
from transformers.pipelines import PIPELINE_REGISTRY

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.restoration_pipeline import TASK, PunctuationRestorationPipeline

HUB_MODEL = "punctuation-restoration/en-zh-ms"
CHECKOUT_MODEL = Path(__file__).resolve().parents[1] / "checkpoints" / "en-zh-ms"
# A checkout carries the model, so that a fresh clone works offline; a wheel names the Hub.
DEFAULT_MODEL = str(CHECKOUT_MODEL) if (CHECKOUT_MODEL / "config.json").is_file() else HUB_MODEL


def register() -> None:
    """Register configuration, model and pipeline; harmless when called again."""
    AutoConfig.register(PunctuationRestorationConfig.model_type, PunctuationRestorationConfig, exist_ok=True)
    AutoModelForTokenClassification.register(PunctuationRestorationConfig, PunctuationRestorationModel, exist_ok=True)
    PunctuationRestorationConfig.register_for_auto_class()
    PunctuationRestorationModel.register_for_auto_class("AutoModelForTokenClassification")
    if TASK not in PIPELINE_REGISTRY.get_supported_tasks():
        PIPELINE_REGISTRY.register_pipeline(
            TASK,
            pipeline_class=PunctuationRestorationPipeline,
            pt_model=AutoModelForTokenClassification,  # transformers wants one of its own names here
            default={"model": (DEFAULT_MODEL, "main")},
            type="text",
        )
