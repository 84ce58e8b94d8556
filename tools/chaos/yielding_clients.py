"""librdkafka's clients of a run, whose own threads leave the processor to the brokers.

While requests wait for a broker, threads of librdkafka 2.16 poll their sockets without a pause: 60 % of a core each, up
to 180 % of two cores in a whole run; each broker got 5 %, and lost its session. With Linux' policy SCHED_IDLE they run
when no broker can. A policy belongs to a thread, and threads that it starts have the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def yielding_consumer(settings: Mapping[str, Any]) -> Any:
    """A Consumer of confluent-kafka."""
    from confluent_kafka import Consumer

    return _made_yielding(lambda: Consumer(dict(settings)))


def yielding_producer(settings: Mapping[str, Any], **options: Any) -> Any:
    """A Producer of confluent-kafka; `options` are those of its constructor, as `logger`."""
    from confluent_kafka import Producer

    return _made_yielding(lambda: Producer(dict(settings), **options))


def _made_yielding(make: Callable[[], T]) -> T:
    """What `make` returns; the threads that it starts yield to those of all other processes."""
    with ThreadPoolExecutor(1, initializer=_yield_to_brokers) as pool:
        return pool.submit(make).result()


def _yield_to_brokers() -> None:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # 0 is the calling thread
