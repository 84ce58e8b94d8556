"""Hot ApiVersions: a connection that asks the same once more gets the same table, as bytes.

Only requests that claim no identity are remembered, and only after the generic path has accepted the software name
on this connection, so that a hit changes nothing. What the table offers and the name are compared on every hit.
"""

from __future__ import annotations

from struct import Struct

from signalbox.broker.handlers.api_versions import ApiVersionsHandler
from signalbox.broker.hot_path import HotConnection, read_header
from signalbox.broker.hot_shapes import KEY_AT, HotShapes
from signalbox.broker.hot_tally import HotTally
from signalbox.common.clock import Clock
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.messages.api_versions import ApiVersionsRequest

_LARGEST_REQUEST_BYTES = 512
_SIZE_AND_ID = Struct(">Ii").pack
_NAMES_SOFTWARE_FROM = 3


class HotApiVersions:
    """The broker's part: a factory for connections."""

    def __init__(self, handler: ApiVersionsHandler, clock: Clock) -> None:
        self.handler = handler
        self.monotonic = clock.monotonic

    def __call__(self, connection: HotConnection, version: int) -> ConnectionApiVersions:
        return ConnectionApiVersions(self, connection, version)


class ConnectionApiVersions:
    """One connection at one version."""

    __slots__ = ("_connection", "_owner", "_shapes", "_version", "tally")

    def __init__(self, owner: HotApiVersions, connection: HotConnection, version: int) -> None:
        self._owner = owner
        self._connection = connection
        self._version = version
        self._shapes: HotShapes[tuple[object, bytes, str, str]] = HotShapes()
        self.tally = HotTally()

    def serve(self, frame: memoryview, correlation_id: int) -> bool:
        if len(frame) > _LARGEST_REQUEST_BYTES:
            return False
        shape = self._shapes.by_key.get(frame[KEY_AT:].tobytes())
        owner, connection = self._owner, self._connection
        context = connection.context
        if (
            shape is None
            or shape[0] is not owner.handler.offer(context.control_plane)
            or shape[2] != context.client_software_name
            or shape[3] != context.client_software_version
        ):
            self._learn(frame)
            return False
        body = shape[1]
        size = len(body) + 4
        connection.respond_whole(_SIZE_AND_ID(size, correlation_id) + body)
        self.tally.add(len(frame), size, owner.monotonic() - connection.channel.active_at)
        return True

    def _learn(self, frame: memoryview) -> None:
        if not self._shapes.may_learn():
            return
        found = read_header(frame)
        if found is None:
            return
        header, body_offset = found
        context = self._connection.context
        try:
            body, end = ApiVersionsRequest.decode_prefix(frame, self._version, body_offset)
        except DecodeError:
            return
        name, software_version = context.client_software_name, context.client_software_version
        asked = (body.client_software_name, body.client_software_version)
        named = self._version < _NAMES_SOFTWARE_FROM or (name != "" and asked == (name, software_version))
        if end != len(frame) or not named or body.cluster_id is not None or body.node_id != -1:
            return
        answer = self._owner.handler.table(self._version, context.control_plane)
        self.tally.stand_for(header, context)
        key, table = frame[KEY_AT:].tobytes(), b"".join(answer.encode_chunks(self._version))
        offer = self._owner.handler.offer(context.control_plane)
        self._shapes.remember(key, (offer, table, name, software_version))
