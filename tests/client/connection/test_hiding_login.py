from __future__ import annotations

from signalbox.client.connection.connection_settings import SaslLogin
from signalbox.client.connection.hiding_login import hiding_secrets, secrets_in
from signalbox.security.clean_text import TextCleaner
from signalbox.security.sasl.mechanism import OAUTHBEARER, PLAIN
from signalbox.security.sasl.oauthbearer import OAuthBearerClientExchange
from signalbox.security.sasl.plain import PlainClientExchange

TOKENS = ["head.first-claims.first-signature", "head.second-claims.second-signature"]


def test_each_token_is_hidden_from_the_moment_it_is_sent() -> None:
    cleaner = TextCleaner()
    tokens = iter(TOKENS)
    login = hiding_secrets(SaslLogin(OAUTHBEARER, lambda: OAuthBearerClientExchange(lambda: next(tokens))), cleaner)
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
    exchange = hiding_secrets(SaslLogin(OAUTHBEARER, lambda: OAuthBearerClientExchange(lambda: "a.bcd.")), cleaner)
    exchange.begin().first()
    assert cleaner.clean("x a.bcd. y") == "x [hidden] y"


def test_a_password_and_a_login_that_sends_none() -> None:
    cleaner = TextCleaner()
    login = hiding_secrets(SaslLogin(PLAIN, lambda: PlainClientExchange("broker", "its-password")), cleaner)
    assert login.begin().first() == b"\0broker\0its-password"
    assert cleaner.clean("broker has its-password") == "broker has [hidden]"
    scram = SaslLogin("SCRAM-SHA-512", lambda: PlainClientExchange("broker", "x"))
    assert hiding_secrets(scram, cleaner) is scram


def test_the_secrets_of_a_message() -> None:
    assert secrets_in(PLAIN, b"\0alice\0its-password") == ("its-password",)
    assert secrets_in("SCRAM-SHA-512", b"n,,n=alice,r=x") == ()
