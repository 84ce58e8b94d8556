"""The certificates of a test cluster."""

from __future__ import annotations

import socket
import ssl
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from signalbox.testing.kafka_cluster.certificate_files import CertificateFiles, write_certificates

pytestmark = pytest.mark.spec("R7")


def handshake(files: CertificateFiles, authority: Path, name: str) -> str | None:
    """The error of a TLS handshake with a server that has the brokers' certificate."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=str(authority))
    client.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python 3.13 does by itself
    server.load_cert_chain(files.broker)
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            server.wrap_socket(theirs, server_side=True).close()
        except OSError:
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        client.wrap_socket(ours, server_hostname=name).close()
    except ssl.SSLError as error:
        return error.reason
    finally:
        ours.close()
        thread.join()
    return None


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_clients_that_trust_the_authority_connect(tmp_path: Path, name: str) -> None:
    files = write_certificates(tmp_path)
    assert handshake(files, files.authority, name) is None
    assert files.broker.stat().st_mode & 0o077 == 0


def test_other_names_and_other_authorities_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    files, others = write_certificates(tmp_path), write_certificates(tmp_path / "other")
    assert handshake(files, files.authority, "broker.example") == "CERTIFICATE_VERIFY_FAILED"
    assert handshake(files, others.authority, "localhost") == "CERTIFICATE_VERIFY_FAILED"


def test_a_line_has_the_brokers_certificate_and_trusts_it(tmp_path: Path) -> None:
    tls = write_certificates(tmp_path).line_tls()
    ours, theirs = socket.socketpair()
    accepting = threading.Thread(target=lambda: tls.to_caller.wrap_socket(theirs, server_side=True).close())
    accepting.start()
    with tls.to_target.wrap_socket(ours, server_hostname="localhost") as secured:
        certificate: Any = secured.getpeercert()
    accepting.join()
    assert [name for _, name in certificate["subjectAltName"]] == ["localhost", "127.0.0.1"]


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(RuntimeError, match="pip install cryptography"):
        write_certificates(tmp_path)
