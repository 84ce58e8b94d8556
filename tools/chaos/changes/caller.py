"""One connection to one broker, one request at a time, no retries: the outcome of each change must be known."""

from __future__ import annotations

import socket
import struct
from typing import Any

from signalbox.client.connection.wire_frames import api_key_of, decode_response, encode_request
from signalbox.protocol.api_table import API_TABLE
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeRequest

USER, PASSWORD = "chaos", "chaos-secret"
LOGIN_SETTINGS = {
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.login.plain.sasl.jaas.config": (
        f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    ),
    "delegation.token.secret.key": "of-the-chaos",
    "delegation.token.max.lifetime.ms": str(20_000 * 86_400_000),
}
"""Settings of a broker with a listener LOGIN (SASL_PLAINTEXT), so that `USER` can log in there and own tokens."""

_CLIENT_ID = "chaos-changes"


class NotSent(ConnectionError):
    """No connection: the broker has not received the request."""


class AnswerLost(ConnectionError):
    """The request, or part of it, was sent, and no response came."""


class Caller:
    """Connects at once, and logs in by PLAIN if configured. NotSent."""

    def __init__(self, address: str, timeout_s: float, *, logs_in: bool = False) -> None:
        host, _, port = address.rpartition(":")
        self._correlation_id = 0
        try:
            self._socket = socket.create_connection((host, int(port)), timeout=timeout_s)
        except OSError as error:
            raise NotSent(f"{address}: {error}") from error
        if logs_in:
            try:
                self._log_in()
            except AnswerLost as error:
                self.close()
                raise NotSent(f"{address}: {error}") from error

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def ask(self, request: Any) -> Any:
        """The response, at the highest version in the API table. AnswerLost, after which the connection cannot be used
        any more."""
        row = API_TABLE[api_key_of(request)]
        self._correlation_id += 1
        payload = b"".join(encode_request(request, row.max_version, self._correlation_id, _CLIENT_ID))
        try:
            self._socket.sendall(struct.pack(">i", len(payload)) + payload)
            size_bytes = struct.unpack(">i", self._exactly(4))[0]
            answer = self._exactly(size_bytes)
        except OSError as error:
            raise AnswerLost(str(error)) from error
        return decode_response(row.response, answer, row.max_version)

    def _log_in(self) -> None:
        self.ask(SaslHandshakeRequest(mechanism="PLAIN"))
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=f"\0{USER}\0{PASSWORD}".encode()))
        if answer.error_code:
            raise AnswerLost(f"the login was answered {Error.of(answer.error_code).name}")

    def _exactly(self, size_bytes: int) -> bytes:
        data = bytearray()
        while len(data) < size_bytes:
            piece = self._socket.recv(size_bytes - len(data))
            if not piece:
                raise AnswerLost("the connection was closed")
            data += piece
        return bytes(data)
