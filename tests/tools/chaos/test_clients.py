"""Threads of clients leave the processor to the brokers, which are in the run's session. Its own threads do not."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from tools.chaos.clients import BrokersOfSession, has_lost_its_brokers, made_yielding

from tests.waiting import until
from tools.chaos import clients

_NO_BROKER = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


def _policies() -> dict[int, int]:
    """The scheduling policy of each of librdkafka's threads in this process, by thread id."""
    found = {}
    for each in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # the thread has ended
            if (each / "comm").read_text().startswith("rdk:"):
                found[int(each.name)] = os.sched_getscheduler(int(each.name))
    return found


def test_threads_of_a_client_run_when_no_broker_can() -> None:
    before = _policies()
    consumer = made_yielding(lambda: Consumer({**_NO_BROKER, "group.id": "any"}))
    producer = made_yielding(lambda: Producer(_NO_BROKER))

    def made() -> dict[int, int]:
        return {thread: policy for thread, policy in _policies().items() if thread not in before}

    until(lambda: len(made()) >= 4, "either client has a main thread, and one for its broker")  # they name themselves
    assert set(made().values()) == {os.SCHED_IDLE}
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    consumer.close()
    del producer


def test_brokers_are_in_the_session_of_the_run_but_not_in_its_process_group(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        process = BrokersOfSession.start_node(["http.server", "0", "--bind", "127.0.0.1"], log)
    try:
        assert os.getsid(process.pid) == os.getsid(0)
        assert os.getpgid(process.pid) == process.pid
    finally:
        process.kill()
        process.wait()


def test_a_client_has_lost_its_brokers_if_another_one_reaches_them(
    signalbox_bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_METADATA_S", 3.0)
    unconnected = Producer(_NO_BROKER)
    assert has_lost_its_brokers(unconnected, signalbox_bootstrap)
    assert not has_lost_its_brokers(unconnected, "127.0.0.1:1"), "no client reaches a broker"
    assert not has_lost_its_brokers(Producer({"bootstrap.servers": signalbox_bootstrap}), signalbox_bootstrap)
