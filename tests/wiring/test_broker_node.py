"""The order in which the components of a broker start and stop."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from signalbox.metadata.layout import CONTROLLER_IDS
from signalbox.wiring.broker_node import broker_component_list
from signalbox.wiring.broker_node_components import build_broker_node
from tests.configuration.settings import VALUES, config_of
from tests.wiring.contexts import context_of
from tests.wiring.test_node import node_in, tasks_left

_WITH_CONTROLLER = f"{VALUES['listener.security.protocol.map']},CONTROLLER:PLAINTEXT"


def names_of(**changes: str) -> list[str]:
    async def scenario() -> list[str]:
        async with context_of(config_of(**changes)) as context:
            return [component.name for component in broker_component_list(build_broker_node(context))]

    return asyncio.run(scenario())


STARTS_BEFORE = [
    ("check of the metadata store's age", "logs"),  # an older store is rejected before anything is written
    ("metrics page", "broker registration"),  # a broker whose ports are in use is never registered
    ("sockets", "broker registration"),
    ("check of the advertised addresses", "broker registration"),
    ("check of the node id", "broker registration"),
    ("logs", "broker registration"),
    ("broker registration", "listeners"),
    ("controller channels", "listeners"),  # so that the controller's versions are known before the first request
    ("listeners", "controller"),
    ("listeners", "changes of listeners"),
    ("controller", "first metadata"),
]

STOPS_BEFORE = [
    ("controlled shutdown", "housekeeping"),
    ("housekeeping", "new connections"),  # the audit trail is written through this broker's own listener
    ("new connections", "changes of listeners"),
    ("changes of listeners", "requests in flight"),
    ("requests in flight", "controller"),
    ("controller", "group coordinator"),
    ("group coordinator", "broker registration"),
    ("controller channels", "sockets"),
    ("channels to brokers", "sockets"),
    ("sockets", "replicas"),
    ("metadata store guard", "logs"),
    ("replicas", "logs"),
    ("logs", "spare descriptors"),
    ("logs", "metrics page"),
]


def test_what_starts_before_what() -> None:
    names = names_of(signalbox__metrics__http__port="0")
    assert len(set(names)) == len(names)
    assert [pair for pair in STARTS_BEFORE if names.index(pair[0]) > names.index(pair[1])] == []
    assert [pair for pair in STOPS_BEFORE if names.index(pair[0]) < names.index(pair[1])] == []


def test_components_that_depend_on_the_configuration() -> None:
    assert "metrics page" not in names_of(signalbox__metrics__http__port="-1")


@pytest.mark.spec("F15")
def test_a_broker_with_the_controllers_role_registers_as_both(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = node_in(
            tmp_path,
            process__roles="broker,controller",
            controller__listener__names="CONTROLLER",
            listeners=f"{VALUES['listeners']},CONTROLLER://127.0.0.1:0",
            listener__security__protocol__map=_WITH_CONTROLLER,
        )
        await node.start()
        assert await node.components.context.store.children(CONTROLLER_IDS) == ["1"]
        assert "CONTROLLER" in node.describe()["listeners"]
        await node.stop(controlled=False)

    asyncio.run(scenario())


def test_a_broker_that_does_not_become_alive_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        node = node_in(
            tmp_path,
            process__roles="broker",
            controller__listener__names="CONTROLLER",
            listener__security__protocol__map=_WITH_CONTROLLER,
        )
        with pytest.raises(RuntimeError, match="did not send metadata with broker 1 within 0 s"):
            await node.start()
        host, _, port = node.describe()["listeners"]["CLIENT"].rpartition(":")
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, int(port))
        assert await tasks_left() == set()

    monkeypatch.setattr("signalbox.wiring.broker_node._READY_TIMEOUT_S", 0.0)
    asyncio.run(scenario())
