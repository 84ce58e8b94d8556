from __future__ import annotations

import errno

import pytest

from signalbox.client.connection.node import Address
from signalbox.client.failures import (
    AuthenticationRejected,
    ClientFailure,
    ConnectFailed,
    ConnectionLost,
    NoUsableNode,
    PeerBroke,
    VersionUnsupported,
)
from signalbox.doctor.observations import Fault
from signalbox.doctor.prober.fault_of import fault_of

pytestmark = pytest.mark.spec("R8")

WHERE = Address("h", 1)


def tcp(code: int) -> ConnectFailed:
    failure = ConnectFailed(WHERE, "tcp", "text")
    failure.__cause__ = OSError(code, "text")
    return failure


@pytest.mark.parametrize(
    ("failure", "stage", "fault"),
    [
        (tcp(errno.ECONNREFUSED), "tcp", Fault.CONNECTION_REFUSED),
        (tcp(errno.EHOSTUNREACH), "tcp", Fault.NO_ROUTE),
        (tcp(errno.ETIMEDOUT), "tcp", Fault.TIMEOUT),
        (tcp(errno.ECONNRESET), "tcp", Fault.CLOSED),
        (ConnectFailed(WHERE, "tcp", "no answer within 5 ms"), "tcp", Fault.TIMEOUT),
        (ConnectFailed(WHERE, "tls", "no answer within 5 ms"), "tls", Fault.TIMEOUT),
        (ConnectFailed(WHERE, "tls", "certificate x (ssl.keystore.* of the peer)"), "tls", Fault.CERTIFICATE_EXPIRED),
        (ConnectFailed(WHERE, "tls", "wants a certificate (ssl.keystore.*)"), "tls", Fault.CLIENT_CERTIFICATE),
        (ConnectFailed(WHERE, "tls", "something"), "tls", Fault.TLS_HANDSHAKE),
        (ConnectFailed(WHERE, "sasl", "the token endpoint is down"), "sasl", Fault.TOKEN),
        (ConnectFailed(WHERE, "sasl", "closed"), "sasl", Fault.CLOSED),
        (ConnectFailed(WHERE, "api-versions", "closed by the broker"), "api-versions", Fault.CLOSED),
        (ConnectFailed(WHERE, "api-versions", "TLS failed: certificate"), "api-versions", Fault.CLIENT_CERTIFICATE),
        (PeerBroke(WHERE, "api-versions", "rejected with error 129"), "api-versions", Fault.ALWAYS_REJECTED),
        (PeerBroke(WHERE, "frame", "a frame of 3 bytes"), "frame", Fault.NOT_KAFKA),
        (AuthenticationRejected(WHERE, "the listener has no SASL, so no mechanism X"), "sasl", Fault.SASL_MISSING),
        (AuthenticationRejected(WHERE, "mechanism X is not among the broker's: Y"), "sasl", Fault.SASL_MECHANISM),
        (AuthenticationRejected(WHERE, "Authentication failed"), "sasl", Fault.AUTHENTICATION),
        (ConnectionLost(WHERE, "no answer to request 3 within 5 ms"), "requests", Fault.TIMEOUT),
        (ConnectionLost(WHERE, "closed by the broker"), "requests", Fault.CLOSED),
        (VersionUnsupported("x"), "requests", Fault.VERSIONS),
        (NoUsableNode("x"), "requests", Fault.NOT_KAFKA),
    ],
)
def test_failures(failure: ClientFailure, stage: str, fault: Fault) -> None:
    assert fault_of(failure, uses_tls=True) == (stage, fault)


def test_a_certificate_can_only_be_wrong_where_there_is_tls() -> None:
    assert fault_of(ConnectionLost(WHERE, "certificate"), uses_tls=False) == ("requests", Fault.CLOSED)
