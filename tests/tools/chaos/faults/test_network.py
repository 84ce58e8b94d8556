"""The lines to a broker, cut in each way and restored, as a client of its advertised address sees them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from random import Random

import pytest
from tools.chaos.changes.caller import AnswerLost, Caller, NotSent
from tools.chaos.faults.network import LISTENERS, Network
from tools.chaos.faults.switchboard_process import SwitchboardProcess

from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.cluster import Cluster
from signalbox.testing.free_ports import consecutive_ports

TIMEOUT_S = 0.4


@pytest.fixture
def network(signalbox_cluster: Cluster) -> Iterator[tuple[Network, str]]:
    """A network whose broker 1's CLIENT line leads to a broker of the session's cluster."""
    ports = Network.ports_needed(2)
    with SwitchboardProcess() as board:
        made = Network(board, 2, 1, consecutive_ports(ports, Random()))
        host, _, port = signalbox_cluster.bootstrap_servers.split(",")[0].rpartition(":")
        board.set_home("CLIENT of broker 1", (host, int(port)))
        yield made, made.settings[1]["advertised.listeners"].split(",")[0].removeprefix("CLIENT://")


def answers(caller: Caller) -> bool:
    return len(caller.ask(MetadataRequest(topics=None)).brokers) == 3


def test_every_listener_of_every_broker_has_a_line(network: tuple[Network, str]) -> None:
    made, address = network
    assert list(made.settings) == [1, 2]
    advertised = [entry.split("://")[0] for entry in made.settings[2]["advertised.listeners"].split(",")]
    assert advertised == list(LISTENERS)
    with Caller(address, 5) as caller:
        assert answers(caller)


@pytest.mark.parametrize("cut", ["stall", "mute"])
def test_a_cut_is_silence(network: tuple[Network, str], cut: str) -> None:
    made, address = network
    getattr(made, cut)(1)
    with closing(Caller(address, TIMEOUT_S)) as caller, pytest.raises(AnswerLost):
        answers(caller)
    made.heal(1)
    with Caller(address, 5) as caller:
        assert answers(caller)


def test_or_a_rejection(network: tuple[Network, str]) -> None:
    made, address = network
    with Caller(address, 5) as caller:
        assert answers(caller)
        made.refuse_connections(1)
        with pytest.raises(AnswerLost):
            answers(caller)
    with pytest.raises(NotSent):
        Caller(address, TIMEOUT_S)
    made.heal(1)
    with Caller(address, 5) as caller:
        assert answers(caller)
