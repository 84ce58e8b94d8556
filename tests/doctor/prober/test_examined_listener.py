from __future__ import annotations

import pytest

from signalbox.client.connection.node import Address
from signalbox.client.failures import ConfigRejected
from signalbox.doctor.prober.examined_listener import ExaminedListener, Limits

_PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="hush-hush";'
_SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="hush-hush";'


def test_a_bootstrap_entry_without_properties() -> None:
    listener = ExaminedListener.of("a:1,[::1]:2", {"bootstrap.servers": "ignored:9"}, Limits(timeout_ms=700))
    assert listener.seeds == (Address("a", 1), Address("::1", 2))
    assert (listener.settings.connect_timeout_ms, listener.settings.request_timeout_ms) == (700, 700)
    assert (listener.protocol, listener.mechanism, listener.hides_secret) == ("PLAINTEXT", "", True)
    assert not listener.uses_tls
    assert listener.certificates is None


def test_a_password_on_the_wire_and_one_that_is_not() -> None:
    properties = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": _PLAIN}
    plain = ExaminedListener.of("a:1", properties, Limits())
    assert (plain.mechanism, plain.hides_secret, plain.uses_tls, plain.uses_sasl) == ("PLAIN", False, True, True)
    assert plain.certificates is not None
    assert "hush" not in plain.cleaner.clean("it was hush-hush")
    scram = {**properties, "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": _SCRAM}
    assert ExaminedListener.of("a:1", scram, Limits()).hides_secret


def test_faults_in_the_properties() -> None:
    with pytest.raises(ConfigRejected, match=r"security\.protocol"):
        ExaminedListener.of("a:1", {"security.protocol": "TLS"}, Limits())
    with pytest.raises(ConfigRejected, match="is not host:port"):
        ExaminedListener.of("a", {}, Limits())
