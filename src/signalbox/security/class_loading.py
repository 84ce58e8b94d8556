"""Classes that a configuration names by import path, `package.module:Class` or with a dot instead of the colon, where
Kafka's keys name a Java class: policies, principal builders, authorizers, and SASL callbacks.

A callback (`sasl.server.callback.handler.class`, `sasl.login.callback.handler.class`) is called with one argument, a
`CallbackSettings`, at start. Which methods it needs depends on the mechanism:

| key | mechanism | port |
|---|---|---|
| `sasl.server.callback.handler.class` | PLAIN | `PasswordChecker` (security/sasl/plain.py) |
| `sasl.server.callback.handler.class` | OAUTHBEARER | `TokenValidator` (security/oauth/access_token.py) |

Its methods are called in a thread, several at once, and may block: on a directory, on an introspection endpoint. Any
exception besides the port's own rejection fails the attempt; only the exception's type is logged, since its text may
hold a password.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


class CallbackClassError(ValueError):
    """The class cannot be found or instantiated; the message says why."""


@dataclass(frozen=True, slots=True)
class CallbackSettings:
    """Listener ("" on a client) and mechanism; `options` are the login module's, `configs` the values set for this
    mechanism only, by key. Both may hold secrets: they are left out of `repr`."""

    listener_name: str
    mechanism: str
    options: Mapping[str, str] = field(repr=False)
    configs: Mapping[str, str] = field(default_factory=dict, repr=False)


def load_callback(path: str, settings: CallbackSettings, methods: tuple[str, ...]) -> Any:
    """An instance of the class at `path` that has all `methods`. CallbackClassError."""
    try:
        callback = load_class(path)(settings)
    except NoImportPath as error:
        raise CallbackClassError(str(error)) from None
    except Exception as error:
        raise CallbackClassError(f"cannot be made: {type(error).__name__}: {error}") from error
    missing = [name for name in methods if not callable(getattr(callback, name, None))]
    if missing:
        raise CallbackClassError(f"lacks {', '.join(missing)}")
    return callback


class NoImportPath(ValueError):
    """The text cannot name a class; the message says what was expected."""


def load_class(path: str) -> Any:
    """The class (or other attribute) at the path. NoImportPath, any error of the module's import, AttributeError."""
    module, separator, name = path.partition(":") if ":" in path else path.rpartition(".")
    if not (module and separator and name.isidentifier()):
        raise NoImportPath("is no import path: expected package.module:Class")
    return getattr(import_module(module), name)
