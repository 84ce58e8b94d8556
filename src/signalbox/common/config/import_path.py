"""Classes that a configuration names by import path, like Java classes in Kafka's configuration:
`package.module:Class`, or with a dot instead of the colon."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class NoImportPath(ValueError):
    """The text cannot name a class; the message says what was expected."""


def load_class(path: str) -> Any:
    """The class (or other attribute) at the path. NoImportPath, any error of the module's import, AttributeError."""
    module, separator, name = path.partition(":") if ":" in path else path.rpartition(".")
    if not (module and separator and name.isidentifier()):
        raise NoImportPath("is no import path: expected package.module:Class")
    return getattr(import_module(module), name)
