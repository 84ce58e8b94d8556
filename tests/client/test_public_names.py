from __future__ import annotations

import subprocess
import sys

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
