"""Brokers killed together, connections refused at their ports, and brokers started again."""

from __future__ import annotations

import socket

import pytest
from tools.chaos.faults.power import Power


def test_all_are_gone_and_back(power: Power) -> None:
    addresses = [broker.address("CLIENT").rpartition(":") for broker in power.cluster.brokers.values()]
    power.off(power.broker_ids)
    assert not any(broker.running for broker in power.cluster.brokers.values())
    for host, _, port in addresses:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), 5)
    power.on(power.broker_ids)
    assert all(broker.running for broker in power.cluster.brokers.values())
    for host, _, port in addresses:
        socket.create_connection((host, int(port)), 5).close()
    assert all((power.directory(each) / "meta.properties").exists() for each in power.broker_ids)
