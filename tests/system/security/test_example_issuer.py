"""The example programs of docs/authentication.md: an issuer of tokens and a producer that authenticates with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.testing.cluster import Cluster
from tests.system.clients.test_examples import EXAMPLES, run

pytestmark = pytest.mark.timeout(240)


@pytest.mark.slow
def test_a_token_of_the_example_issuer_is_accepted(tmp_path: Path) -> None:
    """The listener as in docs/authentication.md, without TLS."""
    run(EXAMPLES / "oauthbearer_issuer.py", tmp_path / "issuer", "alice")
    prefix = "listener.name.client.oauthbearer.sasl."
    overrides = {
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
        "listener.name.client.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
        f"{prefix}oauthbearer.jwks.endpoint.url": (tmp_path / "issuer" / "jwks.json").as_uri(),
        f"{prefix}oauthbearer.expected.audience": "kafka",
        f"{prefix}oauthbearer.expected.issuer": "https://issuer.example",
    }
    with Cluster(brokers=1, overrides=overrides) as cluster:
        produced = run(EXAMPLES / "produce_oauthbearer.py", cluster.bootstrap_servers, tmp_path / "issuer" / "token")
    assert produced == "greetings\n"
