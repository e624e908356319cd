"""Tells transformers about our configuration, model and task. Knows where the default model is, and nothing else.

Importing transformers takes seconds; `punctuate --help` should not. So registering waits until somebody else loads it.
"""

import functools
import importlib
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

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


class _Acting(MetaPathFinder):
    """Finds nothing itself: to what the others find for some names it adds an action, once the module is loaded."""

    def __init__(self, actions: dict[str, Callable[[], object]]) -> None:
        self.actions = actions

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        action = self.actions.pop(name, None)  # gone, so that the search below passes this finder by
        spec = find_spec(name) if action else None
        if not action or spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_act(module: ModuleType) -> None:
            execute(module)
            action()

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec


def register_when_loaded() -> None:
    """Load each part of ours after that of transformers to which it belongs, whoever loads that, and register it."""
    actions: dict[str, Callable[[], object]] = {}
    for theirs, ours, action in (
        ("models.auto.configuration_auto", "modeling.configuration_punctuation", register_configuration),
        ("models.auto.modeling_auto", "modeling.modeling_punctuation", register_model),
        ("pipelines", "pipeline.restoration_pipeline", register_task),
    ):
        actions[f"punctuation_restoration.{ours}"] = action
        load = functools.partial(importlib.import_module, f"punctuation_restoration.{ours}")
        actions[f"transformers.{theirs}"] = load
    sys.meta_path.insert(0, _Acting(actions))
    for name in [name for name in actions if name in sys.modules]:
        actions.pop(name)()


def register_configuration() -> None:
    from transformers import AutoConfig

    from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
    from punctuation_restoration.modeling.lstm_configuration import PunctuationLSTMConfig

    for kind in (PunctuationRestorationConfig, PunctuationLSTMConfig):
        AutoConfig.register(kind.model_type, kind, exist_ok=True)
    PunctuationRestorationConfig.register_for_auto_class()


def register_model() -> None:
    from transformers import AutoModel, AutoModelForTokenClassification

    from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
    from punctuation_restoration.modeling.lstm_encoder import PunctuationLSTM
    from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel

    AutoModel.register(PunctuationLSTM.config_class, PunctuationLSTM, exist_ok=True)
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
