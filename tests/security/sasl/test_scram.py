from __future__ import annotations

import base64

import pytest
import scramp  # type: ignore[import-untyped]

from signalbox.security.sasl.mechanism import SCRAM_MECHANISMS, SaslError
from signalbox.security.sasl.scram import NoCredentials, ScramClientExchange, ScramMechanism, TokenLogin
from signalbox.security.sasl.scram_messages import (
    ScramCredential,
    encode_base64,
    hashed,
    keyed,
    make_credential,
    parse_server_first,
    random_salt,
    salted_password,
)
from tests.security.sasl.test_scram_messages import KAFKAS


class Users(NoCredentials):
    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        return make_credential(mechanism, "pencil", b"salt of alice") if user in ("alice", "a,=b") else None

    def token_login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        return (
            TokenLogin("owner", 5_000, make_credential(mechanism, "hmac", b"salt")) if token_id == "token-1" else None
        )


class Made(NoCredentials):
    """One user, with a random salt as our own tools make it. Two instances are two nodes of one cluster."""

    def __init__(self) -> None:
        super().__init__()
        self._salts.use(b"the cluster's secret")

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        return make_credential(mechanism, "pencil", random_salt()) if user == "made" else None


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
@pytest.mark.parametrize("user", ["alice", "a,=b"])
def test_both_sides_prove_that_they_know_the_password(mechanism: str, user: str) -> None:
    server, client = ScramMechanism(mechanism, Users()).begin(), ScramClientExchange(mechanism, user, "pencil")
    final = client.respond(server.respond(client.first()))
    assert final is not None
    assert not server.complete
    assert client.respond(server.respond(final)) is None
    assert client.complete
    assert server.complete
    assert (server.authorization_id, server.token_authenticated) == (user, False)
    with pytest.raises(SaslError):
        server.respond(final)


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
@pytest.mark.parametrize(("user", "password"), [("alice", "pen"), ("unknown", "pencil")])
def test_a_wrong_password_and_an_unknown_user_fail_at_the_same_step(mechanism: str, user: str, password: str) -> None:
    server, client = ScramMechanism(mechanism, Users()).begin(), ScramClientExchange(mechanism, user, password)
    final = client.respond(server.respond(client.first()))
    assert final is not None
    with pytest.raises(SaslError, match="invalid credentials with SASL mechanism " + mechanism):
        server.respond(final)
    assert not server.complete


def test_an_unknown_name_is_shown_what_a_known_one_could_have() -> None:
    mechanism = ScramMechanism("SCRAM-SHA-256", Made())
    known, ghost, other, listed = (
        mechanism.begin().respond(f"n,,n={name},r=x".encode()).decode().split(",")[1:]
        for name in ("made", "ghost", "other", "listed")
    )
    assert len({known[0], ghost[0], other[0], listed[0]}) == 4
    for salt, iterations in (known, ghost, other, listed):
        assert KAFKAS.fullmatch(base64.b64decode(salt.removeprefix("s=")))
        assert iterations == "i=4096"


@pytest.mark.parametrize("extension", ["", ",tokenauth=true"])
@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_every_node_shows_an_unknown_name_the_same(mechanism: str, extension: str) -> None:
    first = f"n,,n=ghost,r=x{extension}".encode()
    before, after = (ScramMechanism(mechanism, Made()).begin().respond(first) for _ in range(2))
    assert before.split(b",")[1:] == after.split(b",")[1:]
    strange = ScramMechanism(mechanism, NoCredentials()).begin().respond(first)
    assert strange.split(b",")[1] != before.split(b",")[1], "of another cluster"


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_the_credential_of_an_unknown_user_never_authenticates(mechanism: str) -> None:
    """Not even if the client's proof matches the made-up credential."""
    server, client = ScramMechanism(mechanism, Made()).begin(), ScramClientExchange(mechanism, "ghost", "")
    server.respond(client.first())
    server._credential = make_credential(mechanism, "", server._credential.salt if server._credential else b"")
    final = client.respond(server._server_first.encode())
    assert final is not None
    with pytest.raises(SaslError, match="invalid credentials"):
        server.respond(final)


def test_a_delegation_token_authenticates_its_owner() -> None:
    server = ScramMechanism("SCRAM-SHA-512", Users()).begin()
    client = ScramClientExchange("SCRAM-SHA-512", "token-1", "hmac", token_auth=True)
    final = client.respond(server.respond(client.first()))
    assert final is not None
    server.respond(final)
    assert (server.authorization_id, server.token_authenticated, server.expires_at_ms) == ("owner", True, 5_000)


def test_a_token_that_expires_during_the_exchange_is_rejected() -> None:
    class Ending(Users):
        ended = False

        def token_login(self, mechanism: str, token_id: str) -> TokenLogin | None:
            return None if self.ended else super().token_login(mechanism, token_id)

    users = Ending()
    server = ScramMechanism("SCRAM-SHA-512", users).begin()
    client = ScramClientExchange("SCRAM-SHA-512", "token-1", "hmac", token_auth=True)
    final = client.respond(server.respond(client.first()))
    assert final is not None
    users.ended = True
    with pytest.raises(SaslError, match="invalid credentials"):
        server.respond(final)


@pytest.mark.parametrize(
    ("user", "password", "token_auth"),
    [("token-1", "other", True), ("token-2", "hmac", True), ("token-1", "hmac", False), ("alice", "pencil", True)],
)
def test_a_token_is_no_user_and_a_user_no_token(user: str, password: str, token_auth: bool) -> None:
    server = ScramMechanism("SCRAM-SHA-256", Users()).begin()
    client = ScramClientExchange("SCRAM-SHA-256", user, password, token_auth=token_auth)
    final = client.respond(server.respond(client.first()))
    assert final is not None
    with pytest.raises(SaslError, match="invalid credentials"):
        server.respond(final)


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_our_server_with_a_foreign_client(mechanism: str) -> None:
    server, client = ScramMechanism(mechanism, Users()).begin(), scramp.ScramClient([mechanism], "alice", "pencil")
    client.set_server_first(server.respond(client.get_client_first().encode()).decode())
    client.set_server_final(server.respond(client.get_client_final().encode()).decode())
    assert server.complete


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_our_client_with_a_foreign_server(mechanism: str) -> None:
    maker = scramp.ScramMechanism(mechanism)
    salt, stored_key, server_key, iterations = maker.make_auth_info("pencil", iteration_count=4096)
    server = maker.make_server(lambda _: (salt, stored_key, server_key, iterations))
    client = ScramClientExchange(mechanism, "alice", "pencil")
    server.set_client_first(client.first().decode())
    final = client.respond(server.get_server_first().encode())
    assert final is not None
    server.set_client_final(final.decode())
    assert client.respond(server.get_server_final().encode()) is None
    assert client.complete


@pytest.mark.parametrize(
    "challenge",
    [
        b"r=other,s=c2FsdA==,i=4096",
        b"r=mine,s=c2FsdA==,i=4096",
        b"r=mine+,s=c2FsdA==,i=10",
        b"r=mine+,s=c2FsdA==,i=9000000",
    ],
)
def test_servers_that_a_client_does_not_trust(challenge: bytes) -> None:
    client = ScramClientExchange("SCRAM-SHA-256", "alice", "pencil", new_nonce=lambda: "mine")
    with pytest.raises(SaslError):
        client.respond(challenge)


def test_a_server_that_does_not_know_the_password() -> None:
    client = ScramClientExchange("SCRAM-SHA-256", "alice", "pencil", new_nonce=lambda: "mine")
    assert client.respond(b"r=mine+,s=c2FsdA==,i=4096") is not None
    with pytest.raises(SaslError, match="could not prove"):
        client.respond(b"v=AAAA")
    assert not client.complete


def test_another_identity_and_a_changed_nonce_are_rejected() -> None:
    server = ScramMechanism("SCRAM-SHA-256", Users()).begin()
    with pytest.raises(SaslError, match="different from username"):
        server.respond(b"n,a=bob,n=alice,r=x")
    server, client = (
        ScramMechanism("SCRAM-SHA-256", Users()).begin(),
        ScramClientExchange("SCRAM-SHA-256", "alice", "pencil"),
    )
    final = client.respond(server.respond(client.first()))
    assert final is not None
    with pytest.raises(SaslError):
        server.respond(final.replace(b",p=", b"x,p="))


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_a_client_that_repeats_its_nonce_is_accepted_as_by_kafka(mechanism: str) -> None:
    """librdkafka before 2.6.1 does so; its proof covers the nonce as it was sent."""
    server = ScramMechanism(mechanism, Users()).begin()
    challenge = parse_server_first(server.respond(b"n,,n=alice,r=mine"))
    final = f"c=biws,r=mine{challenge.nonce}"
    salted = salted_password(mechanism, "pencil", challenge.salt, challenge.iterations)
    client_key = keyed(mechanism, salted, b"Client Key")
    signature = keyed(mechanism, hashed(mechanism, client_key), f"n=alice,r=mine,{challenge.text},{final}".encode())
    proof = encode_base64(bytes(a ^ b for a, b in zip(client_key, signature)))
    server.respond(f"{final},p={proof}".encode())
    assert server.complete
