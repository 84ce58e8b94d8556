"""Fast path of ApiVersions: a repeated request on a connection gets the same response as encoded bytes.

Templates are built only for requests without an identity (cluster id and node id), and only after the generic path has
accepted the software name on this connection, so that a hit changes no state. The advertised versions and the software
name are compared on every hit.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from signalbox.broker.fast_path.fast_path import read_header
from signalbox.broker.fast_path.request_templates import KEY_AT, Layout, RequestTemplates
from signalbox.broker.handlers.api_versions import ApiVersionsHandler
from signalbox.broker.metrics.request_metrics import FastPathStats
from signalbox.common.clock import Clock
from signalbox.network.connection import Connection
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.messages.api_versions import ApiVersionsRequest

_LARGEST_REQUEST_BYTES = 512
_SIZE_AND_ID = Struct(">Ii").pack
_NAMES_SOFTWARE_FROM = 3
_COMPLETE_FRAME = (slice(KEY_AT, None),)


class ApiVersionsTemplate(NamedTuple):
    """A request without variable parts. `offer`: the advertised versions that `body` contains."""

    key: bytes
    offer: object
    body: bytes
    software_name: str
    software_version: str
    layout: Layout = _COMPLETE_FRAME


class FastApiVersions:
    """State shared by all connections of the broker; a factory for `ConnectionApiVersions`."""

    def __init__(self, handler: ApiVersionsHandler, clock: Clock) -> None:
        self.handler = handler
        self.monotonic = clock.monotonic

    def __call__(self, connection: Connection, version: int) -> ConnectionApiVersions:
        return ConnectionApiVersions(self, connection, version)


class ConnectionApiVersions:
    """The ApiVersions requests of one connection at one version."""

    __slots__ = ("_connection", "_owner", "_templates", "_version", "stats")

    def __init__(self, owner: FastApiVersions, connection: Connection, version: int) -> None:
        self._owner = owner
        self._connection = connection
        self._version = version
        self._templates: RequestTemplates[ApiVersionsTemplate] = RequestTemplates()
        self.stats = FastPathStats()

    def serve(self, frame: memoryview, correlation_id: int) -> bool:
        if len(frame) > _LARGEST_REQUEST_BYTES:
            return False
        template = self._templates.find(frame)
        owner, connection = self._owner, self._connection
        context = connection.context
        if (
            template is None
            or template.offer is not owner.handler.offer(context)
            or template.software_name != context.client_software_name
            or template.software_version != context.client_software_version
        ):
            self._build_template(frame)
            return False
        body = template.body
        size = len(body) + 4
        connection.respond_framed(_SIZE_AND_ID(size, correlation_id) + body)
        self.stats.add(len(frame), size, owner.monotonic() - connection.channel.active_at)
        return True

    def _build_template(self, frame: memoryview) -> None:
        if not self._templates.should_sample():
            return
        parsed = read_header(frame)
        if parsed is None:
            return
        header, body_offset = parsed
        context = self._connection.context
        try:
            body, end = ApiVersionsRequest.decode_prefix(frame, self._version, body_offset)
        except DecodeError:
            return
        name, software_version = context.client_software_name, context.client_software_version
        software = (body.client_software_name, body.client_software_version)
        named = self._version < _NAMES_SOFTWARE_FROM or (name != "" and software == (name, software_version))
        if end != len(frame) or not named or body.cluster_id is not None or body.node_id != -1:
            return
        response = self._owner.handler.table(self._version, context)
        self.stats.set_sample(header, context)
        key, table = frame[KEY_AT:].tobytes(), b"".join(response.encode_chunks(self._version))
        offer = self._owner.handler.offer(context)
        self._templates.add(ApiVersionsTemplate(key, offer, table, name, software_version))
