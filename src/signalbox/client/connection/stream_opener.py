"""From a host name to an open stream: resolve, TCP to each address in turn, TLS.

Host names are resolved on every connect (KAFKA-12193): the addresses from the start of the client are wrong after
brokers have moved. IP literals are not looked up, so an ordinary connect between brokers uses no thread. Of several
addresses none may use up the time of the connect: a route that drops packets must not hide an address that works.
"""

from __future__ import annotations

import asyncio
import socket

from signalbox.client.connection.connection_settings import ConnectionSecurity, ConnectionSettings
from signalbox.client.connection.frame_stream import FrameStream
from signalbox.client.connection.name_lookup import is_ip_literal, look_up_in_thread
from signalbox.client.connection.node import Address
from signalbox.client.failures import ConnectFailed
from signalbox.transport.socket_address import reject_self_connection, tune
from signalbox.transport.tls.tls_failure import TlsFailed
from signalbox.transport.tls.tls_session import TlsSession

_MAX_PORT = 65_535


async def resolve(address: Address) -> list[str]:
    """The current IP addresses of a host name; ConnectFailed when it cannot be resolved, or the port is no port."""
    if not 0 <= address.port <= _MAX_PORT:  # a server may name any number in Metadata
        raise ConnectFailed(address, "resolve", f"{address.port} is no port")
    if is_ip_literal(address.host):
        return [address.host]
    try:
        return await look_up_in_thread(*address)
    except OSError as error:
        raise ConnectFailed(address, "resolve", f"{address.host} cannot be resolved: {error.strerror}") from error
    except ValueError as error:  # a label that is empty or longer than 63 characters, a null character
        raise ConnectFailed(address, "resolve", f"{address.host!r} is no host name: {error}") from error


class StreamOpener:
    """One attempt to open a stream. `stage` is the stage that it has reached, for the caller's error on a timeout."""

    def __init__(self, address: Address, settings: ConnectionSettings) -> None:
        self._address = address
        self._settings = settings
        self.stage = "resolve"

    async def dial(self, ips: list[str] | None = None) -> FrameStream:
        """A stream to the first address that accepts; ConnectFailed with the reason of the last address."""
        if ips is None:
            ips = await resolve(self._address)
        last = ConnectFailed(self._address, "resolve", f"{self._address.host} has no address")
        loop = asyncio.get_running_loop()
        end = loop.time() + self._settings.connect_timeout_ms / 1000
        for index, ip in enumerate(ips):
            share_s = max(0.0, end - loop.time()) / (len(ips) - index)
            try:
                async with asyncio.timeout(share_s):
                    stream = await self._dial_one(ip)
            except TimeoutError:
                last = ConnectFailed(self._address, self.stage, f"{ip}: no answer within {share_s * 1000:.0f} ms")
            except TlsFailed as error:
                last = tls_failed(self._address, self._settings.security, error)
            except OSError as error:
                last = ConnectFailed(self._address, self.stage, f"{ip}: {error.strerror or error}")
                last.__cause__ = error  # its errno tells "connection refused" from "no route to host"
            else:
                self.stage = "api-versions"
                return stream
        raise last

    async def _dial_one(self, ip: str) -> FrameStream:
        loop = asyncio.get_running_loop()
        self.stage = "tcp"
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            tune(sock)
            await loop.sock_connect(sock, (ip, self._address.port))
            reject_self_connection(sock)
            tls, session = self._settings.security.tls, None
            if tls is not None:
                self.stage = "tls"
                session = TlsSession(tls.context, tls.handshakes, server_side=False, server_hostname=self._address.host)
            stream = FrameStream(self._address, self._settings.max_handshake_frame_bytes, session)
            await stream.open(sock)
        except BaseException:
            sock.close()
            raise
        return stream


def tls_failed(address: Address, security: ConnectionSecurity, error: TlsFailed) -> ConnectFailed:
    """The failed TLS handshake as ConnectFailed, with the host and the listener."""
    listener = f" on listener {security.listener_name}" if security.listener_name else ""
    return ConnectFailed(address, "tls", f"{address.host}{listener}: {error}")
