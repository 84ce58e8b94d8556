"""A broker without descriptors for more connections keeps its log directory, and gets its old limit back."""

from __future__ import annotations

import resource
import time

import pytest
from tools.chaos.broker_logs import troubles
from tools.chaos.faults.descriptor_fault import descriptor_faults
from tools.chaos.faults.injector import FaultInjector
from tools.chaos.faults.power import Power
from tools.chaos.plan import Fault, Kind, Target
from tools.chaos.state_reader import StateReader


@pytest.mark.spec("D3")
def test_the_broker_goes_on(power: Power, state: StateReader) -> None:
    broker = power.cluster.brokers[2]
    assert broker.process is not None
    pid, limits = broker.process.pid, resource.prlimit(broker.process.pid, resource.RLIMIT_NOFILE)
    injector = FaultInjector(power.cluster, state, "no-topic", time.monotonic(), descriptor_faults(power.cluster))
    injector.inject(Fault(Kind.DESCRIPTORS, Target.ANY, 0.0, 0.0, 0.5))
    assert (broker.running, broker.process.pid) == (True, pid)
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == limits
    assert "Connections of clients wait" in broker.log_file.read_text()
    assert troubles(broker.log_file) == []
