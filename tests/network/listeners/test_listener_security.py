from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from signalbox.common.audit_event import AuditKind
from signalbox.network.listeners.listener_security import build_security, login_module, read_jaas_file
from signalbox.protocol.api_table import ApiKey
from signalbox.security.sasl.scram import NoCredentials
from signalbox.security.tls.contexts import client_context
from signalbox.security.tls.settings import TlsSettings
from tests.network.serving import configured, serving
from tests.security.certificates import Authority
from tests.transport.loopback import framed

AUTHORITY = Authority()
BROKER, USER = AUTHORITY.identity("broker"), AUTHORITY.identity("user")
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def properties(**given: str) -> dict[str, str]:
    return {
        "listeners": "OPEN://127.0.0.1:0,TLS://127.0.0.1:0,SECURE://127.0.0.1:0",
        "listener.security.protocol.map": "OPEN:PLAINTEXT,TLS:SSL,SECURE:SASL_SSL",
        "inter.broker.listener.name": "OPEN",
        "ssl.keystore.key": BROKER.key_pem(),
        "ssl.keystore.certificate.chain": BROKER.certificate_pem,
        "ssl.truststore.certificates": AUTHORITY.pem,
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": f'{PLAIN} required user_a="b";',
    } | given


def test_each_listener_gets_what_its_protocol_needs() -> None:
    security, faults = build_security(*configured(properties()), NoCredentials())
    assert not faults
    assert security["OPEN"].tls is None
    assert not security["OPEN"].mechanisms
    assert security["TLS"].tls is not None
    assert list(security["SECURE"].mechanisms) == ["PLAIN"]


def test_client_certificates_on_sasl_ssl_need_the_prefixed_key() -> None:
    given = properties() | {"ssl.client.auth": "required"}
    security, _ = build_security(*configured(given), NoCredentials())
    tls, secure = security["TLS"].tls, security["SECURE"].tls
    assert tls is not None
    assert secure is not None
    assert tls.context.verify_mode is ssl.CERT_REQUIRED
    assert secure.context.verify_mode is ssl.CERT_NONE
    security, _ = build_security(
        *configured(given | {"listener.name.secure.ssl.client.auth": "required"}), NoCredentials()
    )
    secure = security["SECURE"].tls
    assert secure is not None
    assert secure.context.verify_mode is ssl.CERT_REQUIRED


def test_all_faults_at_once() -> None:
    given = properties() | {
        "sasl.enabled.mechanisms": "PLAIN,GSSAPI,SCRAM-SHA-256",
        "listener.name.secure.plain.sasl.jaas.config": "A required; B required;",
        "listener.name.tls.ssl.keystore.key": "nonsense",
        "signalbox.sasl.jaas.file": "/no/such/file",
    }
    _, faults = build_security(*configured(given), NoCredentials())
    assert [fault.key for fault in faults] == [
        "signalbox.sasl.jaas.file",
        "listener.name.tls.ssl.keystore.key",
        "listener.name.secure.plain.sasl.jaas.config",
        "sasl.enabled.mechanisms",
        "listener.name.secure.scram-sha-256.sasl.jaas.config",
    ]
    assert all(fault.problem and fault.remedy for fault in faults)


@pytest.mark.spec("L6")
def test_l6_where_a_login_module_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "jaas.conf"
    path.write_text(
        f"secure.KafkaServer {{ {PLAIN} required user_file=x; }};\nKafkaServer {{ {PLAIN} required user_any=x; }};"
    )
    given = properties() | {"signalbox.sasl.jaas.file": str(path)}
    _, settings = configured(given)
    jaas_file, faults = read_jaas_file(settings.everywhere)
    assert not faults

    def users(listener: str) -> list[str]:
        module = login_module(listener, "PLAIN", settings.listener(listener), jaas_file)
        assert module is not None
        return list(module.users)

    assert users("SECURE") == ["a"]  # the prefixed key comes first
    assert users("OTHER") == ["any"]
    _, settings = configured({key: value for key, value in given.items() if "jaas.config" not in key})
    assert users("SECURE") == ["file"]


@pytest.mark.spec("L6")
def test_jaas_faults_name_file_line_and_section(tmp_path: Path) -> None:
    path = tmp_path / "jaas.conf"
    given = properties() | {"signalbox.sasl.jaas.file": str(path)}
    del given["listener.name.secure.plain.sasl.jaas.config"]
    path.write_text(f"KafkaServer {{\n  {PLAIN} required\n  user_a;\n}};")
    fault = build_security(*configured(given), NoCredentials())[1][0]
    assert (fault.key, fault.entry) == ("signalbox.sasl.jaas.file", str(path))
    assert fault.problem == "section KafkaServer: expected '=' instead of ';' in line 3"
    path.write_text(f"secure.KafkaServer {{ }};\nKafkaServer {{ {PLAIN} required user_a=b; }};")
    (fault,) = build_security(*configured(given), NoCredentials())[1]
    assert f"in section secure.KafkaServer of {path}, which is the one that counts" in fault.problem
    path.unlink()
    assert "No such file" in build_security(*configured(given), NoCredentials())[1][0].problem
    environment = {"KAFKA_OPTS": f"-Djava.security.auth.login.config={path}"}
    _, settings = configured(properties())
    assert "KAFKA_OPTS" in read_jaas_file(settings.everywhere, environment)[1][0].key


def test_mutual_tls_makes_the_subject_the_principal_and_plain_text_is_rejected() -> None:
    given = properties() | {"listener.name.tls.ssl.client.auth": "required"}

    async def main() -> None:
        async with serving(given) as served:
            context = client_context(
                TlsSettings(
                    keystore_key=USER.key_pem(),
                    keystore_certificate_chain=USER.certificate_pem,
                    truststore_certificates=AUTHORITY.pem,
                )
            )
            reader, writer = await asyncio.open_connection("localhost", served.ports["TLS"], ssl=context)
            dialled = await served.dial("OPEN")
            writer.write(dialled.request(ApiKey.METADATA, 1, b"x"))
            assert await reader.readexactly(9) == framed(b"\0\0\0\1x")
            assert str(served.sink.seen[0].context.principal) == "User:CN=user,O=Signal\\, Box,C=DE"
            writer.close()
            plain = await served.dial("TLS")
            await plain.send(plain.request(ApiKey.METADATA, 1))
            assert await plain.ended()
            assert served.recorder.counts["Rejections", "TLS", "plaintext_on_tls"] == 1
            uncertified = client_context(TlsSettings(truststore_certificates=AUTHORITY.pem))
            reader, writer = await asyncio.open_connection("localhost", served.ports["TLS"], ssl=uncertified)
            with suppress(OSError):  # the connection ends with an alert or without one
                assert await reader.read() == b""
            await served.recorder.until(AuditKind.REJECTED, 2)
            writer.close()
            assert len(served.sink.seen) == 1

    asyncio.run(main())
