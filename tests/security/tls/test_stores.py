from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from signalbox.security.tls.contexts import server_context
from signalbox.security.tls.settings import TlsConfigError, TlsSettings
from signalbox.security.tls.stores import open_stores
from tests.security.tls.handshakes import AUTHORITY, BROKER, inline, shake_hands


def fault(settings: TlsSettings) -> TlsConfigError:
    with pytest.raises(TlsConfigError) as raised:
        open_stores(settings)
    return raised.value


@pytest.mark.spec("L7")
@pytest.mark.parametrize("kind", ["PKCS12", "pkcs12", "JKS", "PEM"])
def test_a_pkcs12_store_is_known_by_its_bytes(tmp_path: Path, kind: str) -> None:
    path = BROKER.pkcs12_file(tmp_path / "broker.p12", "pass", AUTHORITY.certificate)
    settings = TlsSettings(
        keystore_type=kind,
        keystore_location=path,
        keystore_password="pass",
        truststore_type=kind,
        truststore_location=path,
        truststore_password="pass",
        client_auth="requested",
    )
    assert shake_hands(server_context(settings))


def test_pkcs12_passwords(tmp_path: Path) -> None:
    path = BROKER.pkcs12_file(tmp_path / "broker.p12", "pass")
    keystore = TlsSettings(keystore_type="PKCS12", keystore_location=path, keystore_password="guess")
    assert "wrong password" in str(fault(keystore))
    assert "guess" not in str(fault(keystore))
    assert fault(TlsSettings(keystore_type="PKCS12", keystore_location=path)).key == "ssl.keystore.password"
    truststore = TlsSettings(truststore_type="PKCS12", truststore_location=path, truststore_password="guess")
    assert fault(truststore).key == "ssl.truststore.password"


def test_a_pkcs12_store_without_key_or_certificate(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

    path = tmp_path / "trust.p12"
    entry = pkcs12.PKCS12Certificate(AUTHORITY.certificate, b"ca")
    path.write_bytes(pkcs12.serialize_key_and_certificates(None, None, None, [entry], BestAvailableEncryption(b"pass")))
    assert "holds no private key" in str(fault(TlsSettings(keystore_location=str(path), keystore_password="pass")))
    opened = open_stores(TlsSettings(truststore_location=str(path), truststore_password="pass"))
    assert opened.trusted == AUTHORITY.pem
    assert opened.key_entry is None


@pytest.mark.parametrize(("magic", "name"), [("feedfeed", "JKS"), ("cececece", "JCEKS")])
def test_javas_own_stores_are_rejected_with_the_way_out(tmp_path: Path, magic: str, name: str) -> None:
    path = tmp_path / "broker.jks"
    path.write_bytes(bytes.fromhex(magic) + bytes(100))
    for prefix in ("keystore", "truststore"):
        given: dict[str, Any] = {f"{prefix}_type": "JKS", f"{prefix}_location": str(path), f"{prefix}_password": "x"}
        error = fault(TlsSettings(**given))
        assert error.key == f"ssl.{prefix}.type"
        assert f"is a {name} store" in error.problem
        assert "keytool -importkeystore" in error.problem


def test_pem_on_one_line_as_properties_have_it() -> None:
    one_line = inline(
        keystore_key=" ".join(BROKER.key_pem().splitlines()),
        keystore_certificate_chain=" ".join(BROKER.certificate_pem.splitlines()),
        truststore_certificates="leaf of the year " + " ".join(AUTHORITY.pem.splitlines()),
    )
    assert open_stores(one_line) == open_stores(inline())
    assert shake_hands(server_context(one_line))


def test_headers_of_an_old_encrypted_key_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    protection = BestAvailableEncryption(b"pass")
    path.write_bytes(BROKER.key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, protection))
    entry = open_stores(inline(keystore_key=path.read_text(), key_password="pass")).key_entry
    assert entry is not None
    assert "Proc-Type: 4,ENCRYPTED" in entry.private_key.splitlines()


PEM_FILE = "a file that is there"


@pytest.mark.parametrize(
    ("changes", "key", "problem"),
    [
        ({"keystore_key": "nonsense"}, "ssl.keystore.key", "expected one private key in PEM, found 0"),
        ({"keystore_key": BROKER.key_pem() * 2}, "ssl.keystore.key", "found 2"),
        ({"keystore_certificate_chain": "x"}, "ssl.keystore.certificate.chain", "no certificate"),
        ({"keystore_certificate_chain": ""}, "ssl.keystore.certificate.chain", "missing beside ssl.keystore.key"),
        ({"keystore_key": ""}, "ssl.keystore.key", "missing beside ssl.keystore.certificate.chain"),
        ({"keystore_location": PEM_FILE}, "ssl.keystore.location", "only one of the two"),
        ({"keystore_password": "x"}, "ssl.keystore.password", "no store password"),
        ({"keystore_type": "PKCS12"}, "ssl.keystore.type", "is PEM"),
        ({"truststore_certificates": "x"}, "ssl.truststore.certificates", "no certificate"),
        ({"truststore_location": PEM_FILE}, "ssl.truststore.location", "only one of the two"),
        ({"truststore_password": "x"}, "ssl.truststore.password", "no store password"),
        ({"truststore_type": "JKS"}, "ssl.truststore.type", "is PEM"),
    ],
)
def test_keys_that_do_not_go_with_text(changes: dict[str, str], key: str, problem: str) -> None:
    error = fault(inline(**changes))
    assert error.key == key
    assert problem in error.problem


@pytest.mark.parametrize(
    ("changes", "key", "problem"),
    [
        ({"keystore_location": "/no/such/file"}, "ssl.keystore.location", "No such file"),
        ({"keystore_location": PEM_FILE, "keystore_type": "BKS"}, "ssl.keystore.type", "neither PEM nor PKCS12"),
        ({"keystore_location": PEM_FILE, "keystore_password": "x"}, "ssl.keystore.password", "ssl.key.password"),
        ({"keystore_password": "x"}, "ssl.keystore.location", "missing beside ssl.keystore.password"),
        ({"truststore_location": "/no/such/file"}, "ssl.truststore.location", "No such file"),
        ({"truststore_location": PEM_FILE, "truststore_password": "x"}, "ssl.truststore.password", "no store password"),
        ({"truststore_password": "x"}, "ssl.truststore.location", "missing beside ssl.truststore.password"),
    ],
)
def test_keys_that_do_not_go_with_files(tmp_path: Path, changes: dict[str, str], key: str, problem: str) -> None:
    path = BROKER.pem_file(tmp_path / "broker.pem")
    error = fault(TlsSettings(**{name: path if value == PEM_FILE else value for name, value in changes.items()}))  # type: ignore[arg-type]
    assert error.key == key
    assert problem in error.problem


def test_no_secret_is_printed() -> None:
    settings = inline(keystore_key=BROKER.key_pem("pass-word"), key_password="pass-word")
    for text in (repr(settings), repr(open_stores(settings))):
        assert "pass-word" not in text
        assert "PRIVATE KEY" not in text
