"""The short cut for the requests that make up nearly all of the data plane's traffic (network/ports.HotPath).

Produce, single-partition Fetch and ApiVersions repeat themselves on a connection but for the correlation id and
the records or the offset. What is constant is remembered as a *shape*: a hit finds partition and answer template by
one lookup, without decoding or encoding. Storage, replication and every check behind the template are the same as on
the generic path; a shape carries the stamps of all that its answer depends on (image, authorizer, partition) and is
dropped when one moves. Whatever is unusual is left untouched for the generic path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, Protocol

from signalbox.broker.audit_rollups import AuditRollups
from signalbox.broker.hot_tally import HotTally
from signalbox.broker.request_metrics import RequestMetrics
from signalbox.common.file_slice import FileSlice
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.headers import RequestHeader, decode_request_header
from signalbox.security.request_context import RequestContext

_HEAD = Struct(">Ii").unpack_from  # API key and version as one number, correlation id
_HEAD_BYTES = 8


class HotChannel(Protocol):
    """The bytes' side of a connection."""

    @property
    def active_at(self) -> float: ...


class HotConnection(Protocol):
    """Network's connection, as far as the hot path needs it."""

    hot_shapes: object

    @property
    def context(self) -> RequestContext: ...

    @property
    def channel(self) -> HotChannel: ...

    def serves(self, api_key: int, api_version: int) -> bool:
        """Whether the listener takes this version of the API."""
        ...

    def defer(self) -> None: ...

    def respond(self, chunks: Sequence[Any]) -> None: ...

    def respond_slice(self, head: bytes, records: FileSlice, tail: bytes) -> None:
        """Answer with head (which begins with the size of the whole), records and tail."""
        ...

    def respond_whole(self, frame: bytes) -> None:
        """Answer with a frame that begins with its size."""
        ...

    def respond_nothing(self) -> None: ...

    def close(self, reason: str) -> None: ...


class HotRequests(Protocol):
    """One connection's hot requests at one version of one API."""

    @property
    def tally(self) -> HotTally: ...

    def serve(self, frame: memoryview, correlation_id: int) -> bool:
        """Deal with the request, or leave it untouched."""
        ...


Serve = Callable[[memoryview, int], bool]
Factory = Callable[[HotConnection, int], HotRequests]  # connection, API version


class HotPath:
    """Shapes of all data connections of a broker. `factories`: who serves an API."""

    def __init__(self, factories: dict[ApiKey, Factory], metrics: RequestMetrics, rollups: AuditRollups) -> None:
        self._factories: dict[int, Factory] = {int(key): factory for key, factory in factories.items()}
        self._metrics = metrics
        self._rollups = rollups
        self._requests: dict[HotConnection, dict[int, HotRequests]] = {}
        metrics.before_reading = self.settle
        rollups.before_flush = self.settle

    def try_frame(self, connection: HotConnection, frame: memoryview) -> bool:
        """Network's port."""
        kinds: dict[int, Serve] | None = connection.hot_shapes  # type: ignore[assignment]
        if len(frame) < _HEAD_BYTES:
            return False
        kind, correlation_id = _HEAD(frame)
        if kinds is None:
            connection.hot_shapes = kinds = {}
        serve = kinds.get(kind)
        if serve is not None:
            return serve(frame, correlation_id)
        if kind >> 16 in self._factories:
            self._introduce(connection, kinds, kind)
        return False

    def forget_all(self) -> None:
        """What shapes leave out of account has changed (a quota was set): every connection begins anew."""
        self.settle()
        for connection in self._requests:
            connection.hot_shapes = None
        self._requests.clear()

    def forget(self, connection: HotConnection) -> None:
        """Network's port: the connection is closed."""
        requests = self._requests.pop(connection, None)
        connection.hot_shapes = None
        if requests is not None:
            self._settle(requests)

    def settle(self) -> None:
        """Tell metrics and audit trail what was counted since the last time."""
        for requests in self._requests.values():
            self._settle(requests)

    def _introduce(self, connection: HotConnection, kinds: dict[int, Serve], kind: int) -> None:
        """The first request of its kind takes the generic path; shapes are looked for from the second on."""
        api_key, api_version = kind >> 16, kind & 0xFFFF
        if connection.serves(api_key, api_version):
            requests = self._factories[api_key](connection, api_version)
            self._requests.setdefault(connection, {})[kind] = requests
            kinds[kind] = requests.serve

    def _settle(self, requests: dict[int, HotRequests]) -> None:
        for kind, each in requests.items():
            tally = each.tally
            if tally.count:
                key = ApiKey(kind >> 16)
                self._metrics.hot(key, tally)
                self._rollups.add_hot(key.name, tally)
                tally.clear()


def read_header(frame: memoryview) -> tuple[RequestHeader, int] | None:
    """Header and body offset, None when there is none: the generic path will say what is wrong."""
    try:
        return decode_request_header(frame)
    except DecodeError:
        return None
