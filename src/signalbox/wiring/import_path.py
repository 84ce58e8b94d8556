"""Classes that a configuration names by import path, as Kafka's names Java classes."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load_class(path: str) -> Any:
    """The object at `package.module.Name`. ImportError, AttributeError, ValueError say what is wrong with the path."""
    module, dot, name = path.rpartition(".")
    if not dot:
        raise ValueError("expected package.module.Class")
    return getattr(import_module(module), name)
