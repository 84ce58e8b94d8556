from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from types import FunctionType
from typing import Any

import pytest

import signalbox.client
from signalbox.client import public_names
from signalbox.client.failures import ClientFailure


@pytest.mark.spec("R10")
@pytest.mark.parametrize("name", public_names.__all__)
def test_every_public_name_is_a_name_of_the_package(name: str) -> None:
    assert getattr(signalbox.client, name) is getattr(public_names, name)
    assert name in dir(signalbox.client)


def test_every_failure_is_public() -> None:
    """So that an application can catch each one by its name."""

    def kinds(kind: type[ClientFailure]) -> set[type[ClientFailure]]:
        return {kind, *(row for child in kind.__subclasses__() for row in kinds(child))}

    ours = {kind.__name__ for kind in kinds(ClientFailure) if kind.__module__.startswith("signalbox.client")}
    assert ours <= set(public_names.__all__)


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match=r"module 'signalbox\.client' has no attribute 'NoSuchName'"):
        signalbox.client.NoSuchName  # type: ignore[attr-defined]  # noqa: B018


def test_a_broker_that_imports_a_module_of_the_package_does_not_load_the_client() -> None:
    code = "import sys, signalbox.client.connection.node; print('signalbox.client.producer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# What a ClusterClient is made of, and the values of two constants.
INTERNAL = {"AnyName", "ConnectionSecurity", "ConnectionSettings", "MetadataUpdater", "MetadataView", "Purpose"}


def types_in(annotation: Any) -> Iterator[type]:
    for part in typing.get_args(annotation):
        yield from types_in(part)
    if isinstance(annotation, type):
        yield annotation


def signatures(value: Any) -> Iterator[Any]:
    """What has annotations: a function, a class with its fields, its public methods and properties."""
    yield value
    if isinstance(value, type):
        for name in dir(value):
            member = inspect.getattr_static(value, name)
            if not name.startswith("_") and isinstance(member, (FunctionType, classmethod, property)):
                yield member.fget if isinstance(member, property) else getattr(member, "__func__", member)


@pytest.mark.spec("R10")
@pytest.mark.parametrize("name", public_names.__all__)
def test_what_a_public_name_takes_and_returns_is_public(name: str) -> None:
    value = getattr(public_names, name)
    if not (isinstance(value, (type, FunctionType)) and value.__module__.startswith("signalbox")):
        return  # a constant
    for signature in signatures(value):
        if isinstance(signature, type) and not is_dataclass(signature):
            continue
        types = [kind for part in typing.get_type_hints(signature).values() for kind in types_in(part)]
        ours = {kind.__name__ for kind in types if kind.__module__.startswith("signalbox")}
        assert ours - INTERNAL <= set(public_names.__all__), signature
