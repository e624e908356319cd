"""Registers our configurations, models and task with transformers.

Importing transformers takes seconds, so each registration waits until its module of transformers is imported.
"""

import importlib
import logging
import sys
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

    from .modeling.configuration_punctuation import PunctuationRestorationConfig as Config

    AutoConfig.register(Config.model_type, Config, exist_ok=True)
    Config.register_for_auto_class()


def register_model() -> None:
    from transformers import AutoModelForTokenClassification

    from .modeling.modeling_punctuation import PunctuationRestorationModel as Model

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
    logging.getLogger("transformers.pipelines").addFilter(is_no_warning_of_our_default)


def is_no_warning_of_our_default(record: logging.LogRecord) -> bool:
    """Whether a message may be shown. transformers warns of every default model; ours is what the user asked for."""
    return f"defaulted to {DEFAULT_MODEL} " not in record.getMessage()


AUTO = "transformers.models.auto"
OURS = {  # imported after the module of transformers; it imports that one itself, so either may come first
    f"{AUTO}.configuration_auto": f"{__package__}.modeling.configuration_punctuation",
    f"{AUTO}.modeling_auto": f"{__package__}.modeling.modeling_punctuation",
    "transformers.pipelines": f"{__package__}.pipeline.restoration_pipeline",
}
REGISTER = dict(
    zip(OURS.values(), (register_configuration, register_model, register_task), strict=True)
)


def follow(name: str) -> None:
    """After a module of transformers import ours, after one of ours register it."""
    importlib.import_module(OURS[name]) if name in OURS else REGISTER[name]()


class Hook(SourceFileLoader):
    """Import hook: loads the modules above as Python does, then does what follows from them."""

    @classmethod
    def find_spec(cls, name: str, *where: Any) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, *where) if name in OURS or name in REGISTER else None
        if spec and spec.origin:
            spec.loader = cls(name, spec.origin)
        return spec

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        follow(module.__name__)


def register_when_loaded() -> None:
    """Register what belongs to modules that are loaded, and the rest when its module is."""
    sys.meta_path.insert(0, Hook)
    for name in [name for name in (*OURS, *REGISTER) if name in sys.modules]:
        follow(name)
