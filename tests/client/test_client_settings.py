from __future__ import annotations

import pytest

from signalbox.client.client_settings import ClientSettings
from signalbox.client.failures import ConfigRejected


def test_defaults_of_fields_and_of_keys_are_the_same() -> None:
    assert ClientSettings.from_properties({"bootstrap.servers": "h:1"}) == ClientSettings.of("h:1")


def test_keys_reach_their_fields() -> None:
    given = ClientSettings.from_properties(
        {
            "bootstrap.servers": "h:1",
            "client.id": "me",
            "request.timeout.ms": "7",
            "metadata.recovery.strategy": "none",
            "metadata.recovery.rebootstrap.trigger.ms": "9",
            "metadata.cluster.check.enable": "false",
            "signalbox.cluster.id.policy": "pin:abc",
            "reconnect.backoff.ms": "3",
            "not.a.key": "x",
        }
    )
    assert (given.client_id, given.request_timeout_ms, given.cluster_id_policy) == ("me", 7, "pin:abc")
    assert not given.recovery.sends_identity
    assert not given.recovery.may_start_over
    assert (given.recovery.rebootstrap_trigger_ms, given.recovery.seed_pause_ms) == (9, 3)
    connections = given.connections()
    assert (connections.client_id, connections.identity_enabled) == ("me", False)


def test_all_faults_are_reported_together() -> None:
    with pytest.raises(ConfigRejected) as rejection:
        ClientSettings.from_properties({"signalbox.cluster.id.policy": "pin:", "request.timeout.ms": "soon"})
    for fault in ("signalbox.cluster.id.policy", "'soon' is not a whole number", "bootstrap.servers: is missing"):
        assert fault in str(rejection.value)


def test_an_old_name_of_a_key_is_read() -> None:
    settings = ClientSettings.from_properties({"bootstrap.servers": "h:1", "cluster.id.policy": "pin-first"})
    assert settings.cluster_id_policy == "pin-first"
