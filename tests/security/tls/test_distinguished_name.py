"""The expected names are the output of Java: X500Principal.getName() of certificates made in this way."""

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.name import _ASN1Type as Asn1
from cryptography.x509.oid import NameOID, ObjectIdentifier

from signalbox.security.tls.distinguished_name import distinguished_name
from tests.security.tls.handshakes import BROKER

KEY = ec.generate_private_key(ec.SECP256R1())
CN, C, O_ = NameOID.COMMON_NAME, NameOID.COUNTRY_NAME, NameOID.ORGANIZATION_NAME
Attribute = x509.NameAttribute[str]


def certificate(*parts: list[Attribute]) -> bytes:
    """A certificate, signed with its own key, with a subject of these relative names, the most general first."""
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.RelativeDistinguishedName(part) for part in parts]))
        .issuer_name(x509.Name([Attribute(CN, "issuer")]))
        .public_key(KEY.public_key())
        .serial_number(1)
        .not_valid_before(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
        .not_valid_after(datetime.datetime(2060, 1, 1, tzinfo=datetime.UTC))
        .sign(KEY, hashes.SHA256())
    )
    return made.public_bytes(Encoding.DER)


@pytest.mark.spec("L7")
@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ([[Attribute(C, "DE")], [Attribute(CN, "a=b#c,d+e")]], "CN=a\\=b\\#c\\,d\\+e,C=DE"),
        ([[Attribute(CN, 'e<f>g;h"i\\j')]], 'CN=e\\<f\\>g\\;h\\"i\\\\j'),
        ([[Attribute(CN, " lead and tail  ")]], "CN=\\ lead and tail\\ \\ "),
        ([[Attribute(CN, "#x  y")]], "CN=\\#x  y"),
        ([[Attribute(CN, "a\tb")]], "CN=a\tb"),
        (
            [[Attribute(CN, "Jörg ☃")], [Attribute(NameOID.EMAIL_ADDRESS, "a@b.de")]],
            "1.2.840.113549.1.9.1=#16066140622e6465,CN=Jörg ☃",
        ),
        ([[Attribute(NameOID.TITLE, "Dr")], [Attribute(CN, "z")]], "CN=z,2.5.4.12=#0c024472"),
        ([[Attribute(NameOID.SERIAL_NUMBER, "12")]], "2.5.4.5=#13023132"),
        ([[Attribute(CN, "x"), Attribute(NameOID.USER_ID, "7")], [Attribute(C, "DE")]], "C=DE,CN=x+UID=7"),
        (
            [
                [Attribute(NameOID.USER_ID, "u")],
                [Attribute(NameOID.DOMAIN_COMPONENT, "d")],
                [Attribute(NameOID.STREET_ADDRESS, "s")],
                [Attribute(NameOID.STATE_OR_PROVINCE_NAME, "t")],
                [Attribute(NameOID.LOCALITY_NAME, "l")],
                [Attribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "n")],
                [Attribute(O_, "o")],
                [Attribute(O_, "p")],
            ],
            "O=p,O=o,OU=n,L=l,ST=t,STREET=s,DC=d,UID=u",
        ),
        ([[Attribute(CN, "é", Asn1.T61String)]], "CN=é"),
        ([[Attribute(CN, "b", Asn1.BMPString)]], "CN=\\00b"),
        ([[Attribute(CN, "vis", Asn1.VisibleString)]], "CN=#1a03766973"),
        ([[Attribute(ObjectIdentifier("1.3.6.1.4.1.128.16384"), "own")]], "1.3.6.1.4.1.128.16384=#0c036f776e"),
        ([[Attribute(ObjectIdentifier("2.999.3"), "own")]], "2.999.3=#0c036f776e"),
        ([], ""),
    ],
)  # fmt: skip
def test_names_as_java_prints_them(parts: list[list[Attribute]], name: str) -> None:
    assert distinguished_name(certificate(*parts)) == name


def test_a_certificate_of_our_own() -> None:
    der = BROKER.certificate.public_bytes(Encoding.DER)
    assert distinguished_name(der) == "CN=broker,O=Signal\\, Box,C=DE"


def test_bytes_that_are_no_certificate() -> None:
    der = BROKER.certificate.public_bytes(Encoding.DER)
    for data in (b"", b"\x30", b"\x30\x03\x30\x01\x02", der[:100], bytes(50)):
        with pytest.raises(ValueError, match="no certificate"):
            distinguished_name(data)
