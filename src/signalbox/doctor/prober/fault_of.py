"""From a failure of the client to the fault of a connection."""

from __future__ import annotations

import errno

from signalbox.client.failures import (
    AuthenticationRejected,
    ClientFailure,
    ConnectFailed,
    ConnectionLost,
    PeerBroke,
    VersionUnsupported,
)
from signalbox.doctor.observations import Fault
from signalbox.protocol.error_table import Error
from signalbox.transport.tls.tls_failure import NOT_VALID_NOW

_NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL, errno.EACCES)
_NO_ANSWER = "no answer"
# A part of the text of a failure → the fault. The first row that matches counts.
_TLS_TEXTS = (
    ("ssl.endpoint.identification.algorithm", Fault.CERTIFICATE_NAME),
    (NOT_VALID_NOW, Fault.CERTIFICATE_EXPIRED),
    ("ssl.truststore.", Fault.CERTIFICATE_UNTRUSTED),
    ("without TLS", Fault.TLS_MISSING),
    ("security.protocol", Fault.TLS_MISSING),
    ("does not speak TLS", Fault.TLS_MISSING),
    ("certificate", Fault.CLIENT_CERTIFICATE),
)
_FRAME_TEXTS = (
    ("the peer uses TLS", Fault.TLS_EXPECTED),
    ("the peer uses HTTP", Fault.HTTP),
    (f"rejected with error {Error.REBOOTSTRAP_REQUIRED.value}", Fault.ALWAYS_REJECTED),
)


def fault_of(failure: ClientFailure, uses_tls: bool) -> tuple[str, Fault]:
    """(stage, fault). `uses_tls`: whether the client uses TLS."""
    if isinstance(failure, AuthenticationRejected):
        return "sasl", _sasl_fault(failure.problem)
    if isinstance(failure, PeerBroke):
        return failure.stage, _first(_FRAME_TEXTS, failure.problem, Fault.NOT_KAFKA)
    if isinstance(failure, ConnectFailed):
        return failure.stage, _connect_fault(failure, uses_tls)
    if isinstance(failure, ConnectionLost):
        return "requests", _lost_fault(failure.reason, uses_tls)
    if isinstance(failure, VersionUnsupported):
        return "requests", Fault.VERSIONS
    return "requests", Fault.NOT_KAFKA


def problem_of(failure: Exception) -> str:
    """The text of a failure, without the address where the client's failures have one."""
    return str(getattr(failure, "problem", None) or getattr(failure, "reason", None) or failure)


def _connect_fault(failure: ConnectFailed, uses_tls: bool) -> Fault:
    problem = failure.problem
    if problem.startswith(_NO_ANSWER):
        return Fault.TIMEOUT
    if failure.stage == "tcp":
        code = getattr(failure.__cause__, "errno", None)
        if code == errno.ECONNREFUSED:
            return Fault.CONNECTION_REFUSED
        if code == errno.ETIMEDOUT:
            return Fault.TIMEOUT
        return Fault.NO_ROUTE if code in _NO_ROUTE else Fault.CLOSED
    if failure.stage == "tls":
        return _first(_TLS_TEXTS, problem, Fault.TLS_HANDSHAKE)
    if failure.stage == "sasl":
        return Fault.TOKEN if "token" in problem else Fault.CLOSED
    return _lost_fault(problem, uses_tls)


def _lost_fault(reason: str, uses_tls: bool) -> Fault:
    """An established connection has ended. In TLS 1.3 this is also when a port rejects the client's certificate."""
    if reason.startswith(_NO_ANSWER):
        return Fault.TIMEOUT
    if uses_tls and "certificate" in reason:
        return Fault.CLIENT_CERTIFICATE
    return Fault.CLOSED


def _sasl_fault(problem: str) -> Fault:
    """Kafka answers ILLEGAL_SASL_STATE, without mechanisms, where SASL is not enabled."""
    if "the listener has no SASL" in problem:
        return Fault.SASL_MISSING
    if "is not among the broker's:" in problem:
        return Fault.SASL_MECHANISM
    return Fault.AUTHENTICATION


def _first(rows: tuple[tuple[str, Fault], ...], text: str, default: Fault) -> Fault:
    return next((fault for part, fault in rows if part in text), default)
