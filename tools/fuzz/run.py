"""Two brokers, half of the frames each, and the checks afterwards.

*open*: no authorizer, so that frames reach as much code as possible; APIs that change the cluster are not in the
corpus. *guarded*: every API, on a broker where only the brokers themselves are authorized; its inter-broker and control
listeners require a password, so frames reach the state before authentication there.
"""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from signalbox.protocol.api_table import ApiKey, ApiRow
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.testing.process_cluster import BrokerProcess, ProcessCluster
from tools.fuzz.any_request import TOPIC, changes_the_cluster
from tools.fuzz.attack import SENTINEL, Address, Attack
from tools.fuzz.frame_stream import fuzzed_frames

LISTENERS = ("CLIENT", "CLIENT", "CLIENT", "REPLICATION", "CONTROL")
MAX_GROWTH_BYTES = 64 << 20
MAX_PARKED_SHARE = 0.05
MAX_LOG_LINES_PER_SECOND = 10  # each kind of rejection on each listener has one line per 10 s
_BYSTANDER_SECONDS = 5.0
_STEPS = 20
_USERS = 'username="broker" password="broker-secret" user_broker="broker-secret";'
_JAAS = f"org.apache.kafka.common.security.plain.PlainLoginModule required {_USERS}"

# A million rejections would be a million audit events: the audit trail has tests of its own.
_OPEN = {"auto.create.topics.enable": "false", "signalbox.audit.enable": "false"}
_GUARDED = {
    **_OPEN,
    "listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:SASL_PLAINTEXT,CONTROL:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.replication.plain.sasl.jaas.config": _JAAS,
    "listener.name.control.plain.sasl.jaas.config": _JAAS,
    "connection.failed.authentication.delay.ms": "1",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:broker",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One check and its result."""

    name: str
    passed: bool
    detail: str


def fuzz_broker(name: str, seed: int, count: int, folder: Path, say: Callable[[str], None]) -> list[Check]:
    """Starts a broker of kind `name`, sends `count` frames, runs the checks."""
    overrides: Mapping[str, str] = _OPEN if name == "open" else _GUARDED

    def takes(row: ApiRow) -> bool:
        return name != "open" or not changes_the_cluster(row)

    with ProcessCluster(folder / name, brokers=1, overrides=overrides) as cluster:
        broker = cluster.brokers[1]
        if name == "open":
            _create_topic(_address(broker, "CLIENT"))
        return _attack(
            name, broker, Attack([_address(broker, listener) for listener in LISTENERS]), (seed, count), takes, say
        )


def _attack(
    name: str,
    broker: BrokerProcess,
    attack: Attack,
    seed_and_count: tuple[int, int],
    takes: Callable[[ApiRow], bool],
    say: Callable[[str], None],
) -> list[Check]:
    seed, count = seed_and_count
    frames = fuzzed_frames(seed, takes)
    slowest = 0.0
    resident: list[int] = []
    started = time.monotonic()
    for step in range(_STEPS):
        try:
            attack.run(frames, count // _STEPS)
            slowest = max(slowest, _bystander(_address(broker, "CLIENT")))
        except OSError as error:
            return [Check(f"{name}: broker serves", False, f"{error}; the end of its log:\n{broker.tail()}")]
        resident.append(_resident_bytes(broker))
        if (step + 1) % 5 == 0:
            rate = attack.stats.sent / (time.monotonic() - started)
            say(f"{name}: {attack.stats.sent} frames, {rate:.0f}/s, broker {resident[-1] >> 20} MiB")
    stats = attack.stats
    growth = resident[-1] - resident[_STEPS // 4]
    seconds = time.monotonic() - started
    log = broker.log_file.read_text(errors="replace")
    lines = log.count("\n")
    say(f"{name}: {stats.answered} answered, {stats.closed} closed, {stats.parked} parked; {dict(stats.by_mutation)}")
    return [
        Check(f"{name}: the broker lives", broker.running, broker.tail(5) if not broker.running else ""),
        Check(
            f"{name}: a bystander is served", slowest < _BYSTANDER_SECONDS, f"slowest answer {slowest * 1000:.0f} ms"
        ),
        Check(
            f"{name}: memory grows by less than {MAX_GROWTH_BYTES >> 20} MiB after the first quarter",
            growth < MAX_GROWTH_BYTES,
            f"{growth / (1 << 20):+.1f} MiB",
        ),
        Check(
            f"{name}: few frames park a connection", stats.parked <= stats.sent * MAX_PARKED_SHARE, str(stats.parked)
        ),
        Check(f"{name}: every answer is for its request", not stats.misanswered, "\n".join(stats.misanswered[:5])),
        Check(f"{name}: the log stays short", lines < 200 + MAX_LOG_LINES_PER_SECOND * seconds, f"{lines} lines"),
        Check(f"{name}: no traceback in the log", "Traceback" not in log, _tracebacks(log)),
    ]


def _address(broker: BrokerProcess, listener: str) -> Address:
    host, _, port = broker.address(listener).rpartition(":")
    return host, int(port)


def _bystander(address: Address) -> float:
    """Seconds until a well-behaved client gets its response. OSError if it gets none."""
    started = time.monotonic()
    with socket.create_connection(address, timeout=2 * _BYSTANDER_SECONDS) as sock:
        sock.sendall(SENTINEL)
        if not sock.recv(4):
            raise ConnectionError("a bystander was turned away")
    return time.monotonic() - started


def _create_topic(address: Address) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name=TOPIC, num_partitions=3, replication_factor=1)
    body = CreateTopicsRequest(topics=[topic], timeout_ms=10_000).encode(5)
    frame = encode_request_header(int(ApiKey.CREATE_TOPICS), 5, 1, "fuzz") + body
    with socket.create_connection(address, timeout=20) as sock:
        sock.sendall(len(frame).to_bytes(4) + frame)
        sock.recv(65_536)


def _resident_bytes(broker: BrokerProcess) -> int:
    assert broker.process is not None
    return int(Path(f"/proc/{broker.process.pid}/statm").read_text().split()[1]) * 4096


def _tracebacks(log: str) -> str:
    """The exceptions in the log: where each was raised, how often, the most frequent first."""
    seen: Counter[str] = Counter()
    for block in log.split("Traceback (most recent call last):")[1:]:
        place = ""
        for line in block.splitlines():
            if line.lstrip().startswith("File "):
                place = line.strip()
            elif line and not line.startswith(" "):
                seen[f"{line.strip()[:200]} ({place})"] += 1
                break
    return "\n".join(f"  {count} x {text}" for text, count in seen.most_common(20))
