from __future__ import annotations

import pytest

from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.checks.certificates import check_certificates
from signalbox.doctor.observations import Certificate, Fault
from tests.doctor.samples import advertised, codes_of, connection, examination, failed, listener

pytestmark = pytest.mark.spec("R8")

BEGIN = "2026-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("not_before", "not_after", "codes"),
    [
        (BEGIN, "2027-01-01T00:00:00+00:00", []),
        (BEGIN, "2026-06-10T00:00:00", [("CERTIFICATE_ENDS_SOON", 1)]),
        (BEGIN, "2026-06-01T11:00:00+00:00", [("CERTIFICATE_EXPIRED", 1)]),
        ("2026-06-02T00:00:00+00:00", "2027-01-01T00:00:00+00:00", [("CERTIFICATE_EXPIRED", 1)]),
    ],
)
def test_validity(not_before: str, not_after: str, codes: list[tuple[str, int]]) -> None:
    certificate = Certificate(not_before=not_before, not_after=not_after)
    rows = advertised(1, 1, certificates={"10.0.0.1": certificate, "10.0.0.2": certificate})
    assert codes_of(check_certificates(examination(listener(rows)))) == codes


def test_the_names_of_the_certificate_are_shown_where_the_client_verifies_them() -> None:
    certificate = {"10.0.0.9": Certificate(names=("a.example", "10.0.0.7"))}
    wrong = advertised(1, connections=(failed(Fault.CERTIFICATE_NAME),), certificates=certificate)
    (finding,) = check_certificates(examination(listener(wrong)))
    assert finding.code == "CERTIFICATE_NAME"
    assert finding.text == "the certificate of broker1:9092 is for a.example, 10.0.0.7, not for broker1"
    unverified = advertised(1, connections=(connection(1),), certificates=certificate)
    assert codes_of(check_certificates(examination(listener(unverified)))) == []


@pytest.mark.parametrize(
    "certificates",
    [
        {},
        {"10.0.0.9": Certificate(sha256="0" * 64)},
        {"10.0.0.9": Certificate(not_before=BEGIN, not_after="2027-01-01")},
    ],
    ids=["not read", "without dates", "of an expired authority"],
)
def test_what_the_tls_library_rejects_has_expired_without_dates_too(certificates: dict[str, Certificate]) -> None:
    rows = listener(advertised(1, connections=(failed(Fault.CERTIFICATE_EXPIRED),), certificates=certificates))
    (finding,) = find(examination(rows))
    assert (finding.code, finding.key) == ("CERTIFICATE_EXPIRED", "ssl.keystore.location")
    assert finding.text == "node 1 at broker1:9092: a reason"


def test_dates_say_it_better_than_the_tls_library() -> None:
    certificate = Certificate(not_before=BEGIN, not_after="2026-02-01T00:00:00+00:00")
    row = advertised(1, connections=(failed(Fault.CERTIFICATE_EXPIRED),), certificates={"10.0.0.9": certificate})
    (finding,) = find(examination(listener(row)))
    assert finding.text.endswith(f"is valid from {BEGIN} to 2026-02-01T00:00:00+00:00")
