"""The start time of a cluster inside a test process: from start to the first produce with acks=all, RF 3.

Runs in a process of its own (`python -m bench.start_time COUNT`), because the measurement needs an interpreter that has
imported `signalbox.testing` and nothing more. Prints a JSON list of seconds, the first start first.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from bench.table import Row, absolute

_BOUND_MS = 300.0


def rows(count: int) -> Iterator[Row]:
    """The median of later starts has a bound; the very first start is printed beside it."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.start_time", str(count + 1)], stdout=subprocess.PIPE, check=True, text=True
    )
    first, *later = (seconds * 1000 for seconds in json.loads(done.stdout.splitlines()[-1]))
    yield absolute("in-process cluster of 3: start to acks=all RF 3, ms", statistics.median(later), _BOUND_MS)
    yield absolute("in-process cluster of 3: first start in a fresh interpreter, ms", first, None)


def main(count: int) -> None:
    from signalbox.client.admin import AdminClient
    from signalbox.client.producer import Producer, ProducerSettings
    from signalbox.testing.cluster import Cluster

    async def produce(bootstrap: str) -> None:
        async with AdminClient.of(bootstrap) as admin:
            await admin.create_topic("first", 1, 3)
            async with Producer(admin.client, ProducerSettings(linger_ms=0)) as producer:
                await (await producer.send("first", b"value"))

    seconds = []
    for _ in range(count):
        started = time.perf_counter()
        cluster = Cluster(brokers=3)
        cluster.start()
        try:
            asyncio.run(produce(cluster.bootstrap_servers))
            seconds.append(time.perf_counter() - started)
        finally:
            cluster.stop()
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(int(sys.argv[1]))
