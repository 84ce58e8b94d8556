"""Paths in the metadata store: Apache Kafka's ZooKeeper layout, the same in every adapter (SPEC M2).

Only paths are here; the content of the entries is defined in one file per noun (`registration.py`,
`topic_assignment.py`, `partition_state.py` ...). `ROOTS` must exist before anything else is written.
Unknown entries are those that the layout does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from signalbox.common.ids import TopicPartition
from signalbox.metadata.store.concurrent_reads import read_all
from signalbox.metadata.store.port import Create, Entry, KeyExists, MetadataStore, Operation

CLUSTER_ID = "/cluster/id"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKER_IDS = "/brokers/ids"
BROKER_SEQUENCE = "/brokers/seqid"
TOPICS = "/brokers/topics"
DELETE_TOPICS = "/admin/delete_topics"
CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE_PREFIX = "/config/changes/config_change_"
ISR_CHANGES = "/isr_change_notification"  # of leaders before KIP-497; one of Kafka's roots, not read (decision 0036)
LOG_DIR_EVENTS = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX = "/log_dir_event_notification/log_dir_event_"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
FEATURE = "/feature"  # created by the controller
ACLS = "/kafka-acl"
ACL_CHANGES = "/kafka-acl-changes"
ACL_CHANGE_PREFIX = "/kafka-acl-changes/acl_changes_"
EXTENDED_ACLS = "/kafka-acl-extended"
PREFIXED_ACLS = "/kafka-acl-extended/prefixed"
EXTENDED_ACL_CHANGES = "/kafka-acl-extended-changes"
EXTENDED_ACL_CHANGE_PREFIX = "/kafka-acl-extended-changes/acl_changes_"
DELEGATION_TOKENS = "/delegation_token/tokens"
TOKEN_CHANGES = "/delegation_token/token_changes"
TOKEN_CHANGE_PREFIX = "/delegation_token/token_changes/token_change_"

# Paths that Kafka does not have:
FORWARDED = "/signalbox_forwarded"  # outcomes of forwarded changes, by broker, broker epoch and number
CONTROLLER_IDS = "/signalbox_controllers"  # dedicated controllers, in the form of /brokers/ids (decision 0020)
SHARED_CHANGES = "/signalbox_shared_changes"  # orders the commits of entries that several brokers may write
SALT_SECRET = "/signalbox_salt_secret"  # the secret of the salts of users without stored credentials
STORE_INCARNATION = "/signalbox_store_incarnation"  # incarnation and generation of the metadata store
BROKER_HISTORY = "/signalbox_brokers"  # the last registration of each broker that a controller has applied
UNFINISHED_COPY = "/signalbox_unfinished_copy"  # no broker starts on a store that has it

_STATE_PATH = re.compile(rf"{TOPICS}/([^/]+)/partitions/([0-9]+)/state")

# By the folder that is read: the entries that the layout has below it.
_PLACES: dict[str, str] = {
    TOPICS: r"[^/]+(/partitions(/(0|[1-9][0-9]{0,9})(/state)?)?)?",
    DELETE_TOPICS: r"[^/]+",
    CONFIG: r"users(/[^/]+(/clients(/[^/]+)?)?)?|[^/]+(/[^/]+)?",
    DELEGATION_TOKENS: r"[^/]+",
    FORWARDED: r"[^/]+",
}
_KNOWN = re.compile("|".join(f"{folder}(/({paths}))?" for folder, paths in _PLACES.items()))

DEFAULT_ENTITY = "<default>"  # the entity name of the default, for all entities without configs of their own

ROOTS: tuple[str, ...] = (
    "/cluster",
    "/consumers",
    "/brokers",
    BROKER_IDS,
    TOPICS,
    BROKER_SEQUENCE,
    CONFIG,
    CONFIG_CHANGES,
    "/config/topics",
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
    "/config/client-metrics",
    "/config/groups",
    "/admin",
    DELETE_TOPICS,
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
    FORWARDED,
    CONTROLLER_IDS,
    SHARED_CHANGES,
    BROKER_HISTORY,
)


def broker_id_path(broker_id: int) -> str:
    """The registration of a broker; it belongs to the broker's session."""
    return f"{BROKER_IDS}/{broker_id}"


def controller_id_path(controller_id: int) -> str:
    """The registration of a dedicated controller; it belongs to the controller's session."""
    return f"{CONTROLLER_IDS}/{controller_id}"


def broker_history_path(broker_id: int) -> str:
    """The last registration of a broker that a controller has applied; it stays when the broker stops."""
    return f"{BROKER_HISTORY}/{broker_id}"


def topic_path(topic: str) -> str:
    """A topic's id and assignment."""
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    """The folder of a topic's partitions; it holds no data."""
    return f"{TOPICS}/{topic}/partitions"


def partition_path(topic: str, partition: int) -> str:
    """The folder of one partition; it holds no data."""
    return f"{TOPICS}/{topic}/partitions/{partition}"


def partition_state_path(topic: str, partition: int) -> str:
    """Leader, ISR and epochs. The entry's version is the partition epoch."""
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def partition_of_state(path: str) -> TopicPartition | None:
    """The partition whose state is stored at `path`; None for any other entry."""
    found = _STATE_PATH.fullmatch(path)
    return TopicPartition(found[1], int(found[2])) if found is not None else None


def delete_topic_path(topic: str) -> str:
    """The mark that a topic is to be deleted; it holds no data."""
    return f"{DELETE_TOPICS}/{topic}"


def token_path(token_id: str) -> str:
    """A delegation token, without its HMAC."""
    return f"{DELEGATION_TOKENS}/{token_id}"


def forwarded_path(key: tuple[int, int, int]) -> str:
    """The stored response of a forwarded change: (broker id, broker epoch, number)."""
    return f"{FORWARDED}/{key[0]}-{key[1]}-{key[2]}"


async def create_roots(store: MetadataStore, roots: Sequence[str] = ROOTS) -> None:
    """Create the roots that do not exist. Several nodes may do so at the same time; existing entries stay."""
    while missing := await _missing(store, roots):
        try:
            await store.commit(missing)
            return
        except KeyExists:
            continue  # another node has created some of them meanwhile: look again


async def _missing(store: MetadataStore, roots: Sequence[str]) -> list[Operation]:
    entries = await read_all(store, roots)
    return [Create(path) for path, entry in zip(roots, entries, strict=True) if entry is None]


def unknown_entries_in(*trees: Mapping[str, Entry]) -> tuple[str, ...]:
    """The entries that the layout does not have, below folders whose entries may be deleted; the deepest first.

    No node reads them, but a store does not delete an entry with others below it. One
    `create /admin/delete_topics/t/x` by an operator, and the deletion of `t` would end every controller epoch. So they
    are deleted with the entry above them, as in Kafka, which deletes whole trees."""
    found = [path for tree in trees for path in tree if not _KNOWN.fullmatch(path)]
    return tuple(sorted(found, reverse=True))


def entries_below(path: str, entries: Iterable[str]) -> Iterator[str]:
    """Those of `entries` that are below `path`, in their order."""
    return (entry for entry in entries if entry.startswith(f"{path}/"))
