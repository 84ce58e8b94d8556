"""Everything that can only be seen wrong with files at hand is refused together."""

from __future__ import annotations

import pytest

from signalbox.wiring.guards import ConfigRefused, read_guards
from tests.wiring.settings import config_of


def test_a_plain_cluster() -> None:
    guards = read_guards(config_of())
    assert set(guards.doors.network.listeners) == {"CLIENT", "REPLICATION", "CONTROL"}
    assert guards.inter_broker.client_id == "1"


def test_all_faults_at_once() -> None:
    config = config_of(
        listener__security__protocol__map="CLIENT:SSL,REPLICATION:SASL_PLAINTEXT,CONTROL:SSL",
        sasl__mechanism__inter__broker__protocol="PLAIN",
        authorizer__class__name="no.such.Class",
    )
    with pytest.raises(ConfigRefused) as refused:
        read_guards(config)
    lines = str(refused.value).splitlines()
    assert len(lines) >= 4
    for part in ("CLIENT", "REPLICATION", "CONTROL", "authorizer.class.name"):
        assert any(part.lower() in line.lower() for line in lines), (part, lines)
