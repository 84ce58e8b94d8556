"""The two sides: one Signalbox broker, and one node of Apache Kafka 4.4.0 (KRaft), with the same configuration."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.headers import decode_response_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.testing.process_cluster import ProcessCluster
from tests.pipeline.apache_kafka import apache_kafka
from tests.system.wire import Closed, Wire
from tests.system.wire_diff.plain_answer import Rows, plain_rows
from tests.system.wire_diff.question import Question, body_bytes, kept_values

_ALIKE = {
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "delegation.token.secret.key": "a secret of tests",
}
_BATCH = encode_batch([Record(timestamp=time.time_ns() // 1_000_000, key=b"k", value=b"v")])
_CLIENT_ID = "wire-diff"
_TIMEOUT_S = 10.0  # longer than the longest wait of a request


class Side:
    """One side: its connection, and the values of its responses that later questions need."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._wire = self._dial()
        self.values: dict[str, Any] = {"batch": _BATCH, "corrupt batch": _BATCH[:-1] + b"?"}
        listed = self._wire.ask(ApiKey.API_VERSIONS, 3, _WHO).api_keys
        self.versions = {each.api_key: (each.min_version, each.max_version) for each in listed}

    def _dial(self) -> Wire:
        return Wire(self._address, _CLIENT_ID, timeout_s=_TIMEOUT_S)

    def close(self) -> None:
        self._wire.__exit__()

    def ask(self, question: Question, version: int) -> Rows:
        """The response as rows; a closed connection is a result too, and the next question gets a new one."""
        body = body_bytes(question, version, self.values)
        try:
            frame = self._wire.ask_raw(question.api, version, body)
        except (Closed, TimeoutError) as error:
            self.close()
            self._wire = self._dial()
            return {"": "the connection is closed" if isinstance(error, Closed) else "no answer"}
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


_WHO = ApiVersionsRequest(client_software_name="wire-diff", client_software_version="1")


@contextmanager
def both_sides(folder: Path) -> Iterator[tuple[Side, Side]]:
    """The Signalbox side and Kafka's side."""
    with (
        ProcessCluster(folder / "ours", 1, overrides={**_ALIKE, "signalbox.audit.enable": "false"}) as cluster,
        apache_kafka(folder / "kafka", _ALIKE) as kafka,
    ):
        ours, theirs = Side(cluster.bootstrap()), Side(kafka)
        try:
            yield ours, theirs
        finally:
            ours.close()
            theirs.close()
