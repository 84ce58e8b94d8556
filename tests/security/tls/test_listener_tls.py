"""KIP-226's rules for new keys while a listener serves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.listener_tls import ListenerTls, handshake_problem, listener_tls, renewed_listener_tls
from signalbox.security.tls.settings import TlsConfigError, TlsSettings
from tests.security.certificates import Authority, Identity
from tests.security.tls.handshakes import AUTHORITY, BROKER, inline, shake_hands


def serving(settings: TlsSettings, *, dialled: bool = False) -> ListenerTls:
    return listener_tls(settings, inter_node=dialled)


def serial(tls: ListenerTls) -> str:
    _, client = shake_hands(tls.context)
    certificate = client.getpeercert()
    assert certificate is not None
    return str(certificate["serialNumber"])


@pytest.mark.spec("L5")
def test_the_same_file_name_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "broker.p12"
    settings = TlsSettings(
        keystore_type="PKCS12", keystore_location=BROKER.pkcs12_file(path, "pass"), keystore_password="pass"
    )
    old = serving(settings)
    assert old.replaced_files == []
    os.utime(path, (1, 1))  # the second write may get the same modification time
    AUTHORITY.identity("broker").pkcs12_file(path, "pass")
    assert old.replaced_files == [str(path)]
    new = renewed_listener_tls(old, settings)
    assert serial(new) != serial(old)  # the old context keeps its certificate
    assert new.replaced_files == []
    path.unlink()
    assert new.replaced_files == []


def renewal(identity: Identity, *, dialled: bool = False, **changes: Any) -> str:
    """The error when this certificate replaces the broker's; "taken" if there is none."""
    try:
        renewed_listener_tls(serving(inline(), dialled=dialled), inline(identity, **changes))
    except TlsConfigError as error:
        return f"{error.key}: {error.problem}"
    return "taken"


def test_another_name_needs_a_switch() -> None:
    other = AUTHORITY.identity("other")
    error = renewal(other)
    assert error.startswith("ssl.keystore.certificate.chain: the new certificate is for CN=other,")
    assert "ssl.allow.dn.changes" in error
    assert renewal(other, allow_dn_changes=True) == "taken"
    assert renewal(AUTHORITY.identity("BROKER")) == "taken"  # Kafka ignores case


def test_a_lost_alternative_name_needs_a_switch() -> None:
    fewer = AUTHORITY.identity("broker", hosts=["localhost"])
    assert "lacks the alternative names ipaddress:127.0.0.1" in renewal(fewer)
    assert renewal(fewer, allow_san_changes=True) == "taken"
    assert renewal(AUTHORITY.identity("broker", hosts=["localhost", "127.0.0.1", "more"])) == "taken"
    assert "dnsname:localhost" in renewal(AUTHORITY.identity("broker", hosts=[]))


def test_stores_cannot_come_or_go() -> None:
    assert renewal(BROKER, keystore_key="", keystore_certificate_chain="").startswith("ssl.keystore.location: ")
    bare = serving(inline(truststore_certificates=""))
    with pytest.raises(TlsConfigError, match=r"^ssl\.truststore\.location: .*started without"):
        renewed_listener_tls(bare, inline())
    assert renewal(BROKER, truststore_certificates="") == "taken"


def test_brokers_must_be_able_to_dial_each_other_before_and_after() -> None:
    other = Authority("other")
    for identity, authority in ((BROKER, other), (other.identity("broker"), AUTHORITY)):
        error = renewal(identity, dialled=True, truststore_certificates=authority.pem)
        assert error.startswith("ssl.truststore.location: brokers with these settings could not connect to each other")
        assert renewal(identity, truststore_certificates=authority.pem) == "taken"  # brokers do not connect here
    # A new authority comes in two steps: trust both, then use it.
    both = AUTHORITY.pem + other.pem
    assert renewal(BROKER, dialled=True, truststore_certificates=both) == "taken"
    trusting_both = serving(inline(truststore_certificates=both), dialled=True)
    assert renewed_listener_tls(trusting_both, inline(other.identity("broker"), truststore_certificates=both))


@pytest.mark.parametrize(
    ("identity", "problem"),
    [
        (AUTHORITY.expired("broker"), "certificate has expired"),
        (AUTHORITY.not_yet_valid("broker"), "certificate is not yet valid"),
        (Authority("other").identity("broker"), "unable to get local issuer"),
    ],
)
def test_a_broker_whose_peers_cannot_connect_does_not_start(identity: Identity, problem: str) -> None:
    with pytest.raises(TlsConfigError, match=problem):
        serving(inline(identity), dialled=True)
    assert serving(inline(identity))


def test_client_certificates_are_part_of_the_check() -> None:
    other = Authority("other")
    mutual = inline(other.identity("broker"), truststore_certificates=other.pem, client_auth="required")
    assert serving(mutual, dialled=True)
    with pytest.raises(TlsConfigError):
        serving(inline(truststore_certificates=other.pem, client_auth="required"), dialled=True)


OURS, THEIRS = Authority("ours"), Authority("theirs")
SERVER, USER = OURS.identity("broker", hosts=["kafka.example"]), THEIRS.identity("user")


def pair_settings(**changes: object) -> TlsSettings:
    usual = {
        "keystore_key": SERVER.key_pem(),
        "keystore_certificate_chain": SERVER.certificate_pem,
        "truststore_certificates": OURS.pem,
    }
    return TlsSettings(**{**usual, **changes})  # type: ignore[arg-type]


def test_which_handshakes_succeed() -> None:
    server = server_context(pair_settings())
    assert handshake_problem(server, client_context(pair_settings()), "kafka.example") == ""
    assert "elsewhere.example" in handshake_problem(server, client_context(pair_settings()), "elsewhere.example")
    unchecked = pair_settings(endpoint_identification_algorithm="")
    assert handshake_problem(server, client_context(unchecked)) == ""
    assert handshake_problem(server, client_context(unchecked), "elsewhere.example") == ""
    untrusting = client_context(pair_settings(truststore_certificates=THEIRS.pem))
    assert "certificate" in handshake_problem(server, untrusting, "kafka.example")


def test_client_certificates_count() -> None:
    server = server_context(pair_settings(client_auth="required"))
    user = pair_settings(keystore_key=USER.key_pem(), keystore_certificate_chain=USER.certificate_pem)
    assert handshake_problem(server, client_context(pair_settings()), "kafka.example") == ""
    assert handshake_problem(server, client_context(user), "kafka.example") != ""


def test_versions_that_do_not_meet() -> None:
    server = server_context(pair_settings(enabled_protocols=("TLSv1.2",)))
    client = client_context(pair_settings(enabled_protocols=("TLSv1.3",)))
    assert handshake_problem(server, client, "kafka.example") != ""
