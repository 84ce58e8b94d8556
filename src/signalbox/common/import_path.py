"""Classes that a configuration names by import path, as Kafka's names Java classes: `package.module:Class`, or with a
dot between them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class NoImportPath(ValueError):
    """The text cannot name a class; the message says what was expected."""


def load_class(path: str) -> Any:
    """What the path names. NoImportPath, what importing the module raises, AttributeError."""
    module, separator, name = path.partition(":") if ":" in path else path.rpartition(".")
    if not (module and separator and name.isidentifier()):
        raise NoImportPath("is no import path: expected package.module:Class")
    return getattr(import_module(module), name)
