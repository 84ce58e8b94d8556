"""A line as a Kafka proxy: it decodes requests and responses and changes some of them (SPEC R7).

What real proxies do, and what they forget, can be set apart: replace addresses in some APIs and not in others, replace
node ids or the cluster id, limit the versions of ApiVersions, leave nodes out. Everything else passes unchanged.
Without TLS; SASL passes as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from signalbox.client.connection.wire_frames import peek_error_code
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import decode_request_header, decode_response_header, encode_response_header

_SIZE_BYTES = 4
# What proxies know of, and every API that has addresses: Fetch has them in its errors (KIP-951).
_ADDRESS_APIS = frozenset({ApiKey.METADATA, ApiKey.DESCRIBE_CLUSTER, ApiKey.FIND_COORDINATOR})
EVERY_ADDRESS_API = _ADDRESS_APIS | {ApiKey.FETCH}


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRewrite:
    """What the proxy changes. Mappings are by the true node id: `addresses` in the responses of `apis`, `node_ids`
    there and in Metadata's partitions. `hidden` nodes are left out of Metadata and DescribeCluster, as nodes without
    the listener are; the partitions that they lead have LISTENER_NOT_FOUND.
    With `client_id` only this client's requests and responses are changed.
    `api_versions_max` (3 or higher) limits ApiVersions: later requests are passed on at that version, as Kroxylicious
    does."""

    addresses: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    node_ids: Mapping[int, int] = field(default_factory=dict)
    cluster_id: str | None = None
    hidden: frozenset[int] = frozenset()
    apis: frozenset[ApiKey] = _ADDRESS_APIS
    api_versions_max: int | None = None
    client_id: str | None = None


class RewritingSession:
    """One connection through the proxy. Both methods take chunks of a stream and return what to pass on."""

    def __init__(self, rewrite: WireRewrite) -> None:
        self._rewrite = rewrite
        self._from_caller = bytearray()
        self._from_target = bytearray()
        # By correlation id (Produce with acks=0 has no response): API key, version of the caller, version passed on.
        self._in_flight: dict[int, tuple[int, int, int]] = {}

    def requests(self, data: bytes) -> bytes:
        """Bytes of the caller."""
        return b"".join(framed(self.request(frame)) for frame in frames_of(self._from_caller, data))

    def responses(self, data: bytes) -> bytes:
        """Bytes of the target."""
        return b"".join(framed(self.response(frame)) for frame in frames_of(self._from_target, data))

    def request(self, frame: bytes) -> bytes:
        """One request, without its size."""
        header, offset = decode_request_header(frame)
        key, version = header.api_key, header.api_version
        if self._rewrite.client_id not in (None, header.client_id):
            return frame
        passed_on, limit = version, self._rewrite.api_versions_max
        if key == ApiKey.API_VERSIONS and limit is not None and version > limit:
            passed_on = limit
            request = API_TABLE[ApiKey.API_VERSIONS].request.decode(frame, version, offset)
            frame = frame[:2] + limit.to_bytes(2, "big") + frame[4:offset] + request.encode(limit)
        self._in_flight[header.correlation_id] = key, version, passed_on
        return frame

    def response(self, frame: bytes) -> bytes:
        """One response, without its size."""
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        if correlation_id not in self._in_flight:
            return frame  # of another client
        key, version, passed_on = self._in_flight.pop(correlation_id)
        if key not in self._rewrite.apis and key != ApiKey.API_VERSIONS:
            return frame
        if key == ApiKey.API_VERSIONS and peek_error_code(frame) == Error.UNSUPPORTED_VERSION:
            return frame  # always in the layout of version 0 (KIP-511)
        row = API_TABLE[ApiKey(key)]
        _, offset = decode_response_header(frame, row.key, passed_on)
        response = row.response.decode(frame, passed_on, offset)
        self._change(key, response)
        body: bytes = response.encode(version)
        return encode_response_header(row.key, version, correlation_id) + body

    def _change(self, key: int, response: Any) -> None:
        rewrite = self._rewrite
        if key == ApiKey.API_VERSIONS:
            for row in response.api_keys:
                if row.api_key == ApiKey.API_VERSIONS and rewrite.api_versions_max is not None:
                    row.max_version = min(row.max_version, rewrite.api_versions_max)
            return
        if rewrite.cluster_id is not None and hasattr(response, "cluster_id"):
            response.cluster_id = rewrite.cluster_id
        if key == ApiKey.FIND_COORDINATOR:
            for row in response.coordinators or [response]:
                self._move(row, "node_id")
            return
        if key == ApiKey.FETCH:
            for row in response.node_endpoints or ():
                self._move(row, "node_id")
            return
        response.brokers = [row for row in response.brokers if _id_of(row) not in rewrite.hidden]
        for row in response.brokers:
            self._move(row, "broker_id" if key == ApiKey.DESCRIBE_CLUSTER else "node_id")
        if key == ApiKey.METADATA:
            for partition in (partition for topic in response.topics for partition in topic.partitions):
                if partition.leader_id in rewrite.hidden:
                    partition.leader_id, partition.error_code = -1, Error.LISTENER_NOT_FOUND
                partition.leader_id = self._shown(partition.leader_id)
                partition.replica_nodes = [self._shown(node_id) for node_id in partition.replica_nodes]
                partition.isr_nodes = [self._shown(node_id) for node_id in partition.isr_nodes]

    def _move(self, row: Any, id_field: str) -> None:
        node_id = getattr(row, id_field)
        if node_id in self._rewrite.addresses:
            row.host, row.port = self._rewrite.addresses[node_id]
        setattr(row, id_field, self._shown(node_id))

    def _shown(self, node_id: int) -> int:
        return self._rewrite.node_ids.get(node_id, node_id)


def _id_of(row: Any) -> int:
    return int(row.broker_id if hasattr(row, "broker_id") else row.node_id)


def frames_of(buffer: bytearray, data: bytes) -> Iterator[bytes]:
    """The complete frames, without their sizes; the rest stays in `buffer`."""
    buffer += data
    while len(buffer) >= _SIZE_BYTES:
        end = _SIZE_BYTES + int.from_bytes(buffer[:_SIZE_BYTES], "big")
        if len(buffer) < end:
            return
        frame = bytes(buffer[_SIZE_BYTES:end])
        del buffer[:end]
        yield frame


def framed(frame: bytes) -> bytes:
    """A frame behind its size."""
    return len(frame).to_bytes(_SIZE_BYTES, "big") + frame
