"""Tells transformers about our configuration, model and task.

transformers' pipelines take seconds to import, so nothing is registered before somebody imports the module of
transformers to which it belongs. Both sides may be imported first, and both need each other: `AFTER` says what follows.
"""

import importlib
import sys
from collections.abc import Callable
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from .default_models import DEFAULT_MODEL, check_model


class DefaultModel(dict[str, Any]):
    """transformers' entry for the default model; reading it checks that there is one."""

    def __getitem__(self, key: str) -> Any:
        check_model(DEFAULT_MODEL)
        return super().__getitem__(key)


def register_configuration() -> None:
    from transformers import AutoConfig

    from .modeling.configuration_punctuation import PunctuationRestorationConfig
    from .modeling.lstm_configuration import PunctuationLSTMConfig

    for kind in (PunctuationRestorationConfig, PunctuationLSTMConfig):
        AutoConfig.register(kind.model_type, kind, exist_ok=True)
    PunctuationRestorationConfig.register_for_auto_class()


def register_model() -> None:
    from transformers import AutoModel, AutoModelForTokenClassification

    from .modeling.lstm_encoder import PunctuationLSTM
    from .modeling.modeling_punctuation import PunctuationRestorationModel as Model

    AutoModel.register(PunctuationLSTM.config_class, PunctuationLSTM, exist_ok=True)
    AutoModelForTokenClassification.register(Model.config_class, Model, exist_ok=True)
    Model.register_for_auto_class("AutoModelForTokenClassification")


def register_task() -> None:
    from transformers import AutoModelForTokenClassification
    from transformers.pipelines import PIPELINE_REGISTRY

    from .pipeline.restoration_pipeline import TASK, PunctuationRestorationPipeline

    # Written straight into the table: `register_pipeline` would have the default model's folder saved with each model.
    PIPELINE_REGISTRY.supported_tasks[TASK] = {
        "impl": PunctuationRestorationPipeline,
        "pt": (AutoModelForTokenClassification,),  # transformers wants one of its own names here
        "default": DefaultModel(model=(DEFAULT_MODEL, "main")),
        "type": "text",
    }


AFTER: dict[str, Callable[[], object]] = {}
for _theirs, _ours, _register in (
    ("transformers.models.auto.configuration_auto", "modeling.configuration_punctuation", register_configuration),
    ("transformers.models.auto.modeling_auto", "modeling.modeling_punctuation", register_model),
    ("transformers.pipelines", "pipeline.restoration_pipeline", register_task),
):
    AFTER[_theirs] = partial(importlib.import_module, f"{__package__}.{_ours}")
    AFTER[f"{__package__}.{_ours}"] = _register


class _Loader(SourceFileLoader):
    """Loads a module as Python does, and then does what `AFTER` says."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        AFTER[module.__name__]()


class _Finder(MetaPathFinder):
    """Finds the modules of `AFTER` where Python does, and has `_Loader` load them."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in AFTER else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


def register_when_loaded() -> None:
    """Register what belongs to modules that are loaded, and the rest when its module is."""
    sys.meta_path.insert(0, _Finder())
    for name in [name for name in AFTER if name in sys.modules]:
        AFTER[name]()
