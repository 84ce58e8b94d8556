"""Kafka Streams with exactly-once v2: word count, joins and windows, each with changelogs, two with repartition topics.

Each broker is killed once while input is written, the application once, without its local state: it is restored from
the changelogs. The output has every update of the batch computation once.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

from tests.system.ecosystem.committed_records import CommittedRecords, committed
from tests.system.ecosystem.java_program import JavaProgram, pinned_version
from tests.system.ecosystem.program import Program
from tests.system.ecosystem.shaken_cluster import ShakenCluster
from tests.system.ecosystem.streams_input import OUTPUTS, SOURCES, StreamsInput
from tests.system.provision import java, java_class

PARTITIONS = 2
_APPLICATION = "ecosystem-streams"
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"


def run(folder: Path) -> str:
    source = StreamsInput(time.time_ns() // 1_000_000 - 3_600_000, Random(1))
    outputs = dict.fromkeys(OUTPUTS, PARTITIONS)
    with ShakenCluster(folder) as cluster:
        cluster.create(dict.fromkeys((*SOURCES, *OUTPUTS), PARTITIONS))
        cluster.write("users", source.users())
        with CommittedRecords(cluster.bootstrap, outputs) as progress:
            _run_until_killed(folder, cluster, source, progress)
            with _start(folder, cluster, "after") as application:
                application.wait_for("running")
                for node_id in (2, 3):
                    _write_and_kill(cluster, source, progress, node_id)
                application.close()
        output = committed(cluster.bootstrap, outputs)
    differences = source.differences(output)
    assert not differences, f"the output in {', '.join(differences)} differs from the batch computation"
    return f"{source.output_count()} updates, {cluster.kills} brokers and the application killed"


def _run_until_killed(folder: Path, cluster: ShakenCluster, source: StreamsInput, progress: CommittedRecords) -> None:
    with _start(folder, cluster, "before") as application:
        _write(cluster, source)
        progress.read_until(source.output_count())
        _write_and_kill(cluster, source, progress, 1)
        _write(cluster, source)
        assert application.runs, application.output()[-2_000:]
        application.kill()


def _write_and_kill(cluster: ShakenCluster, source: StreamsInput, progress: CommittedRecords, node_id: int) -> None:
    """The application reads all that is written, also while the broker is away."""
    _write(cluster, source)
    with cluster.without(node_id):
        _write(cluster, source)
        progress.read_until(source.output_count())
    _write(cluster, source)
    progress.read_until(source.output_count())


def _write(cluster: ShakenCluster, source: StreamsInput) -> None:
    for topic, records in source.piece().items():
        cluster.write(topic, records)


def _start(folder: Path, cluster: ShakenCluster, state: str) -> JavaProgram:
    """`state` is the folder of the local state."""
    classes = java_class("Streams.java", "streams")
    arguments = [cluster.bootstrap, _APPLICATION, str(folder / state)]
    return JavaProgram([*java(_QUIET, heap="512m"), "-cp", classes, "Streams", *arguments], folder / "streams.log")


PROGRAM = Program(
    "kafka-streams",
    lambda: pinned_version("streams", "kafka-streams"),
    "exactly-once v2: word count, joins, windows equal the batch computation",
    run,
)
