"""The fast path for the requests that make up nearly all of the data plane's traffic (network/ports.FastPath).

On one connection, Produce, Fetch and ApiVersions requests are equal except for the correlation id and the records, or
epoch and offsets. The constant part is stored as a *request template*: a hit finds the partition and the
response template by one lookup, without decoding or encoding. Storage, replication and all their checks are the same as
on the generic path. A template contains the stamps of everything that its response depends on (image, authorizer,
partition) and is dropped when one of them changes. All other requests are left untouched for the generic path.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Protocol

from signalbox.broker.audit.audit_rollups import AuditRollups
from signalbox.broker.metrics.request_metrics import FastPathStats, RequestMetrics
from signalbox.network.connection import Connection
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.headers import RequestHeader, decode_request_header

_HEAD = Struct(">Ii").unpack_from  # API key and version as one number, correlation id
_HEAD_BYTES = 8


class FastPathRequests(Protocol):
    """One connection's fast-path requests at one version of one API."""

    @property
    def stats(self) -> FastPathStats: ...

    def serve(self, frame: memoryview, correlation_id: int) -> bool:
        """Serve the request and return True, or leave it untouched and return False."""
        ...


Serve = Callable[[memoryview, int], bool]
Factory = Callable[[Connection, int], FastPathRequests]  # connection, API version


class FastPath:
    """Request templates of all data connections of a broker. `factories`: by API key."""

    def __init__(self, factories: dict[ApiKey, Factory], metrics: RequestMetrics, rollups: AuditRollups) -> None:
        self._factories: dict[int, Factory] = {int(key): factory for key, factory in factories.items()}
        self._metrics = metrics
        self._rollups = rollups
        self._requests: dict[Connection, dict[int, FastPathRequests]] = {}
        metrics.before_reading = self.flush_stats
        rollups.before_flush = self.flush_stats

    def try_frame(self, connection: Connection, frame: memoryview) -> bool:
        """Port of the network package: serve the frame if possible; False leaves it to the generic path."""
        kinds: dict[int, Serve] | None = connection.request_templates  # type: ignore[assignment]
        if len(frame) < _HEAD_BYTES:
            return False
        kind, correlation_id = _HEAD(frame)
        if kinds is None:
            connection.request_templates = kinds = {}
        serve = kinds.get(kind)
        if serve is not None:
            return serve(frame, correlation_id)
        if kind >> 16 in self._factories:
            self._register(connection, kinds, kind)
        return False

    def forget_all(self) -> None:
        """Drop the templates of every connection, because something that they do not compare has changed (a quota)."""
        self.flush_stats()
        for connection in self._requests:
            connection.request_templates = None
        self._requests.clear()

    def forget(self, connection: Connection) -> None:
        """Port of the network package: the connection was closed."""
        requests = self._requests.pop(connection, None)
        connection.request_templates = None
        if requests is not None:
            self._flush(requests)

    def flush_stats(self) -> None:
        """Add the counts since the last call to the metrics and the audit trail."""
        for requests in self._requests.values():
            self._flush(requests)

    def _register(self, connection: Connection, kinds: dict[int, Serve], kind: int) -> None:
        """Register an API version on a connection. Its first request takes the generic path; templates are used from
        the second request on."""
        api_key, api_version = kind >> 16, kind & 0xFFFF
        if connection.serves(api_key, api_version):
            requests = self._factories[api_key](connection, api_version)
            requests.stats.durations = self._metrics.fast_durations(ApiKey(api_key))
            self._requests.setdefault(connection, {})[kind] = requests
            kinds[kind] = requests.serve

    def _flush(self, requests: dict[int, FastPathRequests]) -> None:
        for kind, fast_path_requests in requests.items():
            stats = fast_path_requests.stats
            if stats.count:
                key = ApiKey(kind >> 16)
                self._metrics.fast_path(key, kind & 0xFFFF, stats)
                self._rollups.add_fast_path(key.name, stats)
                stats.clear()


def read_header(frame: memoryview) -> tuple[RequestHeader, int] | None:
    """Header and body offset; None when the header does not parse: the generic path rejects the request."""
    try:
        return decode_request_header(frame)
    except DecodeError:
        return None
