"""The inter-broker listener of each registered broker: `/brokers/ids` is watched and read again at each change.

While listeners are changed in a rolling restart, brokers differ (L12). A follower connects to the listener that its
leader's registration names, and a broker accepts replica requests on a listener that another broker's registration
still names. For a registration without the key (of an Apache Kafka broker) the reader uses its own configuration. A
broker registers before it sends its first request, and inter.broker.listener.name changes only by a restart: it is
enough to watch the children.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from signalbox.metadata.entries.corrupt_entries import readable
from signalbox.metadata.entries.registration import registration_at
from signalbox.metadata.layout import BROKER_IDS
from signalbox.metadata.rereading import Rereading
from signalbox.metadata.store.port import Entry, MetadataStore


class PeerListeners:
    """A container of listener names in upper case. The last names stay while the store is unavailable."""

    def __init__(self, store: MetadataStore, own_listener_name: str) -> None:
        self._store = store
        self._own = own_listener_name
        self._by_broker: dict[int, str] = {}
        self._names: frozenset[str] = frozenset()
        self._rereading = Rereading("the brokers' registrations", self._read)
        self._cancel_watch: Callable[[], None] | None = None

    def __contains__(self, listener_name: object) -> bool:
        """Whether the registration of any broker names the listener as its inter-broker listener."""
        return listener_name in self._names

    def of(self, broker_id: int) -> list[str]:
        """The listeners on which to connect to a broker, in order of preference: the one that its registration names,
        then this broker's own inter-broker listener."""
        return list(dict.fromkeys((self._by_broker.get(broker_id, self._own), self._own)))

    def start(self) -> None:
        self._cancel_watch = self._store.watch(BROKER_IDS, self._rereading.notify)
        self._rereading.notify()

    async def stop(self) -> None:
        if self._cancel_watch is not None:
            self._cancel_watch()
        await self._rereading.stop()

    async def _read(self) -> None:
        self._by_broker = _inter_broker_listeners(await self._store.read_tree(BROKER_IDS), self._by_broker)
        self._names = frozenset(self._by_broker.values())


def _inter_broker_listeners(tree: Mapping[str, Entry], before: Mapping[int, str]) -> dict[int, str]:
    """Listener names by broker id. A corrupt registration keeps its value in `before`: its broker writes it again."""
    listeners: dict[int, str] = {}
    for path, entry in tree.items():
        name = path.removeprefix(f"{BROKER_IDS}/")
        if not name.isdecimal() or entry.data is None:
            continue
        registration = readable(registration_at, path, entry.data)
        listener = before.get(int(name)) if registration is None else registration.inter_broker_listener
        if listener is not None:
            listeners[int(name)] = listener
    return listeners
