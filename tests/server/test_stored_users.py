"""SCRAM logins use the users that are in the store at that moment."""

from __future__ import annotations

import pytest

from signalbox.common.clock import ManualClock
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import encode_configs
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete
from signalbox.security.sasl.scram_messages import Salts, make_credential
from signalbox.security.sasl.stored_credential import encode_credential
from signalbox.server.stored_users import StoredUsers
from tests.metadata.participants import run_with_stores

CREDENTIAL = make_credential("SCRAM-SHA-256", "secret", b"salt")
ALICE = {"SCRAM-SHA-256": encode_credential(CREDENTIAL)}


def test_users_come_and_go_with_the_store() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        repository = ConfigRepository(store, ManualClock())
        users = StoredUsers(repository, Salts())
        await repository.start()
        assert users.scram_credential("SCRAM-SHA-256", "a b") is None
        await store.commit([Create("/config/users/a%20b", encode_configs(ALICE))])
        await repository.load(["users/a%20b"])
        assert users.scram_credential("SCRAM-SHA-256", "a b") == CREDENTIAL
        assert users.scram_credential("SCRAM-SHA-512", "a b") is None
        assert users.token_login("SCRAM-SHA-256", "a b") is None, "without a secret there are no tokens"
        await store.commit([Delete("/config/users/a%20b")])
        await repository.load(["users/a%20b"])
        assert users.scram_credential("SCRAM-SHA-256", "a b") is None
        await repository.stop()

    run_with_stores(1, scenario)


def test_a_corrupt_credential_is_rejected_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        corrupt = {"SCRAM-SHA-256": "salt=c2VjcmV0"}
        await store.commit([Create("/config/users/u", encode_configs(corrupt))])
        repository = ConfigRepository(store, ManualClock())
        await repository.start()
        assert StoredUsers(repository, Salts()).scram_credential("SCRAM-SHA-256", "u") is None
        await repository.stop()

    run_with_stores(1, scenario)
    assert "User u cannot authenticate by SCRAM-SHA-256" in caplog.text
    assert "c2VjcmV0" not in caplog.text
