"""`signalbox token`: created, described, renewed, expired; the HMAC is read from a prompt or from the environment."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from signalbox.cli import connect
from signalbox.cli.main import app
from signalbox.testing.cluster import Cluster

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
OVERRIDES = {
    "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
    "listener.name.client.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.client.plain.sasl.jaas.config": f'{MODULE} user_alice="s3cret";',
    "delegation.token.secret.key": "the secret",
    "signalbox.audit.enable": "false",
}


@pytest.fixture(scope="module")
def alice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CliRunner]:
    """A command line runner that logs in as alice."""
    file: Path = tmp_path_factory.mktemp("alice") / "alice.properties"
    login = f'{MODULE} username="alice" password="s3cret";'
    file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n")
    with Cluster(brokers=1, overrides=OVERRIDES) as cluster:
        yield CliRunner(env={"SIGNALBOX_BOOTSTRAP": cluster.bootstrap_servers, "SIGNALBOX_COMMAND_CONFIG": str(file)})


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]


def test_create_describe_renew_and_expire(alice: CliRunner) -> None:
    made = alice.invoke(app, ["token", "create", "--renewer", "User:bob", "--max-lifetime-ms", "60000"])
    token_id, hmac = (line.partition("=")[2] for line in made.stdout.splitlines()[:2])
    [[shown_id, *rest]] = rows(made.stdout)
    assert shown_id == token_id
    assert rest[:3] == ["User:alice", "User:alice", "User:bob"]
    assert rest[4] == rest[5], "it ends with its last moment"
    assert rows(alice.invoke(app, ["token", "describe"]).stdout) == [[token_id, *rest]], "no HMAC unless asked for"
    shown = alice.invoke(app, ["token", "describe", "--show-hmac", "--owner", "User:alice"])
    assert rows(shown.stdout) == [[token_id, *rest]]
    assert shown.stdout.splitlines()[-1] == f"id={token_id} hmac={hmac}"
    renewed = alice.invoke(app, ["token", "renew", "--period-ms", "30000"], input=f"{hmac}\n")
    assert "the token expires at 20" in renewed.stdout
    assert hmac not in renewed.output
    env = {"SIGNALBOX_TOKEN_HMAC": hmac}
    assert "the token expires at 20" in alice.invoke(app, ["token", "expire", "--period-ms", "9000"], env=env).stdout
    assert "the token expired at 20" in alice.invoke(app, ["token", "expire"], env=env).stdout
    assert rows(alice.invoke(app, ["token", "describe"]).stdout) == []


def test_a_narrow_terminal_cuts_neither_the_id_nor_the_secret(
    alice: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "terminal_width", lambda: 80)
    printed = alice.invoke(app, ["token", "create"]).stdout
    named = dict(line.split("=", 1) for line in printed.splitlines()[:2])
    assert "…" not in printed
    assert max(map(len, printed.splitlines()[2:])) <= 80
    assert (len(named["id"]), len(base64.b64decode(named["hmac"]))) == (22, 64)


def test_an_error_is_one_line(alice: CliRunner, run: Any, cluster: Cluster) -> None:
    for arguments, error in (
        (["expire", "--hmac", "aGk="], "DELEGATION_TOKEN_NOT_FOUND"),
        (["renew", "--hmac", "?"], "an HMAC is base64"),
        (["create", "--owner", "alice"], "User:alice"),
        (["create", "--renewer", "Group:g"], "INVALID_PRINCIPAL_TYPE"),
    ):
        result = alice.invoke(app, ["token", *arguments])
        assert (result.exit_code, result.stdout) == (1, "")
        assert error in result.stderr
        assert len(result.stderr.splitlines()) == 1
    over_plaintext = run("token", "describe")
    assert (over_plaintext.exit_code, over_plaintext.stdout) == (1, "")
    assert "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED" in over_plaintext.stderr


def test_the_help_says_what_happens_to_connections() -> None:
    """As the brokers do (tests/server/test_stored_users.py)."""
    words = " ".join(CliRunner().invoke(app, ["token", "expire", "--help"]).stdout.split())
    assert "every broker closes the connections that authenticated with it" in words
