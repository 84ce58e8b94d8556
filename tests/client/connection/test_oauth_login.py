"""Where this node's own access tokens come from, by configuration; against a real token endpoint."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.client.connection.client_security import security_of
from signalbox.client.connection.connection_settings import SaslLogin
from signalbox.common.config.config_table import ConfigFault
from signalbox.security.class_loading import CallbackSettings
from signalbox.security.oauth.login_token import LoginToken, TokenUnavailable
from signalbox.security.sasl.oauthbearer_messages import InitialResponse, parse_initial_response
from tests.security.issuer import Endpoint, Issuer, answering

pytestmark = pytest.mark.spec("L7")
TOKEN = Issuer("ES256").token()
ANSWER = answering(json.dumps({"access_token": TOKEN}).encode())
URL = "sasl.oauthbearer.token.endpoint.url"
HANDLER = "sasl.login.callback.handler.class"
OAUTH = "org.apache.kafka.common.security.oauthbearer."


def properties(options: str = "", **given: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{OAUTH}OAuthBearerLoginModule required {options};",
    } | given


def login(given: Mapping[str, str]) -> SaslLogin:
    values, faults = CLIENT_CONFIG.read(given)
    security, more = security_of(values)
    assert not faults + more, faults + more
    assert security.sasl is not None
    return security.sasl


def faults(given: Mapping[str, str]) -> list[ConfigFault]:
    values, wrong = CLIENT_CONFIG.read(given)
    return wrong + security_of(values)[1]


def shown(given: Mapping[str, str]) -> InitialResponse:
    ours = login(given)

    async def main() -> bytes:
        assert ours.ready is not None
        await ours.ready()
        return ours.begin().first()

    return parse_initial_response(asyncio.run(main()))


def test_client_credentials_at_a_token_endpoint() -> None:
    with Endpoint(ANSWER).open() as endpoint:
        options = 'clientId="me" clientSecret="my secret" scope="read write" extension_tenant="acme"'
        response = shown(properties(options, **{URL: endpoint.url}))
        assert response == InitialResponse(TOKEN, "", {"tenant": "acme"})
        assert endpoint.bodies == [b"grant_type=client_credentials&scope=read+write"]
        credentials = base64.b64decode(endpoint.headers[0]["Authorization"].removeprefix("Basic "))
        assert credentials == b"me:my secret"
        keys = {
            URL: endpoint.url,
            "sasl.oauthbearer.client.credentials.client.id": "a b",
            "sasl.oauthbearer.client.credentials.client.secret": "c",
            "sasl.oauthbearer.scope": "x",
            "sasl.oauthbearer.header.urlencode": "true",
            HANDLER: OAUTH + "OAuthBearerLoginCallbackHandler",
        }
        assert shown(properties(**keys)).token == TOKEN
        assert base64.b64decode(endpoint.headers[1]["Authorization"].removeprefix("Basic ")) == b"a+b:c"


@pytest.mark.parametrize(
    ("status", "body", "words"), [(401, b"my secret", "status 401"), (200, b"{}", "no access_token")]
)
def test_an_endpoint_that_gives_nothing(status: int, body: bytes, words: str) -> None:
    with Endpoint(answering(body, status)).open() as endpoint:
        with pytest.raises(TokenUnavailable, match=words) as caught:
            shown(properties('clientId="me" clientSecret="my secret"', **{URL: endpoint.url + "?key=hidden"}))
        assert "secret" not in str(caught.value)
        assert "hidden" not in str(caught.value)


def test_an_endpoint_that_hangs() -> None:
    endpoint = Endpoint(ANSWER)
    endpoint.answer = endpoint.hang
    given = properties('clientId="me" clientSecret="x"', **{URL: endpoint.url, "sasl.login.read.timeout.ms": "300"})
    with endpoint.open(), pytest.raises(TokenUnavailable, match=r"did not respond within 0\.3 s"):
        shown(given)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    assert shown(properties(**{URL: path.as_uri()})).token == TOKEN
    path.write_bytes(b"\xff")
    with pytest.raises(TokenUnavailable, match="no text"):
        shown(properties(**{URL: path.as_uri()}))
    path.unlink()
    with pytest.raises(TokenUnavailable, match="No such file"):
        shown(properties(**{URL: path.as_uri()}))


@pytest.mark.parametrize("handler", ["", OAUTH + "internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"])
def test_an_unsigned_token(handler: str) -> None:
    given = properties('unsecuredLoginStringClaim_sub="alice"', **({HANDLER: handler} if handler else {}))
    assert shown(given).token.endswith(".")


class Tokens:
    def __init__(self, settings: CallbackSettings) -> None:
        self._text = settings.options["text"]

    def token(self) -> LoginToken:
        return LoginToken(self._text, 2**42)


def test_a_class_of_ones_own() -> None:
    assert shown(properties('text="opaque"', **{HANDLER: f"{__name__}:Tokens"})).token == "opaque"


@pytest.mark.parametrize(
    ("options", "given", "key", "words"),
    [
        ("", {}, URL, "is missing"),
        ("", {URL: "nowhere"}, URL, "no URL"),
        ("", {URL: "http://127.0.0.1:1/"}, "sasl.jaas.config", "no clientId"),
        ('clientId="x"', {URL: "http://127.0.0.1:1/"}, "sasl.jaas.config", "no clientId"),
        ('clientId="x" clientSecret="y" ssl.truststore.location="/no"', {URL: "https://h/"}, "sasl.jaas.config", "/no"),
        ('extension_auth="x"', {URL: "file:///t"}, "sasl.jaas.config", "SASL extension"),
        ('unsecuredLoginNumberClaim_n="x"', {}, "sasl.jaas.config", "not a number"),
        ("", {HANDLER: "no.such:Thing"}, HANDLER, "ModuleNotFoundError"),
        ("", {"sasl.login.refresh.window.factor": "2"}, "sasl.login.refresh.window.factor", "between"),
    ],
)
def test_invalid_settings_are_rejected(options: str, given: dict[str, str], key: str, words: str) -> None:
    assert any(
        fault.key == key and words in f"{fault.problem} {fault.entry}" for fault in faults(properties(options, **given))
    )
