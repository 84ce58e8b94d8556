from __future__ import annotations

import pytest

from signalbox.security.sasl.jaas_credentials import JaasScramCredentials
from signalbox.security.sasl.mechanism import SaslError
from signalbox.security.sasl.scram import ScramClientExchange, ScramMechanism
from signalbox.security.sasl.scram_messages import make_credential
from tests.security.sasl.test_scram import Users


def test_users_of_the_login_module_come_after_the_others() -> None:
    credentials = JaasScramCredentials("SCRAM-SHA-256", {"broker": "secret", "a,=b": "other"}, Users())
    mechanism = ScramMechanism("SCRAM-SHA-256", credentials)
    for user, password in (("broker", "secret"), ("a,=b", "pencil")):
        server, client = mechanism.begin(), ScramClientExchange("SCRAM-SHA-256", user, password)
        final = client.respond(server.respond(client.first()))
        assert final is not None
        server.respond(final)
        assert server.authorization_id == user
    server, client = mechanism.begin(), ScramClientExchange("SCRAM-SHA-256", "a,=b", "other")
    final = client.respond(server.respond(client.first()))
    assert final is not None
    with pytest.raises(SaslError):
        server.respond(final)
    assert credentials.token_login("SCRAM-SHA-256", "token-1") is not None
    assert credentials.scram_credential("SCRAM-SHA-256", "unknown") is None


def test_a_listed_user_has_the_salt_of_an_unknown_user() -> None:
    """On each node, and also with a cluster secret that became known after the start."""
    stored = Users()
    here, elsewhere = (JaasScramCredentials("SCRAM-SHA-512", users, stored) for users in ({"broker": "secret"}, {}))
    shown = [
        ScramMechanism("SCRAM-SHA-512", each).begin().respond(b"n,,n=broker,r=x").split(b",")[1:]
        for each in (here, elsewhere)
    ]
    assert shown[0] == shown[1]
    stored._salts.use(b"the cluster's secret")
    made = here.scram_credential("SCRAM-SHA-512", "broker")
    assert made is not None
    assert made == make_credential("SCRAM-SHA-512", "secret", stored.salt("SCRAM-SHA-512", "broker"))
    assert here.scram_credential("SCRAM-SHA-512", "broker") is made
