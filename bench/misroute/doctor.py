"""How long `signalbox doctor` takes, as a command with its defaults: its imports are included."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

from tests.client.loopback_cluster import LoopbackCluster
from tests.doctor.hostile import full_backlog, server, silent
from tests.doctor.loopback import add_brokers

from bench.rounds import Rounds
from bench.table import Row
from signalbox.testing.process_cluster import ProcessCluster

_COMMAND = [sys.executable, "-c", "from signalbox.cli.main import run; run()", "doctor", "--json"]
_LISTENERS = ("CLIENT", "INTERNAL", "EXTERNAL")
_WORKING, _OF_EACH_KIND = 10, 30


def doctor_rows(folder: Path, repeats: int) -> Iterator[Row]:
    """Each is the median of some runs."""
    yield Rounds(tuple(_listeners(folder, repeats))).own_row("doctor: 3 brokers with 3 listeners each, s", 2.0)
    times = asyncio.run(_hundred_addresses(repeats))
    yield Rounds(tuple(times)).own_row("doctor: 100 addresses, 90 of which do not respond, s", 15.0)


def _listeners(folder: Path, repeats: int) -> Iterator[float]:
    """Everything is right: three bootstrap entries, one for each listener."""
    names = (*_LISTENERS, "REPLICATION", "CONTROL")
    listeners = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in names),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
    }
    with ProcessCluster(folder, 3, overrides=listeners) as cluster:
        entries = [cluster.bootstrap(name) for name in _LISTENERS]
        for _ in range(repeats):
            began = time.monotonic()
            done = subprocess.run([*_COMMAND, *entries], capture_output=True, text=True, timeout=120)
            yield time.monotonic() - began
            _check(done.stdout, done.returncode, 0, 3 * len(_LISTENERS))


async def _hundred_addresses(repeats: int) -> list[float]:
    """30 refuse connections, 30 accept them and keep silent, 30 have a full backlog; the others are nodes."""
    times = []
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(LoopbackCluster())
        await add_brokers(cluster, *range(1, _WORKING + 1))
        targets = [await stack.enter_async_context(server(silent)) for _ in range(_OF_EACH_KIND)]
        for kind in range(2 * _OF_EACH_KIND):
            listening, queued = full_backlog()
            for sock in [*queued, listening]:
                stack.callback(sock.close)
            targets.append(listening.getsockname())
            if kind < _OF_EACH_KIND:
                listening.close()  # nothing listens there any more
        cluster.advertised.update(enumerate(targets, _WORKING + 1))
        bootstrap = cluster.bootstrap.partition(",")[0]
        for _ in range(repeats):
            began = time.monotonic()
            process = await asyncio.create_subprocess_exec(*_COMMAND, bootstrap, stdout=subprocess.PIPE)
            output, _ = await process.communicate()
            times.append(time.monotonic() - began)
            _check(output.decode(), process.returncode, 1, len(cluster.advertised))
    return times


def _check(report: str, status: int | None, expected_status: int, addresses: int) -> None:
    """RuntimeError: the doctor came to another result, or did not examine every address."""
    rows = [row for listener in json.loads(report)["examination"]["listeners"] for row in listener["addresses"]]
    examined = sum(row["examined"] for row in rows)
    if (status, examined) != (expected_status, addresses):
        raise RuntimeError(f"the doctor ended with {status} and has examined {examined} of {addresses} addresses")
