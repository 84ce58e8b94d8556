"""Apache Kafka's console tools 4.3.1, run as a user runs them; the newest version with all jars on Maven Central.

A JVM starts slowly, so one runs all tools (`java/Tools.java`), each from its `main` to its exit. A tool that reads
standard input to its end, or leaves threads behind, has a JVM of its own.
"""

from __future__ import annotations

import atexit
import base64
import select
import subprocess
from dataclasses import dataclass
from functools import cache

from tests.system.provision import jars, java, java_class

_MAIN = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
}
_JVM_OF_ITS_OWN = {"kafka-console-producer", "kafka-console-consumer"}


@dataclass(frozen=True)
class Run:
    """The exit code of a tool and its output."""

    code: int
    out: str
    err: str


def tool(name: str, *arguments: str, text: str = "", timeout_s: float = 60) -> str:
    """The standard output of a tool; AssertionError with all its output if it fails."""
    run = tried(name, *arguments, text=text, timeout_s=timeout_s)
    assert run.code == 0, f"{name} {' '.join(arguments)}: {run.out}{run.err}"
    return run.out


def tried(name: str, *arguments: str, text: str = "", timeout_s: float = 60) -> Run:
    """The same for a tool that may fail."""
    if name not in _JVM_OF_ITS_OWN:
        return _jvm().run(_MAIN[name], text, arguments, timeout_s)
    run = subprocess.run(
        [*java(), "-cp", jars("tools"), _MAIN[name], *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    return Run(run.returncode, run.stdout, run.stderr)


class _Jvm:
    """One JVM that runs one tool after the other."""

    def __init__(self) -> None:
        command = [*java(), "-cp", java_class("Tools.java", "tools"), "Tools"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        atexit.register(self._process.kill)

    def run(self, main: str, text: str, arguments: tuple[str, ...], timeout_s: float) -> Run:
        """AssertionError if the tool does not end in time; the next one gets another JVM."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        words = [base64.b64encode(word.encode()) for word in (main, text, *arguments)]
        stdin.write(b"\n".join([b"%d" % len(words), *words, b""]))
        stdin.flush()
        if not select.select([stdout], [], [], timeout_s)[0]:
            self._process.kill()
            _jvm.cache_clear()
            raise AssertionError(f"{main} {' '.join(arguments)} did not end within {timeout_s:.0f} s")
        code, out, err = stdout.readline().decode().rstrip("\n").split(" ")
        return Run(int(code), base64.b64decode(out).decode(), base64.b64decode(err).decode())


@cache
def _jvm() -> _Jvm:
    return _Jvm()
