"""What the metadata store says about the cluster, read from its file: no broker needs to answer for it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from signalbox.metadata import layout
from signalbox.metadata.controller_claim import decode_claim
from signalbox.metadata.partition_state import decode_partition_state
from signalbox.metadata.store.sqlite.database import Database
from signalbox.metadata.topic_assignment import decode_topic_assignment

NOBODY = -1


class StateReader:
    """An open metadata file. Only ever reads."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path)

    def __enter__(self) -> StateReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._database.close()

    def controller_id(self) -> int:
        """The active controller, -1 while there is none."""
        entry = self._database.read(layout.CONTROLLER)
        return NOBODY if entry is None else decode_claim(entry.data)

    def leaders(self, topic: str) -> dict[int, int]:
        """The leader of each partition of a topic."""
        tree = self._database.read_tree(layout.partitions_path(topic))
        return {
            int(path.split("/")[-2]): decode_partition_state(path, entry.data, entry.version).leader
            for path, entry in tree.items()
            if path.endswith("/state")
        }

    def what_is_missing(self, brokers: int) -> str:
        """Why the cluster is not whole (no controller, a broker not registered, a replica out of sync); "" if it is."""
        if self.controller_id() == NOBODY:
            return "no controller"
        present = self._database.children(layout.BROKER_IDS)
        if len(present) < brokers:
            return f"only the brokers {', '.join(present)} are registered"
        tree = self._database.read_tree(layout.TOPICS)
        for path, entry in tree.items():
            if not path.endswith("/state"):
                continue
            topic, _, partition = path.removeprefix(layout.TOPICS + "/").removesuffix("/state").split("/")
            state = decode_partition_state(path, entry.data, entry.version)
            replicas = decode_topic_assignment(topic, tree[layout.topic_path(topic)].data).replicas[int(partition)]
            if state.leader == NOBODY or set(state.isr) != set(replicas):
                return f"{topic}-{partition}: leader {state.leader}, in sync {list(state.isr)} of {list(replicas)}"
        return ""
