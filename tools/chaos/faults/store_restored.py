"""The metadata store restored from an older copy, beside newer logs: the start is rejected, then accepted.

The copy is taken while all brokers run. The controller is killed, another one is elected (so that the copy is older),
then all others are killed; the copy is restored. A broker must reject the older store and name the command that accepts
it; after that command the cluster continues. Metadata changes since the copy are lost, as expected; records are not.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from signalbox.testing.process_cluster import ClusterFailed
from tools.chaos.faults.injector import Act, ClusterUnhealthy
from tools.chaos.faults.power import Power
from tools.chaos.faults.store_copies import PutBack
from tools.chaos.plan import Kind
from tools.chaos.state_reader import NO_BROKER, StateReader
from tools.chaos.still_topics import StillTopics

_COMMAND = "store accept-older"
_POLL_INTERVAL_S = 0.05
_TIMEOUT_S = 45.0


@dataclass(frozen=True, slots=True)
class StoreRestored:
    """`back_up` copies the store, and returns a function that restores the copy while no broker runs."""

    power: Power
    state: StateReader
    back_up: Callable[[], PutBack]
    topics: StillTopics

    def acts(self) -> Mapping[Kind, Act]:
        return {Kind.STORE_RESTORED: self.topics.during(self._act)}

    def _act(self, broker_id: int, hold_s: float) -> bool:
        put_back = self.back_up()
        controller_id = self.state.controller_id()
        self.power.off([controller_id])
        self._wait(lambda: self.state.controller_id() not in (NO_BROKER, controller_id), "no other controller")
        time.sleep(hold_s)
        self.power.off([each for each in self.power.broker_ids if each != controller_id])
        for changer in self.topics.others:
            changer.go_back()
        put_back()
        self.state.reconnect()
        self._start_is_rejected(controller_id)
        self._wait(self._is_accepted, f"signalbox {_COMMAND} does not accept the store")
        self.power.on(self.power.broker_ids)
        return False

    def _start_is_rejected(self, but: int) -> None:
        """Starts a broker that has seen the state after the copy. ClusterUnhealthy if it starts; its error must name
        the remedy."""
        broker_id = next(each for each in self.power.broker_ids if each != but)
        try:
            self.power.on([broker_id])
        except ClusterFailed as rejected:
            if _COMMAND not in str(rejected):
                raise
            return
        raise ClusterUnhealthy(f"broker {broker_id} follows a store that is older than its logs")

    def _is_accepted(self) -> bool:
        """True if the command accepted the older store: not before the sessions in the copy have expired."""
        files = [broker.properties_file for broker in self.power.cluster.brokers.values()]
        options = [word for file in files for word in ("--config", str(file))]
        command = [str(Path(sys.executable).with_name("signalbox")), *_COMMAND.split(), *options]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while not holds():
            if time.monotonic() > deadline:
                raise ClusterUnhealthy(f"{what} in {_TIMEOUT_S:.0f} s")
            time.sleep(_POLL_INTERVAL_S)
