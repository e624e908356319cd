"""Tells transformers about our configuration, model and task. Knows where the default model is, and nothing else.

transformers is imported in the functions, so that who only asks for the default model need not wait for it.
"""

import functools
import importlib
from pathlib import Path
from typing import Any

from punctuation_restoration.after_import import after_import

HUB_MODEL = "punctuation-restoration/en-zh-ms"
CHECKOUT_MODEL = Path(__file__).resolve().parents[1] / "checkpoints" / "en-zh-ms"
# A checkout carries the model, so that a fresh clone works offline; a wheel names the Hub.
DEFAULT_MODEL = str(CHECKOUT_MODEL) if (CHECKOUT_MODEL / "config.json").is_file() else HUB_MODEL


class DefaultModel(dict):
    """transformers' entry for the default model; says what to do where that can be neither found nor fetched."""

    def __getitem__(self, key: str) -> Any:
        from huggingface_hub import constants, try_to_load_from_cache

        is_cached = DEFAULT_MODEL != HUB_MODEL or isinstance(try_to_load_from_cache(HUB_MODEL, "config.json"), str)
        if key == "model" and not is_cached and constants.HF_HUB_OFFLINE:
            raise OSError(
                f"Expected the default model {HUB_MODEL} in the cache, it is not there and HF_HUB_OFFLINE is set. Run "
                f"`hf download {HUB_MODEL}` once where there is a network, or pass "
                'pipeline("punctuation-restoration", model="path/to/checkpoint").'
            )
        return super().__getitem__(key)


def register() -> None:
    """Register configuration, model and pipeline now; harmless when called again."""
    register_configuration()
    register_model()
    register_task()


def register_when_loaded() -> None:
    """Load each part of ours after that of transformers to which it belongs, whoever loads that, and register it."""
    for theirs, ours, action in (
        ("models.auto.configuration_auto", "modeling.configuration_punctuation", register_configuration),
        ("models.auto.modeling_auto", "modeling.modeling_punctuation", register_model),
        ("pipelines", "pipeline.restoration_pipeline", register_task),
    ):
        module = f"punctuation_restoration.{ours}"
        # Ours first: where theirs is loaded already, it loads ours at once.
        after_import(module, action)
        after_import(f"transformers.{theirs}", functools.partial(importlib.import_module, module))


def register_configuration() -> None:
    from transformers import AutoConfig

    from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig

    AutoConfig.register(PunctuationRestorationConfig.model_type, PunctuationRestorationConfig, exist_ok=True)
    PunctuationRestorationConfig.register_for_auto_class()


def register_model() -> None:
    from transformers import AutoModelForTokenClassification

    from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
    from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel

    AutoModelForTokenClassification.register(PunctuationRestorationConfig, PunctuationRestorationModel, exist_ok=True)
    PunctuationRestorationModel.register_for_auto_class("AutoModelForTokenClassification")


def register_task() -> None:
    from transformers import AutoModelForTokenClassification
    from transformers.pipelines import PIPELINE_REGISTRY

    from punctuation_restoration.pipeline.restoration_pipeline import TASK, PunctuationRestorationPipeline

    if TASK in PIPELINE_REGISTRY.get_supported_tasks():
        return
    PIPELINE_REGISTRY.register_pipeline(
        TASK,
        pipeline_class=PunctuationRestorationPipeline,
        pt_model=AutoModelForTokenClassification,  # transformers wants one of its own names here
        default=DefaultModel(model=(DEFAULT_MODEL, "main")),
        type="text",
    )
    # What a saved pipeline says of itself must not name a folder of this machine.
    ours: Any = PunctuationRestorationPipeline
    ours._registered_impl = {TASK: {k: v for k, v in ours._registered_impl[TASK].items() if k != "default"}}
