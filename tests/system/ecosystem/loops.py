"""The transactional loops of all clients: consume, transform, produce, with the offsets in the same transaction.

Each loop is killed inside a transaction, and started again with its transactional id; then each broker is killed once,
and the loop goes on while it is away. A loop that ends with an error is started again, and one that does nothing for
a time is killed and started again, as its user would do: it may lose or repeat nothing either. The row says how often
that was. Some clients wait for a group coordinator that is dead without end: librdkafka 2.16
(issue 5511), aiokafka (issue 1145), kafka-python 3.0 in `send_offsets_to_transaction`.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen
from typing import Self

import confluent_kafka

from tests.system.ecosystem.committed_records import CommittedRecords
from tests.system.ecosystem.java_program import pinned_version
from tests.system.ecosystem.program import Program
from tests.system.ecosystem.shaken_cluster import ShakenCluster, Written
from tests.system.provision import HERE, node_modules
from tests.system.transactions import loop_programs
from tests.system.transactions.loop import LoopProgram, RunningLoop, committed_offset, numbers_in

_SOURCE, _TARGET, _NAME = "source", "target", "loop"
_PIECE = 60
_PIECES = 8
_COUNT = _PIECE * _PIECES
_MOST_ENDS = 12
_HANG_S = 45.0
_END_S = 120.0
_PROJECT = HERE.parents[1]


class KeptLoop(threading.Thread):
    """A loop that is started again whenever it ends with an error; ended by the block."""

    def __init__(self, arguments: list[str], environment: dict[str, str], log: Path) -> None:
        super().__init__()
        self._arguments, self._environment, self._log = arguments, environment, log
        self._lock = threading.Lock()
        self._process: Popen[bytes] | None = None
        self._stopped = False
        self.ends = 0
        self.hangs = 0
        self.complete = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()
        self.join()

    def wait_for(self, reached: Callable[[float], bool], what: str) -> None:
        """Waits for what the loop does; `reached` waits so many seconds for it. A loop that hangs is killed once."""
        if not reached(_HANG_S):
            self.hangs += 1
            with self._lock:
                if self._process is not None:
                    self._process.kill()
            assert reached(_END_S), f"{what}: not yet; the loop's output is in {self._log}"

    def run(self) -> None:
        while self.ends <= _MOST_ENDS and (process := self._start()) is not None:
            if process.wait() == 0:
                self.complete.set()
                return
            self.ends += 1

    def _start(self) -> Popen[bytes] | None:
        """None when the block has ended."""
        with self._lock, self._log.open("ab") as log:
            if self._stopped:
                return None
            self._process = Popen(
                self._arguments, cwd=_PROJECT, env=self._environment, stdin=DEVNULL, stdout=log, stderr=STDOUT
            )
            return self._process


def run(program: LoopProgram, folder: Path) -> str:
    environment = {**os.environ, **program.environment()}
    with ShakenCluster(folder) as cluster:
        cluster.create({_SOURCE: 1, _TARGET: 2})
        arguments = [*program.command(), cluster.bootstrap, _SOURCE, _TARGET, _NAME, str(_COUNT)]
        write_piece(cluster, 0)
        RunningLoop([*arguments, "produced:3"], environment).kill_when_paused()
        with KeptLoop([*arguments, "-"], environment, folder / "loop.log") as loop:
            _kill_each_broker(cluster, loop)
            loop.wait_for(loop.complete.wait, "the end of the loop")
        check_target(cluster)
    trouble = f"it ended {loop.ends - loop.hangs} times with an error, hung {loop.hangs} times"
    return f"{_COUNT} records, the loop and {cluster.kills} brokers killed, {trouble}"


def _kill_each_broker(cluster: ShakenCluster, loop: KeptLoop) -> None:
    """The loop has read all that is written, also while a broker is away."""
    with CommittedRecords(cluster.bootstrap, {_TARGET: 2}) as progress:
        for node_id in (1, 2, 3):
            write_piece(cluster, 2 * node_id - 1)
            with cluster.without(node_id):
                write_piece(cluster, 2 * node_id)
                loop.wait_for(partial(progress.reads, (2 * node_id + 1) * _PIECE), f"progress without broker {node_id}")
    write_piece(cluster, _PIECES - 1)


def write_piece(cluster: ShakenCluster, piece: int) -> None:
    """Writes the numbers of a piece to the source."""
    cluster.write(_SOURCE, (Written(str(number)) for number in range(piece * _PIECE, (piece + 1) * _PIECE)))


def check_target(cluster: ShakenCluster) -> None:
    """Every number is in its partition once, in order, and all offsets are committed."""
    expected = [[number * 2 for number in range(_COUNT) if number % 2 == partition] for partition in (0, 1)]
    found = numbers_in(cluster.bootstrap, _TARGET, "read_committed")
    assert found == expected, _difference(expected, found)
    assert committed_offset(cluster.bootstrap, _NAME, _SOURCE) == _COUNT
    aborted = sum(map(len, numbers_in(cluster.bootstrap, _TARGET, "read_uncommitted"))) - _COUNT
    assert aborted >= 1, "the records of the transaction that was killed are not there, aborted"


def _difference(expected: Iterable[list[int]], found: Iterable[list[int]]) -> str:
    rows = list(zip(expected, found, strict=True))
    lost = [sorted(set(right) - set(read)) for right, read in rows]
    repeated = [sorted({number for number in read if read.count(number) > 1}) for _, read in rows]
    return f"lost {lost}, repeated {repeated}" if any(lost) or any(repeated) else "the order differs"


def _of_package(name: str) -> Callable[[], str]:
    return partial(importlib.metadata.version, name)


def _of_java(project: str, artifact: str) -> Callable[[], str]:
    return lambda: f"kafka-clients {pinned_version(project, artifact)}"


def _of_librdkafka() -> str:
    return f"{confluent_kafka.__version__}, librdkafka {confluent_kafka.libversion()[0]}"


def _of_kafkajs() -> str:
    return str(json.loads((node_modules() / "kafkajs" / "package.json").read_text())["version"])


def _of_go_module(module: str) -> Callable[[], str]:
    def version() -> str:
        lines = (HERE / "go" / "go.mod").read_text().splitlines()
        return next(line.split()[1] for line in lines if line.split()[:1] == [module])

    return version


def _program(loop: LoopProgram, version: Callable[[], str]) -> Program:
    return Program(loop.name, version, "transactional consume-transform-produce, each record once", partial(run, loop))


PROGRAMS = (
    _program(loop_programs.LIBRDKAFKA, _of_librdkafka),
    _program(loop_programs.AIOKAFKA, _of_package("aiokafka")),
    _program(loop_programs.KAFKA_PYTHON, _of_package("kafka-python")),
    _program(loop_programs.SIGNALBOX, _of_package("signalbox-broker")),
    _program(loop_programs.JAVA_28, _of_java("clients28", "kafka-clients")),
    _program(loop_programs.JAVA_39, _of_java("kafka39", "kafka_2.13")),
    _program(loop_programs.JAVA_44, _of_java("clients", "kafka-clients")),
    _program(loop_programs.FRANZ_GO, _of_go_module("github.com/twmb/franz-go")),
    _program(loop_programs.SARAMA, _of_go_module("github.com/IBM/sarama")),
    _program(loop_programs.KAFKAJS, _of_kafkajs),
)
