from __future__ import annotations

from signalbox.security.sasl.mechanism import SaslMechanism, SaslServerExchange
from signalbox.security.sasl.plain import ListedPasswords, PlainMechanism
from signalbox.security.sasl.scram import NoCredentials, ScramMechanism


def test_the_mechanisms_fit_their_port() -> None:
    mechanisms: list[SaslMechanism] = [
        PlainMechanism(ListedPasswords({})),
        ScramMechanism("SCRAM-SHA-256", NoCredentials()),
        ScramMechanism("SCRAM-SHA-512", NoCredentials()),
    ]
    assert [mechanism.name for mechanism in mechanisms] == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    for mechanism in mechanisms:
        exchange: SaslServerExchange = mechanism.begin()
        assert (exchange.complete, exchange.authorization_id, exchange.token_authenticated) == (False, "", False)
        assert mechanism.begin() is not exchange
