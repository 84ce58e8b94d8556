"""Writes what a metadata store must contain before a first broker can start: its root entries, the cluster id, and the
SCRAM users with which brokers log in to each other (KIP-900). Kafka's storage tool does this with `format`.

Existing entries are not changed, so the command can be repeated. It is rejected while a controller is active, which is
then the only writer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from signalbox.common.clock import SystemClock
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.metadata_store import open_store
from signalbox.metadata.entries.cluster_id import read_or_create_cluster_id
from signalbox.metadata.entries.controller_claim import decode_claim
from signalbox.metadata.entries.entity_config import (
    Configs,
    decode_configs,
    encode_config_change,
    encode_configs,
    user_entity,
)
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.layout import CONFIG, CONFIG_CHANGE_PREFIX, CONTROLLER, create_roots
from signalbox.metadata.store.port import Create, MetadataStore, Operation, Write
from signalbox.security.sasl.scram_argument import ScramArgument
from signalbox.security.sasl.stored_credential import BadCredential, decode_credential, encode_credential


class NotFormatted(RuntimeError):
    """Nothing was written; the message gives the reason."""


async def format_storage(config: NodeConfig, users: Sequence[ScramArgument]) -> list[str]:
    """Returns one line for the cluster id and one for each user. NotFormatted; StartError when the store cannot be
    opened."""
    store = await open_store(config.values, SystemClock())
    try:
        return await _format(store, users)
    finally:
        await store.close()


async def _format(store: MetadataStore, users: Sequence[ScramArgument]) -> list[str]:
    await create_roots(store)
    await _reject_beside_a_controller(store)
    cluster_id = await read_or_create_cluster_id(store)
    operations: list[Operation] = []
    lines = [f"cluster {cluster_id}"]
    for name in dict.fromkeys(user.name for user in users):
        path = f"{CONFIG}/{user_entity(name)}"
        entry = await store.read(path)
        before = decode_configs(path, entry.data if entry else None)
        after = dict(before)
        for user in users:
            if user.name == name:
                added = _add(user, after)
                lines.append(f"user {name}: {user.mechanism} {'added' if added else 'is there already'}")
        if after != before:
            data = encode_configs(after)
            operations.append(Create(path, data) if entry is None else Write(path, data, entry.version))
            operations.append(Create(CONFIG_CHANGE_PREFIX, encode_config_change(user_entity(name)), numbered=True))
    if operations:
        await store.commit(operations)
    return lines


def _add(user: ScramArgument, configs: Configs) -> bool:
    """Returns whether the credential was added; NotFormatted if a different one exists."""
    if user.mechanism in configs:
        if _agrees(user, configs):
            return False
        raise NotFormatted(
            f"user {user.name} has another {user.mechanism} credential already; nothing was written. Change it with"
            f" `signalbox user set {user.name}` when brokers run"
        )
    configs[user.mechanism] = encode_credential(user.credential())
    return True


def _agrees(user: ScramArgument, configs: Mapping[str, str]) -> bool:
    try:
        return user.agrees_with(decode_credential(configs[user.mechanism]))
    except BadCredential:
        return False


async def _reject_beside_a_controller(store: MetadataStore) -> None:
    entry = await store.read(CONTROLLER)
    if entry is not None:
        try:
            holder = decode_claim(entry.data)
        except BadEntry as error:
            raise NotFormatted(
                f"{error}: it is unknown whether a controller runs; nothing was written. A broker that starts puts"
                " it right; then add users with `signalbox user set`"
            ) from error
        raise NotFormatted(
            f"broker {holder} is the active controller: the cluster runs. Add users to it with"
            " `signalbox user set`; if it was killed just now, its session ends within a few seconds"
        )
