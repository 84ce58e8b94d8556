"""`python -m bench.sizing [--quick] [--save]`: what 3, 6 and 12 brokers on one host cost: memory, idle processor time,
and the processor time of a change of metadata. No row has a bound; docs/sizing.md has the figures.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.kafka.sides import Line
from bench.measured.recording import command_line, parse
from bench.processes import cpu_seconds, own_mib, work_folder
from bench.table import Row, Table, absolute
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.testing.process_cluster import ProcessCluster

_BROKERS = (3, 6, 12)
_SETTLE_S = 5.0
_BROKER_RESOURCE, _SET = 4, 0


def sizing_rows(folder: Path, brokers: int, idle_s: float, changes: int) -> Iterator[Row]:
    """The figures of one broker; each change is a dynamic configuration of broker 1 that all brokers apply."""
    with ProcessCluster(folder, brokers) as cluster:
        pids = [broker.process.pid for broker in cluster.brokers.values() if broker.process]
        time.sleep(_SETTLE_S)
        before = sum(map(cpu_seconds, pids))
        time.sleep(idle_s)
        idle = (sum(map(cpu_seconds, pids)) - before) / idle_s / brokers
        host, _, port = cluster.brokers[1].address("CLIENT").rpartition(":")
        line = Line((host, int(port)))
        before = sum(map(cpu_seconds, pids))
        for number in range(changes):
            answer = line.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, _change(number))
            if answer.responses[0].error_code:
                raise RuntimeError(f"a change was rejected: {answer.responses[0].error_message}")
        per_change = (sum(map(cpu_seconds, pids)) - before) / changes / brokers
        line.close()
        memory = statistics.mean(map(own_mib, pids))
    yield absolute(f"{brokers} brokers: memory of its own, each, MiB", memory, None)
    yield absolute(f"{brokers} brokers: idle processor time of each, % of a core", idle * 100, None)
    yield absolute(f"{brokers} brokers: processor time of a change and broker, ms", per_change * 1_000, None)


def _change(number: int) -> Any:
    made = IncrementalAlterConfigsRequest
    config = made.AlterableConfig(name="log.retention.ms", config_operation=_SET, value=str(86_400_000 + number))
    resource = made.AlterConfigsResource(resource_type=_BROKER_RESOURCE, resource_name="", configs=[config])
    return made(resources=[resource])


def main() -> int:
    given = parse(command_line("python -m bench.sizing"))
    table, folder = Table("bench-sizing"), work_folder()
    table.head("one host, brokers as processes of `signalbox up`")
    try:
        for brokers in _BROKERS:
            for row in sizing_rows(folder / str(brokers), brokers, 5.0 if given.quick else 20.0, 200):
                table.add(row)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return table.finish(saved=given.save)


if __name__ == "__main__":
    sys.exit(main())
