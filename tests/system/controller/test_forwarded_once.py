"""The controller dies between the commit of a forwarded change and its response: the client gets the success."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tools.chaos.state_reader import state_in_file

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK, metric
from tests.system.wire import dial
from tests.waiting import until

pytestmark = [pytest.mark.timeout(120), pytest.mark.spec("F5", "M3")]

_STORE = "test.metadata.file"  # our own key, which the policy reads


class DiesWithTheCommit:
    """A policy that ends its process as soon as a topic named `deadly` is in the store."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._file = configuration[_STORE]

    def validate(self, topic: str, *_: Any) -> None:
        if topic == "deadly":
            threading.Thread(target=self._wait_and_die, daemon=True).start()

    def _wait_and_die(self) -> None:
        database = sqlite3.connect(f"file:{self._file}?mode=ro", uri=True, isolation_level=None)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if database.execute("SELECT 1 FROM entry WHERE path = '/brokers/topics/deadly'").fetchone():
                os.kill(os.getpid(), signal.SIGKILL)


def test_a_change_that_was_made_is_not_rejected_as_already_there(tmp_path: Path) -> None:
    file = tmp_path / "metadata.db"
    overrides = {
        **QUICK,
        "signalbox.audit.enable": "false",
        "controlled.shutdown.enable": "false",
        "create.topic.policy.class.name": f"{__name__}.DiesWithTheCommit",
        _STORE: str(file),
    }
    with ProcessCluster(tmp_path, 3, overrides=overrides) as cluster, state_in_file(file) as state:
        controller = until(lambda: max(state.controller_id(), 0), "a controller")
        other = next(node_id for node_id in cluster.brokers if node_id != controller)
        topic = CreateTopicsRequest.CreatableTopic(name="deadly", num_partitions=3, replication_factor=2)
        with dial(cluster, other) as wire:
            wanted = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
            answer: CreateTopicsResponse = wire.ask(ApiKey.CREATE_TOPICS, 7, wanted)
        [created] = answer.topics
        assert Error.of(created.error_code) is Error.NONE, created.error_message
        assert not cluster.brokers[controller].running, "the answer came from its successor"
        assert metric(cluster, other, "signalbox_client_controllerchannel_retries_total", channel="forwarding")
        assert state.controller_id() != controller
        assert set(state.leaders("deadly")) == {0, 1, 2}
