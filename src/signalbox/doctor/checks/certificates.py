"""The certificates that ports present."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from signalbox.doctor.checks.about import about
from signalbox.doctor.finding import Finding
from signalbox.doctor.observations import AddressObservation, Certificate, Examination, Fault, ListenerObservation

_SOON = timedelta(days=14)


def check_certificates(examination: Examination) -> Iterator[Finding]:
    """Validity at the time of the run, and the names where the client verifies them."""
    now = datetime.fromisoformat(examination.started)
    for listener in examination.listeners:
        for row in listener.addresses:
            for certificate in dict.fromkeys(row.certificates.values()):
                yield from _validity(listener, row, certificate, now)
                yield from _names(listener, row, certificate)


def _validity(
    listener: ListenerObservation, row: AddressObservation, certificate: Certificate, now: datetime
) -> Iterator[Finding]:
    if not certificate.not_after:
        return
    begin, end = _moment(certificate.not_before), _moment(certificate.not_after)
    text = f"the certificate of {row.address} is valid from {certificate.not_before} to {certificate.not_after}"
    if not begin <= now <= end:
        yield about("CERTIFICATE_EXPIRED", listener, row, text)
    elif end - now < _SOON:
        yield about("CERTIFICATE_ENDS_SOON", listener, row, text)


def _names(listener: ListenerObservation, row: AddressObservation, certificate: Certificate) -> Iterator[Finding]:
    if any(connection.fault == Fault.CERTIFICATE_NAME for connection in row.connections):
        names = ", ".join(certificate.names) or "no name"
        text = f"the certificate of {row.address} is for {names}, not for {row.host}"
        yield about("CERTIFICATE_NAME", listener, row, text, f"a certificate for {row.host}")


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
