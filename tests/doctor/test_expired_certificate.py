"""A real TLS server whose certificate is not valid at this time: what the doctor says, and what a client says."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure
from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.observations import Examination
from signalbox.doctor.prober.certificate_reader import CONTENTS_UNREAD
from signalbox.security.tls.contexts import server_context
from tests.client.loopback_cluster import LoopbackCluster
from tests.doctor.loopback import examined
from tests.security.certificates import Identity
from tests.security.tls.handshakes import AUTHORITY, inline

pytestmark = pytest.mark.spec("R8", "L7")

EXPIRED, EARLY = AUTHORITY.expired("broker"), AUTHORITY.not_yet_valid("broker")
both = pytest.mark.parametrize(
    ("identity", "why"), [(EXPIRED, "certificate has expired"), (EARLY, "certificate is not yet valid")]
)


def properties(folder: Path) -> dict[str, str]:
    (folder / "authority.pem").write_text(AUTHORITY.pem)
    return {"security.protocol": "SSL", "ssl.truststore.location": str(folder / "authority.pem")}


def examine_one(identity: Identity, folder: Path) -> Examination:
    async def run() -> Examination:
        async with LoopbackCluster() as cluster:
            host, port = (await cluster.add_broker(1, server_context(inline(identity)))).address
            return await examined(f"{host}:{port}", properties=properties(folder))

    return asyncio.run(run())


@both
def test_the_doctor_says_so_and_nothing_else(identity: Identity, why: str, tmp_path: Path) -> None:
    examination = examine_one(identity, tmp_path)
    (finding,) = find(examination)
    assert (finding.code, finding.key) == ("CERTIFICATE_EXPIRED", "ssl.keystore.location")
    assert " is valid from 20" in finding.text
    assert CONTENTS_UNREAD not in examination.listeners[0].view.skipped
    (connection,) = examination.listeners[0].seeds[0].connections
    assert why in connection.text


@both
def test_without_the_package_that_reads_the_dates_too(
    identity: Identity, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    examination = examine_one(identity, tmp_path)
    (finding,) = find(examination)
    assert (finding.code, finding.key) == ("CERTIFICATE_EXPIRED", "ssl.keystore.location")
    assert why in finding.text
    assert examination.listeners[0].view.skipped == (CONTENTS_UNREAD,)


@both
def test_an_ordinary_client_names_the_setting_of_the_broker(identity: Identity, why: str, tmp_path: Path) -> None:
    async def run() -> str:
        async with LoopbackCluster() as cluster:
            host, port = (await cluster.add_broker(1, server_context(inline(identity)))).address
            values = {"bootstrap.servers": f"{host}:{port}", "default.api.timeout.ms": "500", **properties(tmp_path)}
            settings = ClientSettings.from_properties(values)
            async with AdminClient(ClusterClient(settings)) as admin:
                with pytest.raises(ClientFailure) as raised:
                    await admin.create_topic("t", 1, 1)
        return str(raised.value)

    assert f"the peer's certificate is rejected: {why} (ssl.keystore.* of the peer)" in asyncio.run(run())
