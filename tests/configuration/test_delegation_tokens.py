"""Delegation tokens of a node: enabled by a secret, and looked up at every login with a token."""

from __future__ import annotations

from signalbox.common.clock import ManualClock
from signalbox.configuration.delegation_tokens import DelegationTokens, token_secret
from signalbox.metadata.entries.delegation_token import encode_token
from signalbox.metadata.layout import token_path
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete
from signalbox.security.delegation_token import DelegationToken, TokenSecret
from signalbox.security.principal import KafkaPrincipal
from signalbox.security.sasl.scram_messages import Salts, encode_base64, make_credential
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.configuration.settings import config_of
from tests.metadata.participants import run_with_stores

SECRET = TokenSecret("the secret")
ALICE, CAROL = KafkaPrincipal("User", "alice"), KafkaPrincipal("User", "carol")


def test_the_secret_has_two_names() -> None:
    def made_by(**given: str) -> bytes | None:
        secret = token_secret(config_of(**given).values)
        return None if secret is None else secret.hmac("t")

    assert made_by() is None
    assert made_by(delegation__token__secret__key="") is None
    assert made_by(delegation__token__secret__key="the secret") == SECRET.hmac("t")
    assert made_by(delegation__token__master__key="the secret") == SECRET.hmac("t")
    both = {"delegation__token__secret__key": "the secret", "delegation__token__master__key": "old"}
    assert made_by(**both) == SECRET.hmac("t")


def test_a_token_gives_its_owner_until_its_earlier_end() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        tokens = DelegationTokens(store, ManualClock(), ImmediateScheduler(), SECRET, Salts())
        changes: list[dict[str, int | None]] = []
        tokens.on_changed = lambda ends_ms: changes.append(dict(ends_ms))
        await tokens.start()
        assert tokens.login("SCRAM-SHA-256", "t") is None
        token = DelegationToken("t", ALICE, CAROL, (), issue_ms=1, expiry_ms=2, max_ms=9)
        await store.commit([Create(token_path("t"), encode_token(token))])
        await store.commit([Create("/delegation_token/token_changes/token_change_", b"t", numbered=True)])
        assert (await tokens.repository.current()).keys() == {"t"}
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            login = tokens.login(mechanism, "t")
            assert login is not None
            assert (login.owner, login.expires_at_ms) == ("alice", 2)
            password = encode_base64(SECRET.hmac("t"))
            assert login.credential == make_credential(mechanism, password, login.credential.salt)
        await store.commit([Delete(token_path("t"))])
        await store.commit([Create("/delegation_token/token_changes/token_change_", b"t", numbered=True)])
        assert not await tokens.repository.current()
        assert [each for each in changes if each] == [{"t": 2}, {"t": None}]
        await tokens.stop()

    run_with_stores(1, scenario)
