"""From a failed connection to what is likely wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.cli.shell.connect_hints import explained
from signalbox.client.client_settings import ClientSettings
from signalbox.client.connection.node import Address
from signalbox.client.failures import (
    AuthenticationRejected,
    ClientFailure,
    ConfigRejected,
    ConnectFailed,
    ConnectionLost,
    DeadlinePassed,
    FurtherConnectionClosed,
    PeerBroke,
    VersionUnsupported,
)
from signalbox.client.rejections import rejection_of
from signalbox.protocol.error_table import Error
from signalbox.testing.kafka_cluster.certificate_files import write_certificates
from signalbox.testing.kafka_cluster.cluster_options import ClusterOptions
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster

HERE = Address("here", 9092)
SETTINGS = ClientSettings.from_properties({"bootstrap.servers": "here:9092"})


def caused(failure: Exception, cause: Exception) -> Exception:
    failure.__cause__ = cause
    return failure


@pytest.mark.parametrize(
    ("failure", "hint"),
    [
        (ConnectFailed(HERE, "resolve", "x"), "Check the host name in --bootstrap-server."),
        (caused(ConnectFailed(HERE, "tcp", "x"), ConnectionRefusedError()), "Nothing listens at this port"),
        (ConnectFailed(HERE, "tcp", "no answer within 3000 ms"), "firewalls between here and there"),
        (
            ConnectFailed(HERE, "tls", "certificate verify failed: unable to get local issuer"),
            "ssl.truststore.location",
        ),
        (ConnectFailed(HERE, "tls", "Hostname mismatch"), "ssl.endpoint.identification.algorithm"),
        (ConnectFailed(HERE, "tls", "alert: certificate required"), "ssl.keystore.location"),
        (
            ConnectFailed(HERE, "api-versions", "TLS failed: the peer does not accept our certificate"),
            "needs the issuer",
        ),
        (
            ConnectFailed(HERE, "tls", "the peer does not trust the issuer of our certificate (its truststore)"),
            "certificate in ssl.keystore.location",
        ),
        (ConnectFailed(HERE, "tls", "wrong version number"), "security.protocol (PLAINTEXT or SASL_PLAINTEXT)"),
        (ConnectFailed(HERE, "api-versions", "closed by the broker"), "another security.protocol than PLAINTEXT"),
        (ConnectFailed(HERE, "api-versions", "closed by the broker"), "take the port of one for clients"),
        (PeerBroke(HERE, "frame", "the peer uses HTTP: this is not a Kafka port"), "take the port of a broker's"),
        (PeerBroke(HERE, "frame", "a frame of 2 bytes cannot hold a response"), "check port and security.protocol"),
        (PeerBroke(HERE, "frame", "the peer uses TLS on this port"), "set security.protocol to SSL or SASL_SSL"),
        (AuthenticationRejected(HERE, "the listener has no SASL, so no mechanism PLAIN"), "protocol to PLAINTEXT"),
        (AuthenticationRejected(HERE, "x"), "Check sasl.mechanism and the user and password"),
        (ConnectionLost(HERE, "closed by the broker"), "another security.protocol than PLAINTEXT"),
        (FurtherConnectionClosed(HERE, "api-versions", "closed", 2), "Raise max.connections.per.ip or max.connections"),
        (VersionUnsupported("x"), "The listener does not serve clients"),
        (ConnectFailed(Address("there", 1), "tcp", "x"), "A broker advertises there:1, which cannot be used from here"),
    ],
)
def test_the_likely_reason(failure: Exception, hint: str) -> None:
    text = explained(failure, SETTINGS, "here:9092")
    assert text.startswith(str(failure))
    assert hint in text
    assert "Tried here:9092 with security.protocol=PLAINTEXT; time to connect 10000 ms" in text


def test_a_broker_that_requires_a_client_certificate_says_so(tmp_path: Path) -> None:
    """In TLS 1.3 the broker rejects the client after the client's handshake: at the first request, with an alert."""
    trusted = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(write_certificates(tmp_path).authority)}
    options = ClusterOptions(brokers=1, security="SSL", overrides={"ssl.client.auth": "required", **trusted})
    with KafkaCluster(options) as cluster:
        servers = cluster.client_config().bootstrap_servers
        files = cluster.client_config().properties()
        file = tmp_path / "client.properties"
        file.write_text("\n".join(f"{key}={value}" for key, value in files.items()))
        result = CliRunner().invoke(app, ["topic", "list", "-b", servers, "--command-config", str(file)])
    assert result.exit_code == 1
    assert "The listener requires a client certificate: set ssl.keystore.location." in result.stderr


def test_only_an_address_that_was_given_is_corrected_in_the_option() -> None:
    text = explained(ConnectFailed(Address("there\n\x1b", 1), "resolve", "x"), SETTINGS, "here:9092")
    assert r"A broker advertises there\n\x1b:1, which" in text
    assert "--bootstrap-server" not in text
    assert len(text.splitlines()) == 3


def test_an_error_of_a_broker_is_one_line() -> None:
    assert explained(rejection_of(Error.UNKNOWN_SERVER_ERROR, "a\n\x1bb"), SETTINGS, "").endswith(r"a\n\x1bb")
    with pytest.raises(ConfigRejected) as faults:
        ClientSettings.from_properties({"bootstrap.servers": "x", "request.timeout.ms": "x"})
    assert len(explained(faults.value, SETTINGS, "").splitlines()) == 2


def test_the_cause_of_a_passed_deadline_counts() -> None:
    failure = caused(DeadlinePassed("no broker"), ConnectFailed(HERE, "resolve", "x"))
    assert "Check the host name" in explained(failure, SETTINGS, "here:9092")


def test_the_name_of_an_error_is_not_repeated() -> None:
    rejection = rejection_of(Error.SECURITY_DISABLED, "SECURITY_DISABLED: no authorizer")
    assert explained(rejection, SETTINGS, "here:9092") == "SECURITY_DISABLED: no authorizer"


@pytest.mark.parametrize("error", [ValueError("x"), ClientFailure("x"), DeadlinePassed("x")])
def test_other_errors_stay_as_they_are(error: Exception) -> None:
    assert explained(error, SETTINGS, "here:9092") == "x"
    assert explained(ConnectFailed(HERE, "resolve", "x"), None, "") == str(ConnectFailed(HERE, "resolve", "x"))
