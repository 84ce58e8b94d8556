from __future__ import annotations

import asyncio
import ssl

from cryptography.hazmat.primitives.serialization import Encoding

from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.doctor.clean_text import TextCleaner
from signalbox.doctor.observations import Certificate
from signalbox.doctor.prober.certificate_reader import describe_certificate, read_certificate, unverified_context
from signalbox.security.tls.contexts import server_context
from tests.client.loopback_cluster import LoopbackCluster
from tests.doctor.hostile import closing, server
from tests.security.tls.handshakes import AUTHORITY, inline

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


def test_the_context_verifies_nothing() -> None:
    context = unverified_context({**DEFAULTS, "ssl.enabled.protocols": ["TLSv1.3"]})
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)
