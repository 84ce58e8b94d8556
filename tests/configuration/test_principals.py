"""Principal builders by import path and mapping rules per listener; the broker does not start with invalid ones."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from signalbox.common.endpoint import SecurityProtocol
from signalbox.configuration.principals import Principals, principal_faults, read_principals
from signalbox.network.listeners.network_settings import NetworkSettings, read_network_settings
from signalbox.security.principal import (
    AuthenticationEvidence,
    DefaultPrincipalBuilder,
    KafkaPrincipal,
    PrincipalDeserializationError,
    PrincipalRejected,
    build_principal,
)

HERE = __name__
NAMES = ["CLIENT", "OTHER"]


class AddressBuilder(DefaultPrincipalBuilder):
    """Each principal is named after its client's address."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__()
        self.prefix = given["prefix"]

    def build(self, evidence: AuthenticationEvidence) -> KafkaPrincipal:
        return KafkaPrincipal("User", self.prefix + evidence.client_address)


class Speechless:
    def __init__(self, given: Mapping[str, str]) -> None: ...

    def build(self, evidence: AuthenticationEvidence) -> KafkaPrincipal:
        return KafkaPrincipal("User", "x")


class Broken(AddressBuilder):
    def __init__(self, given: Mapping[str, str]) -> None:
        raise RuntimeError("no database")


def network(**given: str) -> tuple[NetworkSettings, dict[str, str]]:
    text = {key.replace("__", "."): value for key, value in given.items()}
    settings, faults = read_network_settings(text, NAMES)
    assert not faults
    return settings, text | {"prefix": "at-"}


def principals(**given: str) -> Principals:
    settings, text = network(**given)
    found, faults = read_principals(settings, NAMES, text)
    assert faults == []
    return found


def faults_of(**given: str) -> list[str]:
    settings, text = network(**given)
    faults = read_principals(settings, NAMES, text)[1]
    assert set(principal_faults(settings, NAMES)) <= set(faults)
    return [f"{fault.key}: {fault.problem}" for fault in faults]


def evidence(listener: str, subject: str = "CN=Alice,O=x") -> AuthenticationEvidence:
    return AuthenticationEvidence(SecurityProtocol.SSL, "10.0.0.1", listener, subject)


@pytest.mark.spec("L5")
def test_rules_of_one_listener_and_of_all() -> None:
    found = principals(
        ssl__principal__mapping__rules="RULE:CN=(.*?),.*/$1/",
        listener__name__other__ssl__principal__mapping__rules="RULE:CN=(.*?),.*/$1/L",
    )
    assert [found.build(evidence(name)).name for name in NAMES] == ["Alice", "alice"]
    with pytest.raises(PrincipalRejected, match=r"no rule of ssl\.principal\.mapping\.rules is for O=y"):
        build_principal(found, evidence("CLIENT", "O=y"))
    assert principals().build(evidence("CLIENT")).name == "CN=Alice,O=x"


@pytest.mark.spec("F7")
def test_a_builder_by_import_path() -> None:
    everywhere = principals(principal__builder__class=f"{HERE}.AddressBuilder")
    assert [everywhere.build(evidence(name)).name for name in NAMES] == ["at-10.0.0.1"] * 2
    assert isinstance(everywhere.serde, AddressBuilder)
    one = principals(listener__name__other__principal__builder__class=f"{HERE}.AddressBuilder")
    assert [one.build(evidence(name)).name for name in NAMES] == ["CN=Alice,O=x", "at-10.0.0.1"]
    assert type(one.serde) is DefaultPrincipalBuilder


def test_kafkas_own_name_is_the_default() -> None:
    name = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
    found = principals(principal__builder__class=name, ssl__principal__mapping__rules="RULE:.*?CN=(.*?),.*/$1/")
    assert found.build(evidence("CLIENT")).name == "Alice"


@pytest.mark.spec("F7")
def test_a_builder_that_is_no_serde_rejects_the_start() -> None:
    (fault,) = faults_of(principal__builder__class=f"{HERE}.Speechless")
    assert fault == (
        "principal.builder.class: cannot be made: it has no serialize, deserialize; "
        "a builder must be a principal serde too"
    )


@pytest.mark.spec("F7", "F17")
def test_below_the_gate_a_builder_that_is_no_serde_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    settings, text = network(principal__builder__class=f"{HERE}.Speechless")
    found, faults = read_principals(settings, NAMES, text, forwards=False)
    assert faults == []
    assert found.build(evidence("CLIENT")).name == "x"
    assert "Speechless is no principal serde: this broker neither forwards" in caplog.text
    with pytest.raises(PrincipalDeserializationError):
        found.serde.deserialize(b"")
    with pytest.raises(TypeError, match="requests cannot be forwarded"):
        found.serde.serialize(found.build(evidence("CLIENT")))
    found.renew(settings, ["OTHER"], text)
    assert found.build(evidence("OTHER")).name == "x"


def test_every_fault_with_its_key() -> None:
    assert faults_of(principal__builder__class="no.such.Builder") == [
        "principal.builder.class: cannot be made: No module named 'no'"
    ]
    assert faults_of(listener__name__other__principal__builder__class=f"{HERE}.Broken") == [
        "listener.name.other.principal.builder.class: cannot be made: no database"
    ]
    assert faults_of(listener__name__client__ssl__principal__mapping__rules="x") == [
        "listener.name.client.ssl.principal.mapping.rules: 'x' is neither DEFAULT nor RULE:pattern/replacement/, "
        "with L or U behind it at most"
    ]  # fmt: skip


def test_whatever_a_builder_raises_keeps_the_peer_out(caplog: pytest.LogCaptureFixture) -> None:
    found = principals(principal__builder__class=f"{HERE}.AddressBuilder")
    found.serde.prefix = None  # type: ignore[attr-defined]
    with pytest.raises(PrincipalRejected, match="the principal builder failed"):
        build_principal(found, evidence("CLIENT"))
    assert "TypeError" in caplog.text


def test_builders_of_listeners_that_are_added_or_have_other_rules() -> None:
    settings, given = network()
    principals, _ = read_principals(settings, ["CLIENT"], given)
    before = principals.builders["CLIENT"]
    principals.renew(settings, ["OTHER"], given)
    evidence = AuthenticationEvidence(SecurityProtocol.SSL, "10.0.0.7", "OTHER", "CN=me,O=us")
    assert str(principals.build(evidence)) == "User:CN=me,O=us"
    settings, given = network(listener__name__other__ssl__principal__mapping__rules="RULE:^CN=(.*?),.*$/$1/")
    principals.renew(settings, ["OTHER"], given)
    assert str(principals.build(evidence)) == "User:me"
    assert principals.builders["CLIENT"] is before


def test_a_builder_that_cannot_be_made_leaves_the_one_there_is(caplog: pytest.LogCaptureFixture) -> None:
    settings, given = network()
    principals, _ = read_principals(settings, NAMES, given)
    before = principals.builders["OTHER"]
    settings, given = network(listener__name__other__principal__builder__class=f"{HERE}.Broken")
    principals.renew(settings, ["OTHER"], given)
    assert principals.builders["OTHER"] is before
    assert "no database" in caplog.text
