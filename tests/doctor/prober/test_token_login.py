from __future__ import annotations

from signalbox.client.connection.connection_settings import SaslLogin
from signalbox.doctor.clean_text import TextCleaner
from signalbox.doctor.prober.token_login import hiding_tokens
from signalbox.security.sasl.oauthbearer import OAUTHBEARER, OAuthBearerClientExchange

TOKENS = ["head.first-claims.first-signature", "head.second-claims.second-signature"]


def test_each_token_is_hidden_from_the_moment_it_is_sent() -> None:
    cleaner = TextCleaner()
    tokens = iter(TOKENS)
    login = hiding_tokens(SaslLogin(OAUTHBEARER, lambda: OAuthBearerClientExchange(lambda: next(tokens))), cleaner)
    for token in TOKENS:
        assert cleaner.clean(token) == token
        exchange = login.begin()
        assert token.encode() in exchange.first()
        assert cleaner.clean(f"it was {token}.") == "it was [hidden]."
        assert cleaner.clean(token.rpartition(".")[2]) == "[hidden]"
        assert (exchange.respond(b""), exchange.complete) == (None, True)
    assert cleaner.clean(TOKENS[0]) == "[hidden]", "a later token does not show the first one"


def test_an_unsigned_token() -> None:
    cleaner = TextCleaner()
    exchange = hiding_tokens(SaslLogin(OAUTHBEARER, lambda: OAuthBearerClientExchange(lambda: "a.bcd.")), cleaner)
    exchange.begin().first()
    assert cleaner.clean("x a.bcd. y") == "x [hidden] y"
