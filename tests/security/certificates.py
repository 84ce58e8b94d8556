"""A certificate authority for tests: names, keys and stores are created when needed."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

_FROM = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_UNTIL = datetime.datetime(2060, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Identity:
    """A key with its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(self, password: str = "") -> str:
        protection: KeySerializationEncryption = (
            BestAvailableEncryption(password.encode()) if password else NoEncryption()
        )
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection).decode()

    def pem_file(self, path: Path, password: str = "") -> str:
        path.write_text(self.key_pem(password) + self.certificate_pem)
        return str(path)

    def pkcs12_file(self, path: Path, password: str, trusted: x509.Certificate | None = None) -> str:
        others = [trusted] if trusted else None
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(
                b"broker", self.key, self.certificate, others, BestAvailableEncryption(password.encode())
            )
        )
        return str(path)


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Signal, Box"),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


class Authority:
    """Signs every certificate that a test asks for."""

    def __init__(self, name: str = "authority") -> None:
        self._name = _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._sign(self._name, self._key, is_authority=True)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def identity(
        self,
        common_name: str,
        *,
        hosts: Sequence[str] = ("localhost", "127.0.0.1"),
        valid_from: datetime.datetime = _FROM,
        valid_until: datetime.datetime = _UNTIL,
    ) -> Identity:
        """A new key, with a certificate for `hosts` that is valid from `valid_from` until `valid_until`."""
        key = ec.generate_private_key(ec.SECP256R1())
        return Identity(key, self._sign(_name(common_name), key, hosts, valid_from, valid_until))

    def expired(self, common_name: str) -> Identity:
        return self.identity(common_name, valid_until=datetime.datetime(2021, 1, 1, tzinfo=datetime.UTC))

    def not_yet_valid(self, common_name: str) -> Identity:
        return self.identity(common_name, valid_from=datetime.datetime(2059, 1, 1, tzinfo=datetime.UTC))

    def _sign(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        hosts: Sequence[str] = (),
        valid_from: datetime.datetime = _FROM,
        valid_until: datetime.datetime = _UNTIL,
        *,
        is_authority: bool = False,
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(valid_from)
            .not_valid_after(valid_until)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(list(map(_host, hosts))), critical=False)
        return builder.sign(self._key, hashes.SHA256())
