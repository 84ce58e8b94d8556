"""Properties of the client: those of the pipeline itself are left out, and faults are found before anything starts."""

from __future__ import annotations

import pytest

from signalbox.pipeline.client.properties import login_of, property_faults, usable

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.spec("P9")
def test_what_decides_which_records_are_read_belongs_to_the_pipeline() -> None:
    asked = {"bootstrap.servers": "x:1", "group.id": "g", "isolation.level": "read_uncommitted", "client.id": "me"}
    assert usable(asked) == {"client.id": "me"}


def test_a_login_is_read_from_the_login_module() -> None:
    login = login_of(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{SCRAM} required username="alice" password="p w";',
        }
    )
    assert login is not None
    assert (login.mechanism, login.module.options) == ("SCRAM-SHA-512", {"username": "alice", "password": "p w"})
    assert login_of({"security.protocol": "SSL", "sasl.jaas.config": "nonsense"}) is None


@pytest.mark.spec("P9")
@pytest.mark.parametrize(
    ("properties", "fault"),
    [
        ({"security.protocol": "TLS"}, "security.protocol is 'TLS': expected one of PLAINTEXT, SSL"),
        ({"security.protocol": "SASL_SSL"}, "sasl.jaas.config: contains 0 login modules"),
        (
            {"security.protocol": "SASL_SSL", "sasl.jaas.config": f'{SCRAM} required username="a" password="secret1";'},
            f"sasl.jaas.config: {SCRAM} is not the login module of PLAIN",
        ),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.jaas.config": f'{SCRAM} required user="secret1";',
            },
            "ScramLoginModule has no username",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.jaas.config": f'{SCRAM} required password="secret1'},
            "sasl.jaas.config: line 1 holds an unclosed quote",
        ),
    ],
)
def test_a_fault_names_its_key_and_no_secret(properties: dict[str, str], fault: str) -> None:
    faults = property_faults(properties)
    assert fault in faults[0]
    assert "secret1" not in "".join(faults)


def test_no_login_has_no_faults() -> None:
    assert property_faults({}) == []
    assert property_faults({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}) == []
