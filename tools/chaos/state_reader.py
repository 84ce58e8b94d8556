"""The cluster's state as the metadata store has it, read from the store itself: no broker needs to respond."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from signalbox.metadata import layout
from signalbox.metadata.entries.controller_claim import decode_claim, decode_controller_epoch
from signalbox.metadata.entries.entity_config import Configs, decode_configs
from signalbox.metadata.entries.partition_state import decode_partition_state
from signalbox.metadata.entries.topic_assignment import decode_topic_assignment
from signalbox.metadata.store.port import Entry
from signalbox.metadata.store.sqlite.database import Database

NO_BROKER = -1


class Entries(Protocol):
    """The read operations of a store, without an event loop."""

    def read(self, path: str) -> Entry | None: ...

    def children(self, path: str) -> list[str]: ...

    def read_tree(self, path: str) -> dict[str, Entry]: ...


class StateReader:
    """Interprets the entries. Read-only. `reconnect` is for a store that was replaced."""

    def __init__(self, entries: Entries, reconnect: Callable[[], None] = lambda: None) -> None:
        self._entries = entries
        self.reconnect = reconnect

    def entry(self, path: str) -> Entry | None:
        """An entry as it is stored."""
        return self._entries.read(path)

    def controller_id(self) -> int:
        """The active controller, -1 if there is none."""
        entry = self._entries.read(layout.CONTROLLER)
        return NO_BROKER if entry is None else decode_claim(entry.data)

    def controller_epoch(self) -> int:
        """The current controller epoch, 0 before the first election."""
        entry = self._entries.read(layout.CONTROLLER_EPOCH)
        return 0 if entry is None else decode_controller_epoch(entry.data)

    def names(self, path: str) -> list[str]:
        """The names of the entries below a path."""
        return self._entries.children(path)

    def leaders(self, topic: str) -> dict[int, int]:
        """The leader of each partition of a topic."""
        tree = self._entries.read_tree(layout.partitions_path(topic))
        return {
            int(path.split("/")[-2]): decode_partition_state(path, entry.data, entry.version).leader
            for path, entry in tree.items()
            if path.endswith("/state")
        }

    def configs(self, entity_path: str) -> Configs:
        """The configs of an entity, such as `brokers/1`; empty if none are set."""
        path = f"{layout.CONFIG}/{entity_path}"
        entry = self._entries.read(path)
        return {} if entry is None else decode_configs(path, entry.data)

    def replicas(self, topic: str) -> dict[int, tuple[int, ...]]:
        """The brokers that hold each partition of a topic, the preferred leader first."""
        entry = self._entries.read(layout.topic_path(topic))
        return {} if entry is None else decode_topic_assignment(topic, entry.data).replicas

    def below(self, path: str) -> dict[str, Entry]:
        """An entry and all entries below it, by path; empty if it does not exist."""
        return self._entries.read_tree(path)

    def what_is_missing(self, brokers: int) -> str:
        """What is missing (a controller, a registered broker, an in-sync replica); "" if the cluster is healthy."""
        if self.controller_id() == NO_BROKER:
            return "no controller"
        present = self._entries.children(layout.BROKER_IDS)
        if len(present) < brokers:
            return f"only the brokers {', '.join(present)} are registered"
        tree = self._entries.read_tree(layout.TOPICS)
        for path, entry in tree.items():
            if not path.endswith("/state"):
                continue
            topic, _, partition = path.removeprefix(layout.TOPICS + "/").removesuffix("/state").split("/")
            state = decode_partition_state(path, entry.data, entry.version)
            if layout.topic_path(topic) not in tree:
                return f"{topic} was being deleted"  # ZooKeeper's tree is not read atomically
            assigned = decode_topic_assignment(topic, tree[layout.topic_path(topic)].data).replicas
            replicas = assigned.get(int(partition), ())
            if state.leader == NO_BROKER or set(state.isr) != set(replicas):
                return f"{topic}-{partition}: leader {state.leader}, in sync {list(state.isr)} of {list(replicas)}"
        return ""


@contextmanager
def state_in_file(path: Path) -> Iterator[StateReader]:
    """The state of a cluster whose metadata is in a SQLite file."""
    database = Database(path)
    try:
        yield StateReader(database)
    finally:
        database.close()


@contextmanager
def state_in_zookeeper(connect: str) -> Iterator[StateReader]:
    """The state of a cluster whose metadata is in an ensemble (`zookeeper.connect`)."""
    entries = _ZooKeeperEntries(connect)
    try:
        yield StateReader(entries, entries.reconnect)
    finally:
        entries.close()


class _ZooKeeperEntries:
    def __init__(self, connect: str) -> None:
        self._connect = connect
        self._client = self._connected()

    def reconnect(self) -> None:
        """Opens a new session: a server rejects a client that has seen a newer state than the server has."""
        self.close()
        self._client = self._connected()

    def close(self) -> None:
        self._client.stop()
        self._client.close()

    def _connected(self) -> Any:
        from kazoo.client import KazooClient  # only a cluster on ZooKeeper needs it

        # The ensemble has faults too: a read waits until they are over, and the retries need no log lines.
        quiet = logging.Logger("the state reader's kazoo", logging.CRITICAL)
        client = KazooClient(self._connect, command_retry={"max_tries": -1, "max_delay": 0.5}, logger=quiet)
        client.start()
        return client

    def read(self, path: str) -> Entry | None:
        from kazoo.exceptions import NoNodeError

        try:
            data, stat = self._client.retry(self._client.get, path)
        except NoNodeError:
            return None
        return Entry(data, stat.version, stat.czxid, stat.ctime, stat.ephemeralOwner)

    def children(self, path: str) -> list[str]:
        from kazoo.exceptions import NoNodeError

        try:
            return sorted(self._client.retry(self._client.get_children, path))
        except NoNodeError:
            return []

    def read_tree(self, path: str) -> dict[str, Entry]:
        found: dict[str, Entry] = self._client.retry(self._levels, path)
        return found

    def _levels(self, path: str) -> dict[str, Entry]:
        """Level by level, all entries of a level requested at once: under load every round trip takes time."""
        found: dict[str, Entry] = {}
        level = [path]
        while level:
            answers = _there([(each, self._client.get_async(each)) for each in level])
            for each, (data, stat) in answers.items():
                found[each] = Entry(data, stat.version, stat.czxid, stat.ctime, stat.ephemeralOwner)
            parents = [each for each, (_, stat) in answers.items() if stat.numChildren]
            names = _there([(each, self._client.get_children_async(each)) for each in parents])
            level = [f"{parent}/{name}" for parent, children in names.items() for name in sorted(children)]
        return found


def _there(asked: list[tuple[str, Any]]) -> dict[str, Any]:
    """The responses for the entries that exist."""
    from kazoo.exceptions import NoNodeError

    answers = {}
    for path, answer in asked:
        try:
            answers[path] = answer.get()
        except NoNodeError:
            continue
    return answers
