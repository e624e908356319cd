"""Runs something when a module has been imported, so that importing us does not import it. Knows nothing of ours.

`import transformers.pipelines` takes seconds; `punctuate --help` should not. Registering with it can wait until
somebody else loads it.
"""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Finder(MetaPathFinder):
    """Finds nothing itself: it adds the action to what the others find."""

    def __init__(self) -> None:
        self.actions: dict[str, Callable[[], object]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        action = self.actions.pop(name, None)  # gone, so that the search below passes this finder by
        if action is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_act(module: ModuleType) -> None:
            execute(module)
            action()

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec


_finder = _Finder()


def after_import(name: str, action: Callable[[], object]) -> None:
    """Call `action` once the module `name` has been imported: at once, if it has been already."""
    if name in sys.modules:
        action()
        return
    _finder.actions[name] = action
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
