"""Which metadata store a configuration asks for: the adapter is chosen here and nowhere else (SPEC M1).

An adapter is imported when it is asked for: a broker on SQLite has no need of kazoo.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from signalbox.common.clock import Clock
from signalbox.common.config_table import ConfigFault, Value
from signalbox.common.start_refused import StartRefused, reason
from signalbox.metadata import layout
from signalbox.metadata.store.port import MetadataStore, StoreError
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from signalbox.metadata.store.zookeeper.connect_string import parse_connect_string

_SQLITE, _ZOOKEEPER = "sqlite:", "zookeeper:"
_KEYSTORE, _TRUSTSTORE = "zookeeper.ssl.keystore.location", "zookeeper.ssl.truststore.location"
_FILES = ((_KEYSTORE, "zookeeper.ssl.keystore.type"), (_TRUSTSTORE, "zookeeper.ssl.truststore.type"))


def check_store(values: Mapping[str, Value]) -> list[ConfigFault]:
    """What is wrong with the keys that say where metadata lives. Nothing is opened."""
    if values["metadata.store"] is not None and values["zookeeper.connect"] is not None:
        store = str(values["metadata.store"])
        return [ConfigFault("metadata.store", store, "zookeeper.connect is set as well", "Set only one of the two")]
    key, setting = store_setting(values)
    if not setting:
        remedy = "Say where metadata lives, for example sqlite:/var/lib/sb/meta.db"
        return [ConfigFault("metadata.store", "", "is missing", remedy)]
    if setting.startswith(_ZOOKEEPER):
        return list(_zookeeper_faults(key, setting.removeprefix(_ZOOKEEPER), values))
    if not setting.startswith(_SQLITE) or setting == _SQLITE:
        return [ConfigFault(key, setting, "is no store", "Expected sqlite:<file> or zookeeper:<host:port,...>")]
    return []


async def open_store(values: Mapping[str, Any], clock: Clock) -> MetadataStore:
    """The store with an open session; `values` have passed `check_store`. StartRefused names the key to change."""
    key, setting = store_setting(values)
    remedy = "Put that right and start again"
    try:
        if setting.startswith(_ZOOKEEPER):
            store = _zookeeper(setting.removeprefix(_ZOOKEEPER), values)
        else:
            store = SqliteMetadataStore(Path(setting.removeprefix(_SQLITE)), values["broker.session.timeout.ms"], clock)
        try:
            await store.open_session()
        except BaseException:
            await store.close()
            raise
    except ImportError as error:
        raise StartRefused([ConfigFault(key, setting, str(error), "pip install 'signalbox[zookeeper]'")]) from error
    except (OSError, ValueError) as error:  # ValueError: no name of a file at all
        remedy = "Name a file in a folder that this broker can write to, as sqlite:<file>"
        raise StartRefused([ConfigFault(key, setting, reason(error), remedy)]) from error
    except StoreError as error:
        raise StartRefused([ConfigFault(key, setting, str(error), remedy)]) from error
    return store


async def refuse_unfinished_copy(store: MetadataStore, values: Mapping[str, Value]) -> None:
    """StartRefused on a store that `signalbox store copy` has not filled yet: half a cluster looks like a whole one."""
    if await store.read(layout.UNFINISHED_COPY) is not None:
        key, setting = store_setting(values)
        remedy = "Run signalbox store copy (or restore) again until it is through"
        raise StartRefused([ConfigFault(key, setting, "holds a copy that is not finished", remedy)])


def store_setting(values: Mapping[str, Value]) -> tuple[str, str]:
    """The key that says where metadata lives, and what it says in metadata.store's spelling."""
    if (connect := values["zookeeper.connect"]) is not None:
        return "zookeeper.connect", f"{_ZOOKEEPER}{connect}"
    return "metadata.store", str(values["metadata.store"] or "")


def _zookeeper(connect: str, values: Mapping[str, Any]) -> MetadataStore:
    from signalbox.metadata.store.zookeeper.access import ZooKeeperAccess
    from signalbox.metadata.store.zookeeper.adapter import ZooKeeperMetadataStore

    options: dict[str, Any] = {}
    if values["zookeeper.ssl.client.enable"]:
        options = {
            "use_ssl": True,
            "ca": values[_TRUSTSTORE],
            "certfile": values[_KEYSTORE],
            "keyfile": values[_KEYSTORE],
            "keyfile_password": values["zookeeper.ssl.keystore.password"],
            "check_hostname": bool(values["zookeeper.ssl.endpoint.identification.algorithm"]),
        }
    session_timeout_ms = values["zookeeper.session.timeout.ms"]
    access = ZooKeeperAccess(
        session_timeout_ms=session_timeout_ms,
        connection_timeout_ms=values["zookeeper.connection.timeout.ms"] or session_timeout_ms,
        options=options,
        only_creators_write=values["zookeeper.set.acl"],
    )
    return ZooKeeperMetadataStore(parse_connect_string(connect), access)


def _zookeeper_faults(key: str, connect: str, values: Mapping[str, Value]) -> Iterator[ConfigFault]:
    try:
        parse_connect_string(connect)
    except ValueError as error:
        yield ConfigFault(key, connect, str(error), "Expected host:port,host:port/chroot")
    with_tls = values["zookeeper.ssl.client.enable"]
    for file_key, type_key in _FILES if with_tls else ():
        path, kind = values[file_key], str(values[type_key])
        if path is not None and kind.upper() != "PEM":
            yield ConfigFault(type_key, kind, "is not read for ZooKeeper", "Convert the store to PEM and set PEM")
        if path is not None and not os.access(str(path), os.R_OK):
            yield ConfigFault(file_key, str(path), "cannot be read", "Name a PEM file that this broker may read")
    if values["zookeeper.set.acl"] and not (with_tls and values[_KEYSTORE]):
        yield ConfigFault(
            "zookeeper.set.acl",
            "true",
            "needs an identity that ZooKeeper can tell from others",
            f"Set zookeeper.ssl.client.enable=true and {_KEYSTORE}, or leave it out",
        )
