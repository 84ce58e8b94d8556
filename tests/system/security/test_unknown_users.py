"""SCRAM: unknown users cannot be distinguished from existing ones, neither by comparing all brokers nor by asking again
after a restart; and the secret from which the salts are derived is only in the metadata store."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from tools.chaos.state_reader import state_in_file

from signalbox.metadata.entries.json_text import decode_json
from signalbox.metadata.layout import SALT_SECRET
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeRequest
from signalbox.security.sasl.mechanism import SCRAM_MECHANISMS
from signalbox.security.sasl.scram import ScramClientExchange
from signalbox.security.sasl.scram_messages import parse_server_first
from signalbox.testing.process_cluster import ProcessCluster
from tests.security.sasl.test_scram_messages import KAFKAS
from tests.system.clusters import BROKERS
from tests.system.guarded import ADMIN_PASSWORD, SCRAM_MODULE, Guarded, command_config, let_in, signalbox
from tests.system.wire import dial, log_in_by_scram
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("L7")]

LISTED = f'{SCRAM_MODULE} username="broker" password="brokers-s3cret" user_listed="listed-s3cret";'
OVER = {
    "delegation.token.secret.key": "a secret of this test",
    **{f"listener.name.client.{each.lower()}.sasl.jaas.config": LISTED for each in SCRAM_MECHANISMS},
}
NAMES = ("made", "listed", "ghost", "gh=ost, the other", "ü")


@dataclass(frozen=True)
class Shown:
    """What a broker returns before authentication, and how it rejects a wrong password."""

    salt: bytes
    iterations: int
    rejection: str | None
    sizes: tuple[int, ...]


Answers = dict[tuple[str, str], Shown]  # by mechanism and user name


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("unknown")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("LOG_LEVEL", "DEBUG")
        with Guarded(folder, OVER) as running:
            make_user(running, "made")
            yield running


def make_user(cluster: Guarded, name: str) -> None:
    """Creates a user with the command line, for both mechanisms."""
    config = command_config(cluster.folder)
    for mechanism in SCRAM_MECHANISMS:
        user = [name, "--password", f"{name}-s3cret", "--mechanism", mechanism]
        done = signalbox("--command-config", config, "user", "set", *user, "-b", cluster.bootstrap())
        assert done.returncode == 0, done.stderr
    for node_id in BROKERS:
        until(partial(let_in, cluster, name, f"{name}-s3cret", node_id, 512), f"{name} on broker {node_id}")


def shown(cluster: ProcessCluster, node_id: int, mechanism: str, name: str, *, token_auth: bool = False) -> Shown:
    """The responses to a login with a wrong password."""
    with dial(cluster, node_id) as wire:
        wire.ask(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism=mechanism))
        exchange = ScramClientExchange(mechanism, name, "guessed", token_auth=token_auth)
        first = wire.ask(ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(auth_bytes=exchange.first()))
        challenge = bytes(first.auth_bytes)
        final = exchange.respond(challenge)
        assert final is not None
        rejected = wire.ask(ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(auth_bytes=final))
        server_first = parse_server_first(challenge)
        return Shown(
            server_first.salt,
            server_first.iterations,
            rejected.error_message,
            (first.error_code, len(server_first.nonce), rejected.error_code, len(rejected.auth_bytes)),
        )


def shown_by_all(cluster: ProcessCluster, names: tuple[str, ...], *, token_auth: bool = False) -> Answers:
    """By mechanism and user name; every broker returns the same."""
    found: Answers = {}
    for mechanism in SCRAM_MECHANISMS:
        for name in names:
            everywhere = {shown(cluster, node_id, mechanism, name, token_auth=token_auth) for node_id in BROKERS}
            assert len(everywhere) == 1, (mechanism, name)
            found[mechanism, name] = everywhere.pop()
    return found


def restart(cluster: ProcessCluster) -> None:
    """Restarts all brokers together, so that none keeps anything in memory."""
    cluster.stop()
    cluster.start()


def assert_alike(found: Answers) -> None:
    for mechanism in SCRAM_MECHANISMS:
        of_one = [each for key, each in found.items() if key[0] == mechanism]
        assert len({(each.iterations, each.rejection, each.sizes) for each in of_one}) == 1
    assert all(KAFKAS.fullmatch(each.salt) for each in found.values())
    assert len({each.salt for each in found.values()}) == len(found)


def test_users(cluster: Guarded) -> None:
    before = shown_by_all(cluster, NAMES)
    assert_alike(before)
    assert {each.iterations for each in before.values()} == {4096}
    restart(cluster)
    assert shown_by_all(cluster, NAMES) == before
    for user in ("made", "listed"):
        assert all(let_in(cluster, user, f"{user}-s3cret", node_id) for node_id in BROKERS)


def test_delegation_tokens(cluster: Guarded) -> None:
    with dial(cluster, cluster.follower) as wire:
        assert log_in_by_scram(wire, "SCRAM-SHA-256", "admin", ADMIN_PASSWORD).error_code == 0
        token = wire.ask(ApiKey.CREATE_DELEGATION_TOKEN, 3, CreateDelegationTokenRequest(max_lifetime_ms=-1))
        assert token.error_code == 0
    proof = base64.b64encode(bytes(token.hmac)).decode()

    def known(node_id: int) -> bool:
        with dial(cluster, node_id) as wire:
            return not log_in_by_scram(wire, "SCRAM-SHA-256", token.token_id, proof, token_auth=True).error_code

    for node_id in BROKERS:
        until(partial(known, node_id), f"the token on broker {node_id}")
    ids = (token.token_id, token.token_id.swapcase())
    before = shown_by_all(cluster, ids, token_auth=True)
    assert_alike(before)
    restart(cluster)
    assert shown_by_all(cluster, ids, token_auth=True) == before
    assert all(known(node_id) for node_id in BROKERS)


def test_the_secret_is_in_the_store_alone(cluster: Guarded) -> None:
    with state_in_file(cluster.folder / "metadata.db") as state:
        entry = state.entry(SALT_SECRET)
    assert entry is not None
    secret = decode_json(entry.data, SALT_SECRET)["secret"]
    raw = base64.b64decode(secret)
    assert len(raw) == 32
    looked_at = [file for file in Path(cluster.folder).rglob("*") if file.is_file() and "metadata.db" not in file.name]
    assert any(file.name == "broker.log" for file in looked_at)
    for file in looked_at:
        content = file.read_bytes()
        assert not any(form in content for form in (secret.encode(), raw, raw.hex().encode())), file
