"""The threads of a run's clients leave the processor to the brokers; the run's own threads do not."""

from __future__ import annotations

import os
from pathlib import Path

from tools.chaos.yielding_clients import yielding_consumer, yielding_producer

from tests.waiting import until

_NO_BROKER = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


def _policies() -> dict[int, int]:
    """The scheduling policy of each of librdkafka's threads in this process, by thread id."""
    names = {int(each.name): (each / "comm").read_text() for each in Path("/proc/self/task").iterdir()}
    return {thread: os.sched_getscheduler(thread) for thread, name in names.items() if name.startswith("rdk:")}


def test_threads_of_a_client_run_when_no_broker_can() -> None:
    before = _policies()
    consumer, producer = yielding_consumer({**_NO_BROKER, "group.id": "any"}), yielding_producer(_NO_BROKER)

    def made() -> dict[int, int]:
        return {thread: policy for thread, policy in _policies().items() if thread not in before}

    until(lambda: len(made()) >= 4, "either client has a main thread, and one for its broker")  # they name themselves
    assert set(made().values()) == {os.SCHED_IDLE}
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    consumer.close()
    del producer
