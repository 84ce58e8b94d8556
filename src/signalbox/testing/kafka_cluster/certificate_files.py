"""A certificate authority for one test cluster, and the brokers' certificate: two PEM files.

The certificate is for localhost and 127.0.0.1. Needs the extra `security` (cryptography).
"""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.x509 import KeyUsage

from signalbox.testing.switchboard_line import LineTls

_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """`authority` is what clients trust, `broker` has the brokers' key and certificate."""

    authority: Path
    broker: Path

    def line_tls(self) -> LineTls:
        """For a line of the switchboard in front of a broker."""
        to_caller = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        to_caller.load_cert_chain(self.broker)
        return LineTls(to_caller, ssl.create_default_context(cafile=str(self.authority)))


def write_certificates(folder: Path) -> CertificateFiles:
    """New keys, valid for a day before and after now. RuntimeError without the extra `security`; OSError.

    The certificates have all extensions that RFC 5280 asks for: Python 3.13 verifies them strictly.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
        from cryptography.x509.oid import NameOID
    except ImportError as error:
        raise RuntimeError("a cluster with TLS needs the package cryptography: pip install cryptography") from error

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.datetime.now(datetime.UTC)
    authority_key, broker_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))

    def builder(subject: str, key: ec.EllipticCurvePrivateKey, is_authority: bool) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name("signalbox test authority"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
            )
            .add_extension(_key_usage(is_authority), critical=True)
        )

    authority = builder("signalbox test authority", authority_key, True).sign(authority_key, hashes.SHA256())
    hosts: list[x509.GeneralName] = [
        x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    ]  # fmt: skip
    broker = (
        builder("signalbox test broker", broker_key, False)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    files = CertificateFiles(folder / "authority.pem", folder / "broker.pem")
    files.authority.write_bytes(authority.public_bytes(Encoding.PEM))
    files.broker.touch(mode=0o600)
    key_pem = broker_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    files.broker.write_bytes(key_pem + broker.public_bytes(Encoding.PEM))
    return files


def _key_usage(is_authority: bool) -> KeyUsage:
    from cryptography.x509 import KeyUsage

    return KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
