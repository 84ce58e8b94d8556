"""The certificates that ports present."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from signalbox.doctor.checks.about import about, name_of
from signalbox.doctor.finding import Finding
from signalbox.doctor.observations import AddressObservation, Certificate, Examination, Fault, ListenerObservation

_EXPIRED = "CERTIFICATE_EXPIRED"
_SOON = timedelta(days=14)


def check_certificates(examination: Examination) -> Iterator[Finding]:
    """Validity at the time of the run, and the names where the client verifies them."""
    now = datetime.fromisoformat(examination.started)
    for listener in examination.listeners:
        for row in listener.addresses:
            certificates = dict.fromkeys(row.certificates.values())
            validity = [finding for one in certificates for finding in _validity(listener, row, one, now)]
            yield from validity
            if all(finding.code != _EXPIRED for finding in validity):
                yield from _rejected_as_expired(listener, row)
            for certificate in certificates:
                yield from _names(listener, row, certificate)


def _validity(
    listener: ListenerObservation, row: AddressObservation, certificate: Certificate, now: datetime
) -> Iterator[Finding]:
    if not certificate.not_after:
        return
    begin, end = _moment(certificate.not_before), _moment(certificate.not_after)
    text = f"the certificate of {row.address} is valid from {certificate.not_before} to {certificate.not_after}"
    if not begin <= now <= end:
        yield about(_EXPIRED, listener, row, text)
    elif end - now < _SOON:
        yield about("CERTIFICATE_ENDS_SOON", listener, row, text)


def _rejected_as_expired(listener: ListenerObservation, row: AddressObservation) -> Iterator[Finding]:
    """What the TLS library says where no date does: the dates are unknown, or another certificate of the chain is out
    of date."""
    failed = next((one for one in row.connections if one.fault == Fault.CERTIFICATE_EXPIRED), None)
    if failed is not None:
        yield about(_EXPIRED, listener, row, f"{name_of(row)} at {row.address}: {failed.text}")


def _names(listener: ListenerObservation, row: AddressObservation, certificate: Certificate) -> Iterator[Finding]:
    if any(connection.fault == Fault.CERTIFICATE_NAME for connection in row.connections):
        names = ", ".join(certificate.names) or "no name"
        text = f"the certificate of {row.address} is for {names}, not for {row.host}"
        yield about("CERTIFICATE_NAME", listener, row, text, f"a certificate for {row.host}")


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
