"""Opens the metadata store of a configuration: the adapter is chosen here and nowhere else (SPEC M1).

An adapter is imported only when it is needed: a broker with SQLite does not need kazoo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from signalbox.common.clock import Clock
from signalbox.common.config.config_table import ConfigFault, Value
from signalbox.common.config.start_error import StartError, reason
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.zookeeper_access import access_faults, zookeeper_access
from signalbox.metadata import layout
from signalbox.metadata.store.port import MetadataStore, StoreError
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from signalbox.metadata.store.zookeeper.connect_string import parse_connect_string
from signalbox.security.tls.settings import TlsConfigError

_SQLITE, _ZOOKEEPER = "sqlite:", "zookeeper:"

_SHORTEST_TAKEOVER_S = 30.0
_SESSION_CHECK_S = 10.0  # a server of ZooKeeper looks for ended sessions once a tick, and may be busy


def check_store(values: Mapping[str, Value]) -> list[ConfigFault]:
    """Returns the faults of the keys that select the metadata store. The store is not opened."""
    if values["signalbox.metadata.store"] is not None and values["zookeeper.connect"] is not None:
        store = str(values["signalbox.metadata.store"])
        return [
            ConfigFault(
                "signalbox.metadata.store", store, "zookeeper.connect is set as well", "Set only one of the two"
            )
        ]
    key, setting = store_setting(values)
    if not setting:
        remedy = "Set the metadata store, for example sqlite:/var/lib/sb/meta.db"
        return [ConfigFault("signalbox.metadata.store", "", "is missing", remedy)]
    if setting.startswith(_ZOOKEEPER):
        if find_spec("kazoo") is None:
            remedy = "Run pip install kazoo, or install the wheel with its extra [zookeeper] (README, Install)"
            return [ConfigFault(key, setting, "needs the Python package kazoo, which is not installed", remedy)]
        return list(_zookeeper_faults(key, setting.removeprefix(_ZOOKEEPER), values))
    if not setting.startswith(_SQLITE) or setting == _SQLITE:
        return [ConfigFault(key, setting, "is no store", "Expected sqlite:<file> or zookeeper:<host:port,...>")]
    return []


async def open_store(values: Mapping[str, Any], clock: Clock, scheduler: TaskScheduler | None = None) -> MetadataStore:
    """Returns the store with an open session; `values` have passed `check_store`. A node passes a
    `scheduler` for its commits: one beside that of clients, since the controller commits its decisions.
    StartError names the key to change."""
    key, setting = store_setting(values)
    remedy = "Put that right and start again"
    try:
        if setting.startswith(_ZOOKEEPER):
            store = _zookeeper(setting.removeprefix(_ZOOKEEPER), values)
        else:
            path, timeout_ms = Path(setting.removeprefix(_SQLITE)), values["broker.session.timeout.ms"]
            store = SqliteMetadataStore(path, timeout_ms, clock, scheduler)
        try:
            await store.open_session()
        except BaseException:
            await store.close()
            raise
    except TlsConfigError as error:  # a file that has changed since the check
        fault = ConfigFault(f"zookeeper.{error.key}", "", error.problem, remedy)
        raise StartError([fault]) from error
    except ImportError as error:
        raise StartError([ConfigFault(key, setting, str(error), "pip install kazoo")]) from error
    except (OSError, ValueError) as error:  # ValueError: not a file name
        remedy = "Name a file in a folder that this broker can write to, as sqlite:<file>"
        raise StartError([ConfigFault(key, setting, reason(error), remedy)]) from error
    except StoreError as error:
        raise StartError([ConfigFault(key, setting, str(error), remedy)]) from error
    return store


async def reject_unfinished_copy(store: MetadataStore, values: Mapping[str, Value]) -> None:
    """StartError for a store that `signalbox store copy` has not finished: half of a cluster's metadata looks
    complete."""
    if await store.read(layout.UNFINISHED_COPY) is not None:
        key, setting = store_setting(values)
        remedy = "Run signalbox store copy (or restore) again until it is through"
        raise StartError([ConfigFault(key, setting, "holds a copy that is not finished", remedy)])


def store_setting(values: Mapping[str, Value]) -> tuple[str, str]:
    """Returns the key that selects the metadata store, and its value in the form of signalbox.metadata.store."""
    if (connect := values["zookeeper.connect"]) is not None:
        return "zookeeper.connect", f"{_ZOOKEEPER}{connect}"
    return "signalbox.metadata.store", str(values["signalbox.metadata.store"] or "")


def is_on_zookeeper(values: Mapping[str, Value]) -> bool:
    """Whether the metadata store is ZooKeeper."""
    return store_setting(values)[1].startswith(_ZOOKEEPER)


def longest_session_s(values: Mapping[str, Any]) -> float:
    """The time in seconds after which the session of a process that was killed has certainly ended."""
    session_ms: int = values["zookeeper.session.timeout.ms"]
    return max(_SHORTEST_TAKEOVER_S, session_ms / 1000 + _SESSION_CHECK_S)


def _zookeeper(connect: str, values: Mapping[str, Any]) -> MetadataStore:
    from signalbox.metadata.store.zookeeper.adapter import ZooKeeperMetadataStore

    return ZooKeeperMetadataStore(parse_connect_string(connect), zookeeper_access(values))


def _zookeeper_faults(key: str, connect: str, values: Mapping[str, Value]) -> Iterator[ConfigFault]:
    try:
        parse_connect_string(connect)
    except ValueError as error:
        yield ConfigFault(key, connect, str(error), "Expected host:port,host:port/chroot")
    yield from access_faults(values)
