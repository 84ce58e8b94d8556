"""A client that sends bytes, valid or not: for tests of frames, planes and forged requests."""

from __future__ import annotations

import socket
import ssl
import struct
from typing import Any

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import decode_response_header, encode_request_header
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeRequest
from signalbox.security.sasl.scram import ScramClientExchange
from signalbox.testing.process_cluster import ProcessCluster

TIMEOUT_S = 60.0


class Closed(ConnectionError):
    """The broker has closed the connection instead of responding."""


class Wire:
    """One connection. `ask` sends a valid request, `send` any bytes."""

    def __init__(
        self, address: str, client_id: str = "wire", tls: ssl.SSLContext | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._client_id = client_id
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=timeout_s)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname=host)
        self._correlation_id = 0

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def local_address(self) -> str:
        host, port = self._socket.getsockname()
        return f"{host}:{port}"

    def send(self, data: bytes) -> None:
        """Sends the bytes unchanged; Closed if the broker does not accept them."""
        try:
            self._socket.sendall(data)
        except ConnectionError as error:
            raise Closed(str(error)) from error

    def end_sending(self) -> None:
        """Half-close: the broker reads the end of the stream."""
        self._socket.shutdown(socket.SHUT_WR)

    def frame(self) -> bytes:
        """The next frame without its size. Closed, or TimeoutError."""
        size = struct.unpack(">i", self._exactly(4))[0]
        return self._exactly(size)

    def read(self, count: int) -> bytes:
        """So many of the next bytes. Closed, or TimeoutError."""
        return self._exactly(count)

    def closed(self) -> bool:
        """Waits until the broker closes (True) or sends another byte (False). TimeoutError if it does neither."""
        try:
            return self._socket.recv(1) == b""
        except ConnectionError:
            return True

    def request(self, api_key: int, version: int, body: bytes = b"", client_id: str | bytes | None = None) -> bytes:
        """A framed request with the next correlation id. `client_id`: also bytes that are not UTF-8."""
        self._correlation_id += 1
        if isinstance(client_id, bytes):
            header = encode_request_header(api_key, version, self._correlation_id, "")
            header = header[:8] + len(client_id).to_bytes(2) + client_id + header[10:]
        else:
            name = self._client_id if client_id is None else client_id
            header = encode_request_header(api_key, version, self._correlation_id, name)
        return framed(header + body)

    def ask_raw(self, api_key: int, version: int, body: bytes, client_id: str | bytes | None = None) -> bytes:
        """The frame of the response to any body."""
        self.send(self.request(api_key, version, body, client_id))
        return self.frame()

    def ask(self, api_key: ApiKey, version: int, request: Any) -> Any:
        """The decoded response to a request message."""
        answer = self.ask_raw(api_key, version, request.encode(version))
        correlation_id, offset = decode_response_header(answer, api_key, version)
        assert correlation_id == self._correlation_id
        return API_TABLE[api_key].response.decode(answer, version, offset)

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                piece = self._socket.recv(min(count - len(data), 1 << 20))
            except ConnectionError as error:
                raise Closed(str(error)) from error
            if not piece:
                raise Closed(f"{len(data)} of {count} bytes came")
            data += piece
        return bytes(data)


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def dial(cluster: ProcessCluster, node_id: int = 1, listener: str = "CLIENT") -> Wire:
    """A connection to a node's listener, by its bound address."""
    return Wire(str(cluster.nodes[node_id].ready["bound"][listener]))


def log_in_by_scram(
    wire: Wire, mechanism: str, user: str, password: str, *, token_auth: bool = False
) -> SaslAuthenticateResponse:
    """SCRAM on a new connection, or re-authentication on an old one; the last SaslAuthenticate response."""
    exchange = ScramClientExchange(mechanism, user, password, token_auth=token_auth)
    assert wire.ask(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism=mechanism)).error_code == 0
    token: bytes | None = exchange.first()
    while token is not None:
        answer: SaslAuthenticateResponse = wire.ask(
            ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(auth_bytes=token)
        )
        if answer.error_code:
            return answer
        token = exchange.respond(bytes(answer.auth_bytes))
    return answer


def log_in(wire: Wire, user: str, password: str) -> int:
    """SASL PLAIN on a new connection; the error code of SaslAuthenticate."""
    wire.ask(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism="PLAIN"))
    proof = SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{password}".encode())
    return int(wire.ask(ApiKey.SASL_AUTHENTICATE, 2, proof).error_code)
