"""A store that is created before the first start: its users exist, a second run changes nothing, and nothing is written
while a controller is active."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from signalbox.common.clock import SystemClock
from signalbox.common.config.start_error import StartError
from signalbox.configuration.metadata_store import open_store
from signalbox.controller.election.claim import try_to_claim
from signalbox.metadata.entries.cluster_id import read_cluster_id
from signalbox.metadata.entries.entity_config import decode_configs, encode_configs
from signalbox.metadata.layout import CONTROLLER
from signalbox.metadata.store.port import Create, MetadataStore, Write
from signalbox.security.sasl.scram_argument import ScramArgument
from signalbox.security.sasl.scram_messages import make_credential
from signalbox.security.sasl.stored_credential import decode_credential
from signalbox.server.store.storage_format import NotFormatted, format_storage
from tests.configuration.settings import config_of

PATH = "/config/users/admin"


def admin(password: str = "secret", mechanism: str = "SCRAM-SHA-256") -> ScramArgument:
    return ScramArgument(mechanism, "admin", password=password)


async def formatted(folder: Path, *users: ScramArgument) -> list[str]:
    return await format_storage(config_of(signalbox__metadata__store=f"sqlite:{folder}/metadata.db"), users)


async def opened(folder: Path) -> MetadataStore:
    return await open_store(config_of(signalbox__metadata__store=f"sqlite:{folder}/metadata.db").values, SystemClock())


async def configs(folder: Path) -> dict[str, str]:
    store = await opened(folder)
    entry = await store.read(PATH)
    await store.close()
    return decode_configs(PATH, entry.data if entry else None)


def test_users_are_there_before_anybody_is(tmp_path: Path) -> None:
    async def run() -> None:
        users = (admin(), admin("other", "SCRAM-SHA-512"))
        lines = await formatted(tmp_path, *users)
        assert lines[1:] == ["user admin: SCRAM-SHA-256 added", "user admin: SCRAM-SHA-512 added"]
        stored = await configs(tmp_path)
        for user in users:
            credential = decode_credential(stored[user.mechanism])
            assert credential == make_credential(user.mechanism, user.password or "", credential.salt)
        again = await formatted(tmp_path, *users)
        assert again == [lines[0], *(line.replace("added", "is there already") for line in lines[1:])]
        assert await configs(tmp_path) == stored
        store = await opened(tmp_path)
        assert lines[0] == f"cluster {await read_cluster_id(store)}"
        assert len(await store.children("/config/changes")) == 1
        await store.close()

    asyncio.run(run())


def test_another_credential_is_not_replaced_and_nothing_is_written(tmp_path: Path) -> None:
    async def run() -> None:
        await formatted(tmp_path, admin())
        stored = await configs(tmp_path)
        with pytest.raises(NotFormatted, match="user admin has another SCRAM-SHA-256 credential"):
            await formatted(tmp_path, admin("new", "SCRAM-SHA-512"), admin("other"))
        assert await configs(tmp_path) == stored

    asyncio.run(run())


def test_other_configs_of_the_user_stay_and_a_corrupt_credential_is_not_the_same(tmp_path: Path) -> None:
    async def run() -> None:
        await formatted(tmp_path)
        store = await opened(tmp_path)
        await store.commit([Create(PATH, encode_configs({"consumer_byte_rate": "5"}))])
        await store.close()
        await formatted(tmp_path, admin())
        assert set(await configs(tmp_path)) == {"consumer_byte_rate", "SCRAM-SHA-256"}
        store = await opened(tmp_path)
        await store.commit([Write(PATH, encode_configs({"SCRAM-SHA-256": "?"}))])
        await store.close()
        with pytest.raises(NotFormatted):
            await formatted(tmp_path, admin())

    asyncio.run(run())


def test_users_are_not_written_while_the_controller_is_unknown(tmp_path: Path) -> None:
    async def run() -> None:
        await formatted(tmp_path)
        store = await opened(tmp_path)
        await store.commit([Create(CONTROLLER, b"{}")])
        await store.close()
        with pytest.raises(NotFormatted, match="/controller names no broker"):
            await formatted(tmp_path, admin())
        assert await configs(tmp_path) == {}

    asyncio.run(run())


def test_beside_an_active_controller_nothing_is_written(tmp_path: Path) -> None:
    async def run() -> None:
        await formatted(tmp_path)
        store = await opened(tmp_path)
        assert (await try_to_claim(store, 7, 0)).claim is not None
        with pytest.raises(NotFormatted, match="broker 7 is the active controller"):
            await formatted(tmp_path, admin())
        await store.close()
        assert await configs(tmp_path) == {}
        assert await formatted(tmp_path, admin())

    asyncio.run(run())


def test_a_store_that_cannot_be_opened_names_the_key(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match=r"metadata\.store"):
        asyncio.run(formatted(tmp_path / "file"))
