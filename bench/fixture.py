"""`python -m bench.fixture`: how long a test waits for the test kit (`make bench-fixture`). The figures are printed.

Each is the time from the request for a cluster, or for a topic of a shared one, to the first acknowledged record of a
client that was made for it. The first cluster of a process includes the imports.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

_ROUNDS = 10
_TOPIC_ROUNDS = 30


def main() -> None:
    print(f"first cluster, imports included   {_timed(_new_cluster):7.1f} ms")
    clusters = [_timed(_new_cluster) for _ in range(_ROUNDS)]
    print(f"further cluster of three brokers  {statistics.median(clusters):7.1f} ms (median of {_ROUNDS})")
    from signalbox.testing.kafka_cluster.kafka_cluster import ClusterPool

    with ClusterPool() as pool:
        pool.get()
        topics = [_timed(partial(_new_topic, pool, f"t{number}")) for number in range(_TOPIC_ROUNDS)]
    print(f"new topic of a shared cluster     {statistics.median(topics):7.1f} ms (median of {_TOPIC_ROUNDS})")


def _timed(work: Callable[[], float]) -> float:
    """Milliseconds from the call of `work` to the instant that it returns."""
    began = time.perf_counter()
    return (work() - began) * 1000


def _new_cluster() -> float:
    from signalbox.testing.kafka_cluster.kafka_cluster import ClusterPool

    with ClusterPool() as pool:
        return _new_topic(pool, "t")


def _new_topic(pool: object, name: str) -> float:
    from signalbox.client import ProducerSettings, SyncClient
    from signalbox.testing.kafka_cluster.kafka_cluster import ClusterPool

    assert isinstance(pool, ClusterPool)
    cluster = pool.get()
    cluster.topics.create(name)
    settings = cluster.client_config().settings()
    with SyncClient(settings) as client, client.producer(ProducerSettings(linger_ms=0)) as producer:
        producer.send(name, b"first").result(60)
        return time.perf_counter()


if __name__ == "__main__":
    main()
