from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.common.endpoint import SecurityProtocol
from signalbox.security.principal import (
    ANONYMOUS,
    AuthenticationEvidence,
    DefaultPrincipalBuilder,
    KafkaPrincipal,
    PrincipalDeserializationError,
    PrincipalSerde,
)

SERDE = DefaultPrincipalBuilder()


def test_anonymous_on_the_wire_as_kafka_writes_it() -> None:
    wire = bytes.fromhex("0000 0555736572 0A414E4F4E594D4F5553 00 00")
    assert SERDE.serialize(ANONYMOUS) == wire
    assert SERDE.deserialize(wire) == ANONYMOUS


@given(st.text(max_size=300), st.text(max_size=300), st.booleans())
def test_a_principal_survives_the_trip(type_: str, name: str, token: bool) -> None:
    principal = KafkaPrincipal(type_, name, token)
    back = SERDE.deserialize(SERDE.serialize(principal))
    assert (back.type, back.name, back.token_authenticated) == (type_, name, token)


@pytest.mark.parametrize(
    "data",
    ["", "00", "0001 0555736572 0241 00 00", "ffff 0555736572 0241 00 00", "0000", "0000 05557365",
     "0000 00 0241 00 00", "0000 0555736572 0241 00", "0000 0555736572 0241 00 00 00", "0000 ffffffff0f"],
)  # fmt: skip
def test_bytes_that_are_no_principal(data: str) -> None:
    with pytest.raises(PrincipalDeserializationError):
        SERDE.deserialize(bytes.fromhex(data))


@given(st.binary(max_size=60))
def test_no_bytes_do_worse_than_be_rejected(data: bytes) -> None:
    try:
        principal = SERDE.deserialize(data)
    except PrincipalDeserializationError:
        return
    assert isinstance(principal, KafkaPrincipal)


@pytest.mark.parametrize(
    ("protocol", "subject", "authorization_id", "expected"),
    [
        (SecurityProtocol.PLAINTEXT, None, None, "User:ANONYMOUS"),
        (SecurityProtocol.SSL, None, None, "User:ANONYMOUS"),
        (SecurityProtocol.SSL, "CN=alice,O=x", None, "User:CN=alice,O=x"),
        (SecurityProtocol.SASL_PLAINTEXT, None, "bob", "User:bob"),
        (SecurityProtocol.SASL_SSL, "CN=alice", "bob", "User:bob"),
    ],
)
def test_the_principal_of_a_peer(
    protocol: SecurityProtocol, subject: str | None, authorization_id: str | None, expected: str
) -> None:
    evidence = AuthenticationEvidence(protocol, "10.0.0.1", "CLIENT", subject, authorization_id)
    assert str(SERDE.build(evidence)) == expected


def test_equality_ignores_how_it_authenticated() -> None:
    assert KafkaPrincipal("User", "a", True) == KafkaPrincipal("User", "a")
    assert len({KafkaPrincipal("User", "a", True), KafkaPrincipal("User", "a")}) == 1
    assert KafkaPrincipal("User", "a") != KafkaPrincipal("Group", "a")
    assert KafkaPrincipal("User", "a") != "User:a"


def test_a_builder_without_a_serde_is_detected() -> None:
    class BuilderOnly:
        def build(self, evidence: AuthenticationEvidence) -> KafkaPrincipal:
            return ANONYMOUS

    assert isinstance(SERDE, PrincipalSerde)
    assert not isinstance(BuilderOnly(), PrincipalSerde)
