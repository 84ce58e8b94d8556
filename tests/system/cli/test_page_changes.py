"""The commands of the pages on listeners, TLS and quotas, which change a running broker, and those of the doctor's."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from signalbox.testing.cluster import Cluster
from signalbox.testing.free_ports import free_ports
from signalbox.testing.kafka_cluster.certificate_files import write_certificates
from tests.system.cli.page_shell import PageShell, commands_of
from tests.system.cli.test_page_commands import broker_properties, started
from tests.waiting import until

pytestmark = pytest.mark.timeout(240)


def test_listeners(tmp_path: Path) -> None:
    (command,) = commands_of("docs/listeners.md")
    client, replication, guest = free_ports(3)
    shell = PageShell(tmp_path)
    properties = broker_properties(tmp_path)
    for name, port in (("CLIENT", client), ("REPLICATION", replication)):
        properties = properties.replace(f"{name}://127.0.0.1:0", f"{name}://127.0.0.1:{port}")
    shell.write("server.properties", properties)
    for page_port, port in ((":9092,", client), (":9093,", replication), (":9094 ", guest)):
        command = command.replace(f"//{page_port}", f"//127.0.0.1:{port}{page_port[-1]}")
    command = command.replace("/etc/keys/guest.pem", str(write_certificates(tmp_path).broker))
    with started(tmp_path / "server.properties") as address:
        printed = shell.run(command.replace("broker1:9092", address))
        certificate = ssl.get_server_certificate(("127.0.0.1", guest))
    assert printed == "1: changed\n"
    assert "BEGIN CERTIFICATE" in certificate


def test_tls(tmp_path: Path) -> None:
    (command,) = commands_of("docs/tls.md")
    shell = PageShell(tmp_path, SIGNALBOX_COMMAND_CONFIG="client.properties")
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    old, new = (write_certificates(tmp_path / name) for name in ("old", "new"))
    shell.write("client.properties", f"security.protocol=SSL\nssl.truststore.location={old.authority}\n")
    overrides = {
        "listener.security.protocol.map": "CLIENT:SSL,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
        "listener.name.client.ssl.keystore.type": "PEM",
        "listener.name.client.ssl.keystore.location": str(old.broker),
        "signalbox.audit.enable": "false",
    }
    with Cluster(brokers=1, overrides=overrides) as cluster:
        address = cluster.bootstrap_servers
        host, _, port = address.rpartition(":")
        before = ssl.get_server_certificate((host, int(port)))
        changed = command.replace("broker1:9092", address).replace("/etc/keys/broker.pem", str(new.broker))
        assert shell.run(changed) == "1: changed\n"
        until(lambda: ssl.get_server_certificate((host, int(port))) != before, "the new certificate")


def test_doctor(tmp_path: Path) -> None:
    shell = PageShell(tmp_path)
    for name in ("client", "inside", "outside"):
        shell.write(f"{name}.properties", "security.protocol=PLAINTEXT\n")
    with Cluster(brokers=2, overrides={"signalbox.audit.enable": "false"}) as cluster:
        first, second = cluster.bootstrap_servers.split(",")
        addresses = {"broker1:9092": first, "broker2:9092": second, "inside:9092": first, "outside:9093": second}
        for command in commands_of("docs/doctor/README.md"):
            for name, address in addresses.items():
                command = command.replace(name, address)
            assert "all right" in shell.run(command)
    assert (tmp_path / "doctor.html").read_text().endswith("</html>\n")


def test_quotas(tmp_path: Path) -> None:
    with Cluster(brokers=1, overrides={"signalbox.audit.enable": "false"}) as cluster:
        shell = PageShell(tmp_path, SIGNALBOX_BOOTSTRAP=cluster.bootstrap_servers)
        printed = [shell.run(command) for command in commands_of("docs/quotas.md")]
        assert "producer_byte_rate" not in shell.run("signalbox quota describe --user alice")
    assert printed[0] == "client-id=<default>,user=alice: changed\n"
    assert "1048576" in printed[1]
