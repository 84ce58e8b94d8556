from __future__ import annotations

import asyncio
import ssl
import sys
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.doctor.observations import Certificate
from signalbox.doctor.prober.certificate_reader import (
    CONTENTS_UNREAD,
    describe_certificate,
    read_certificate,
    reads_contents,
    unverified_context,
)
from signalbox.security.clean_text import TextCleaner
from signalbox.security.tls.contexts import server_context
from tests.client.loopback_cluster import LoopbackCluster
from tests.doctor.hostile import closing, server
from tests.security.tls.handshakes import AUTHORITY, inline

pytestmark = pytest.mark.spec("R8")

CLEAN = TextCleaner().clean
DEFAULTS, _ = CLIENT_CONFIG.read({})


def test_a_certificate_that_nothing_trusts_is_read_with_its_names() -> None:
    identity = AUTHORITY.identity("broker", hosts=["elsewhere.example", "10.1.2.3"])

    async def run() -> Certificate | None:
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(1, server_context(inline(identity)))
            host, port = broker.address
            return await read_certificate(host, port, "localhost", unverified_context(DEFAULTS), CLEAN)

    found = asyncio.run(run())
    assert found is not None
    assert found.names == ("elsewhere.example", "10.1.2.3")
    assert "CN=broker" in found.subject
    assert found.not_before < found.not_after
    assert len(found.sha256) == 64
    assert found == describe_certificate(identity.certificate.public_bytes(Encoding.DER), CLEAN)


def test_no_handshake_no_certificate() -> None:
    async def run() -> Certificate | None:
        async with server(closing) as (host, port):
            return await read_certificate(host, port, "localhost", unverified_context(DEFAULTS), CLEAN)

    assert asyncio.run(run()) is None


def test_bytes_that_are_no_certificate_have_a_fingerprint() -> None:
    assert describe_certificate(b"nothing", CLEAN).subject == ""
    assert len(describe_certificate(b"nothing", CLEAN).sha256) == 64


def test_a_certificate_that_x509_does_not_allow_has_a_fingerprint() -> None:
    """The same extension twice: an exception of its own, no ValueError."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hostile")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().issuer_name(name).subject_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    for last in (4, 5):
        extension = x509.UnrecognizedExtension(x509.ObjectIdentifier(f"1.2.3.{last}"), b"x")
        builder = builder.add_extension(extension, critical=False)
    encoded = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)
    twice = encoded.replace(b"\x06\x03\x2a\x03\x05", b"\x06\x03\x2a\x03\x04")
    assert twice != encoded
    assert "CN=hostile" in describe_certificate(encoded, CLEAN).subject
    found = describe_certificate(twice, CLEAN)
    assert (found.subject, len(found.sha256)) == ("", 64)


def test_the_context_verifies_nothing() -> None:
    context = unverified_context({**DEFAULTS, "ssl.enabled.protocols": ["TLSv1.3"]})
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


def test_without_the_optional_package_there_is_a_fingerprint_only(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = AUTHORITY.identity("broker").certificate.public_bytes(Encoding.DER)
    assert (reads_contents(), describe_certificate(encoded, CLEAN).not_after != "") == (True, True)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    found = describe_certificate(encoded, CLEAN)
    assert (reads_contents(), found) == (False, Certificate(sha256=found.sha256))


def test_what_is_to_be_installed_exists() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert "security" in project["optional-dependencies"]
    assert CONTENTS_UNREAD.endswith(f"install {project['name']}[security]")
