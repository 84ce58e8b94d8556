"""The two sides: one Signalbox broker, and one node of Apache Kafka 4.4.0 (KRaft), with the same configuration."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crc32c import crc32c

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.headers import decode_response_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.testing.free_ports import free_ports
from signalbox.testing.process_cluster import ProcessCluster
from tests.pipeline.apache_kafka import apache_kafka
from tests.system.wire import Closed, Wire, log_in
from tests.system.wire_diff.plain_answer import Rows, plain_rows
from tests.system.wire_diff.question import (
    AFTER_HANDSHAKE,
    NEW_CONNECTION,
    Question,
    body_bytes,
    kept_values,
    password_of,
)

_ALIKE = {
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "delegation.token.secret.key": "a secret of tests",
}
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_WITH_SASL = {
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": f'{_PLAIN} user_alice="{password_of("alice")}";',
}
_BATCH = encode_batch([Record(timestamp=time.time_ns() // 1_000_000, key=b"k", value=b"v")])
_DELETE_HORIZON_BIT = 0x40
_UNTIMED_BATCH = encode_batch([Record(key=b"k", value=b"v")])
_PLAINTEXT = "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT"
_CLIENT_ID = "wire-diff"
_TIMEOUT_S = 10.0  # longer than the longest wait of a request


class Side:
    """One side: its connections, one for each user, and the values of its responses that later questions need."""

    def __init__(self, address: str, sasl_address: str) -> None:
        self._address, self._sasl_address = address, sasl_address
        self._wires: dict[str, Wire] = {}
        self.values: dict[str, Any] = {
            "batch": _BATCH,
            "corrupt batch": _BATCH[:-1] + b"?",
            "untimed batch": _UNTIMED_BATCH,
            "batch with a delete horizon": with_attributes(_BATCH, _DELETE_HORIZON_BIT),
        }
        listed = self._wire_of("").ask(ApiKey.API_VERSIONS, 3, _WHO).api_keys
        self.versions = {each.api_key: (each.min_version, each.max_version) for each in listed}

    def _wire_of(self, user: str) -> Wire:
        if user in self._wires:
            return self._wires[user]
        wire = Wire(self._sasl_address if user else self._address, _CLIENT_ID, timeout_s=_TIMEOUT_S)
        if user == AFTER_HANDSHAKE:
            wire.ask(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism="PLAIN"))
        elif user not in ("", NEW_CONNECTION):
            assert log_in(wire, user, password_of(user)) == 0
        self._wires[user] = wire
        return wire

    def _hang_up(self, user: str) -> None:
        self._wires.pop(user).__exit__()

    def close(self) -> None:
        for user in list(self._wires):
            self._hang_up(user)

    def ask(self, question: Question, version: int) -> Rows:
        """The response as rows; a closed connection is a result too, and the next question gets a new one."""
        body = body_bytes(question, version, self.values)
        try:
            frame = self._wire_of(question.user).ask_raw(question.api, version, body, question.client_id)
        except (Closed, TimeoutError) as error:
            self._hang_up(question.user)
            return {"": "the connection is closed" if isinstance(error, Closed) else "no answer"}
        if question.user in (NEW_CONNECTION, AFTER_HANDSHAKE):
            self._hang_up(question.user)
        _, offset = decode_response_header(frame, question.api, version)
        response = API_TABLE[question.api].response
        if version > response.max_version:
            version = 0  # the version of the ApiVersions response to an unsupported version (KIP-511)
        try:
            answer = response.decode(frame, version, offset)
        except DecodeError as error:
            return {"": f"the answer does not parse: {error}"}
        self.values |= kept_values(question, answer)
        return plain_rows(answer, version)


def with_attributes(batch: bytes, attributes: int) -> bytes:
    """The batch with other attributes, and the checksum for them."""
    changed = bytearray(batch)
    struct.pack_into(">h", changed, 21, attributes)
    struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    return bytes(changed)


_WHO = ApiVersionsRequest(client_software_name="wire-diff", client_software_version="1")


@contextmanager
def both_sides(folder: Path) -> Iterator[tuple[Side, Side]]:
    """The Signalbox side and Kafka's side. Each has a listener without authentication and one with SASL."""
    sasl_address = f"127.0.0.1:{free_ports(1)[0]}"
    mine = {
        **_ALIKE,
        **_WITH_SASL,
        "signalbox.audit.enable": "false",
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in ("CLIENT", "REPLICATION", "CONTROL", "SASL")),
        "listener.security.protocol.map": f"{_PLAINTEXT},SASL:SASL_PLAINTEXT",
    }
    of_kafka = {
        **_ALIKE,
        **_WITH_SASL,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
    }
    with (
        ProcessCluster(folder / "ours", 1, overrides=mine) as cluster,
        apache_kafka(folder / "kafka", of_kafka, f"SASL://{sasl_address}") as kafka,
    ):
        ours, theirs = Side(cluster.bootstrap(), cluster.bootstrap("SASL")), Side(kafka, sasl_address)
        try:
            yield ours, theirs
        finally:
            ours.close()
            theirs.close()
