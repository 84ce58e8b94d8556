"""librdkafka's clients of a run: their settings, and threads that leave the processor to the brokers.

While requests wait for a broker, threads of librdkafka 2.16 poll their sockets without a pause: 60 % of a core each, up
to 180 % of two cores in a whole run; each broker got 5 %, and lost its session. With Linux' policy SCHED_IDLE they run
when no broker can. A policy belongs to a thread, and threads that it starts have the same. It applies within a session
(autogroup in `sched(7)`): against the brokers' sessions those threads had the weight of a whole process, and a
wiped broker, always ready to run, got a twentieth of a core. So the brokers belong to the session of the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, ClassVar, TypeVar

from signalbox.testing.node_process import InterpreterProcess, NodeProcess, StartNode
from signalbox.testing.process_cluster import ProcessCluster

T = TypeVar("T")

LOST = "its client has lost all brokers, a new one reaches them"
_METADATA_S = 10.0

SETTINGS: dict[str, Any] = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 5,
    "delivery.timeout.ms": 600_000,
    "request.timeout.ms": 5_000,
    "retry.backoff.ms": 50,
    "retry.backoff.max.ms": 300,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
    "socket.connection.setup.timeout.ms": 3_000,
    "topic.metadata.refresh.interval.ms": 5_000,
    "log_level": 2,
}


def has_lost_its_brokers(client: Any, bootstrap: str) -> bool:
    """Whether this client of librdkafka gets no metadata, while a new one does. It happened to librdkafka 2.16 when all
    brokers had been killed: the client closed its connections to those that were there again, and made no other for the
    90 s to the end of the run."""
    from confluent_kafka import Producer

    return not _gets_metadata(client) and _gets_metadata(Producer({"bootstrap.servers": bootstrap, "log_level": 2}))


def _gets_metadata(client: Any) -> bool:
    from confluent_kafka import KafkaException

    try:
        client.list_topics(timeout=_METADATA_S)
    except KafkaException:
        return False
    return True


def made_yielding(make: Callable[[], T]) -> T:
    """What `make` returns, a client or several; the threads of librdkafka that it starts yield to all others."""
    with ThreadPoolExecutor(1, initializer=_yield_to_brokers) as pool:
        return pool.submit(make).result()


def _yield_to_brokers() -> None:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # 0 is the calling thread


def _start_in_session(arguments: Sequence[str], log: IO[bytes]) -> NodeProcess:
    return InterpreterProcess(arguments, log, new_session=False)


class BrokersOfSession(ProcessCluster):
    """Brokers that have precedence over the threads of `made_yielding`: their session is that of this process."""

    start_node: ClassVar[StartNode] = staticmethod(_start_in_session)
