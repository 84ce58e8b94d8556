"""All faults that only reading the files can show are reported together."""

from __future__ import annotations

import pytest

from signalbox.common.config.properties_file import Properties
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.configuration.check.config_check import check_node_config
from signalbox.configuration.security_config import ConfigRejected, read_security_config
from tests.configuration.settings import OF_CONTROLLER, VALUES, config_of


def test_a_plain_cluster() -> None:
    security = read_security_config(config_of())
    assert set(security.listeners.network.listeners) == {"CLIENT", "REPLICATION", "CONTROL"}
    assert security.inter_broker.client_id == "1"


def test_all_faults_at_once() -> None:
    config = config_of(
        listener__security__protocol__map="CLIENT:SSL,REPLICATION:SASL_PLAINTEXT,CONTROL:SSL",
        sasl__mechanism__inter__broker__protocol="PLAIN",
        authorizer__class__name="no.such.Class",
    )
    with pytest.raises(ConfigRejected) as rejected:
        read_security_config(config)
    lines = str(rejected.value).splitlines()
    assert len(lines) >= 4
    for part in ("CLIENT", "REPLICATION", "CONTROL", "authorizer.class.name"):
        assert any(part.lower() in line.lower() for line in lines), (part, lines)


@pytest.mark.spec("F15")
def test_a_broker_needs_a_login_for_controllers_it_does_not_bind() -> None:
    secured = f"{VALUES['listener.security.protocol.map']},CONTROLLER:SASL_PLAINTEXT"
    serving = {"process.roles": "broker", "controller.listener.names": "controller"}
    given = {**VALUES, **serving, "listener.security.protocol.map": secured}
    config, faults = check_node_config(Properties("b", {**given, "sasl.mechanism.controller.protocol": "PLAIN"}))
    assert config is None
    assert [fault.key for fault in faults] == ["listener.name.controller.plain.sasl.jaas.config"]
    own = "listener.name.controller.plain.sasl.jaas.config"
    module = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="b" password="p";'
    complete = {**given, "sasl.mechanism.controller.protocol": "PLAIN", own: module}
    config, faults = check_node_config(Properties("b", complete))
    assert faults == []
    assert config is not None
    assert not any(own in warning for warning in config.warnings), "it is read, although nothing binds the listener"
    endpoint = Endpoint("CONTROLLER", "h", 1, SecurityProtocol.SASL_PLAINTEXT)
    assert read_security_config(config).peers.of(endpoint).unusable == ""


@pytest.mark.spec("F15")
def test_a_controller_needs_a_login_for_brokers_and_for_other_controllers() -> None:
    protocols = "REPLICATION:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    given = {
        **OF_CONTROLLER,
        "listener.security.protocol.map": protocols,
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": f'{module} user_c="p";',
    }
    _, faults = check_node_config(Properties("c", given))
    own, theirs = (f"listener.name.{name}.plain.sasl.jaas.config" for name in ("controller", "replication"))
    assert sorted(fault.key for fault in faults) == [own, theirs]
    given |= {own: f'{module} username="c" password="p" user_c="p";', theirs: f'{module} username="c" password="p";'}
    config, faults = check_node_config(Properties("c", given))
    assert faults == []
    assert config is not None
    assert (
        read_security_config(config).peers.of(Endpoint("REPLICATION", "h", 1, SecurityProtocol.SASL_PLAINTEXT)).unusable
        == ""
    )
