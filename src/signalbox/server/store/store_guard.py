"""Stops a broker from following a metadata store that is older than its logs (decision 0028).

At the start the last position in every log directory is compared with the store: StartError if the store lacks some of
it. While the broker runs, the position is read after each change of the controller, after each lost connection, and
twice a minute, and the log directories record it. A running broker whose store was replaced by an older one stops: it
no longer knows which partitions it leads. A dedicated controller has no log directories: it remembers the position only
while it runs.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence

from signalbox.common.clock import SystemClock
from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import StartError
from signalbox.common.ids import StorePosition
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.metadata_store import open_store, store_setting
from signalbox.metadata.backup.store_incarnation import StoreHistory, advance, read_history
from signalbox.metadata.layout import CONTROLLER_EPOCH
from signalbox.metadata.store.port import MetadataStore, SessionLost, StoreError, StoreFull
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.directories.store_position_file import read_store_position, remember_store_position

log = logging.getLogger(__name__)

_EVERY_S = 30.0
_RETRY_S = 1.0
_REMEDY = (
    "Put the newest copy of the store back; or, to lose what was decided since, stop all brokers and run"
    " `signalbox store accept-older --config <server.properties>` for each of them"
)


class StoreGuard:
    """The guard of one node. `fail` is called with the reason why the node must stop."""

    def __init__(
        self, store: MetadataStore, config: NodeConfig, fail: Callable[[str], None], every_s: float = _EVERY_S
    ) -> None:
        self._store = store
        self._config = config
        self._fail = fail
        self._every_s = every_s
        self._directories: Sequence[LogDirectory] = ()
        self._seen: StorePosition | None = None
        self._changed = asyncio.Event()
        self._cancel_watch: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """StartError when the store is older than the position in a log directory. Nothing is written."""
        history = await read_history(self._store)
        for log_dir in log_dirs(self._config):
            position = seen_by(log_dir)
            if position is not None and history.lacks(position):
                key, setting = store_setting(self._config.values)
                problem = older_store(history, position, log_dir)
                raise StartError([ConfigFault(key, setting, problem, _REMEDY)])

    async def start(self, directories: Sequence[LogDirectory]) -> None:
        """Advance the position in the store, record it in the log directories, and watch the store from now on.
        StoreError."""
        self._directories = directories
        try:
            await self._look()
        except SessionLost as lost:  # the node is not registered yet: nothing else would renew the session
            log.warning("Session with the metadata store ended during the start and is renewed: %s", lost)
            await self._store.open_session()
            await self._look()
        self._cancel_watch = self._store.watch(CONTROLLER_EPOCH, self._changed.set)
        self._task = asyncio.get_running_loop().create_task(self._follow())

    async def stop(self, controlled: bool) -> None:
        """Stop watching; a controlled stop records the store's last position. Call it before the logs are closed."""
        if self._cancel_watch is not None:
            self._cancel_watch()
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if controlled:
            try:
                await self._look()
            except StoreError as error:
                log.warning("Position of the metadata store unknown at shutdown: %s", error)

    async def _follow(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._every_s):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            try:
                await self._look()
            except StoreFull as full:
                log.debug("Metadata store is full, its position is written next time: %s", full)
            except StoreError as error:
                log.debug("the position of the metadata store cannot be read: %s", error)
                await self._look_with_new_session()
                await asyncio.sleep(_RETRY_S)
                self._changed.set()

    async def _look_with_new_session(self) -> None:
        """Reads the history with a new session: a restored ZooKeeper rejects a client that has seen more than it has,
        as long as the client retries."""
        try:
            store = await open_store(self._config.values, SystemClock())
        except (StartError, StoreError):
            return
        try:
            self._reject_older(await read_history(store))
        except StoreError:
            return
        finally:
            await store.close()

    def _reject_older(self, history: StoreHistory) -> bool:
        """Whether this node must not follow the store; then it also stops the node."""
        if self._seen is None or not history.lacks(self._seen):
            return False
        _, setting = store_setting(self._config.values)
        self._fail(f"signalbox.metadata.store={setting} {older_store(history, self._seen, 'this node')}. {_REMEDY}")
        return True

    async def _look(self) -> None:
        position = None
        while position is None:
            history = await read_history(self._store)
            if self._reject_older(history):
                return
            position = await advance(self._store, history)
        self._seen = position
        remember_store_position(self._directories, position)


def log_dirs(config: NodeConfig) -> list[str]:
    """The broker's configured log directories, as absolute paths."""
    return [os.path.abspath(path) for path in config["log.dirs"] or [config["log.dir"]]]


def seen_by(log_dir: str) -> StorePosition | None:
    """The position recorded in a log directory; None if it cannot be read: such a directory goes offline when it is
    opened."""
    try:
        return read_store_position(log_dir)
    except OSError:
        return None


def older_store(history: StoreHistory, position: StorePosition, by: str) -> str:
    """The reason why the store is not followed."""
    if position.incarnation != history.position.incarnation and position.incarnation not in history.earlier:
        return f"holds another history of the cluster ({history.position}) than {by} has seen ({position})"
    return f"is an older copy ({history.position}) than {by} has seen ({position})"
