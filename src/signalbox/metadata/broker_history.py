"""`/signalbox_brokers/<id>`: the last registration of a broker that a controller has applied (decision 0031).

The registration itself is deleted with the broker's session. Its broker epoch and the ids of its log directories stay:
compared with them the next registration shows whether the broker returns with all its log directories and a clean
shutdown, and whether it ever returned without a directory. From then on a missing log may be a lost log.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.common.ids import uuid_bytes, uuid_text
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.entries.json_text import MAX_NUMBER, BadEntry, decode_json, encode_json
from signalbox.metadata.entries.registration import BrokerRegistration
from signalbox.metadata.layout import BROKER_HISTORY
from signalbox.metadata.store.port import Entry

log = logging.getLogger(__name__)


NEVER = -1  # lower than every broker epoch
_AFTER_EVERY = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class BrokerHistory:
    """`broker_epoch` of the registration; `log_dirs`: ids of the directories that were online then;
    `lost_log_dir_epoch`: the broker epoch of the last registration that lacked a directory which the broker had before,
    -1 if none did."""

    broker_epoch: int
    log_dirs: tuple[bytes, ...]
    lost_log_dir_epoch: int = NEVER

    def encode(self) -> bytes:
        """The JSON payload."""
        log_dirs = [uuid_text(directory_id) for directory_id in self.log_dirs]
        lost = {} if self.lost_log_dir_epoch == NEVER else {"lost_log_dir_epoch": self.lost_log_dir_epoch}
        return encode_json({"version": 1, "broker_epoch": self.broker_epoch, "log_dirs": log_dirs, **lost})


UNREADABLE = BrokerHistory(-1, (), lost_log_dir_epoch=_AFTER_EVERY)
"""Replaces an entry that cannot be read: no registration that names its log directories counts as intact."""


def history_of(registration: BrokerRegistration, broker_epoch: int, before: BrokerHistory | None) -> BrokerHistory:
    """The history to store for a registration; `before` is the stored history of earlier registrations."""
    log_dirs = tuple(each.directory_id for each in registration.log_dirs)
    return BrokerHistory(broker_epoch, log_dirs, lost_log_dir_epoch(before, registration, broker_epoch))


def lost_log_dir_epoch(history: BrokerHistory | None, registration: BrokerRegistration, broker_epoch: int) -> int:
    """The broker epoch of the last registration, up to this one, that lacked a log directory which the broker had
    before; NEVER if none did. A broker without a history had no log directories."""
    if history is None:
        return NEVER
    present = {each.directory_id for each in registration.log_dirs}
    return history.lost_log_dir_epoch if present.issuperset(history.log_dirs) else broker_epoch


def decode_broker_history(path: str, data: bytes | None) -> BrokerHistory:
    """The history in an entry. BadEntry names the entry and the fault."""
    payload = decode_json(data, path)
    try:
        log_dirs = tuple(uuid_bytes(text) for text in payload["log_dirs"])
        return BrokerHistory(int(payload["broker_epoch"]), log_dirs, int(payload.get("lost_log_dir_epoch", NEVER)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"{path} is not the history of a broker: {error!r}") from error


def histories_of(tree: Mapping[str, Entry]) -> dict[int, BrokerHistory]:
    """Histories by broker id. A corrupt entry becomes UNREADABLE."""
    histories = {}
    corrupt = CorruptEntries()
    for path, entry in tree.items():
        name = path.removeprefix(f"{BROKER_HISTORY}/")
        if name.isascii() and name.isdecimal() and int(name) <= MAX_NUMBER:
            histories[int(name)] = corrupt.read(
                EntryKind.BROKER_HISTORY, path, entry.data, decode_broker_history, UNREADABLE
            )
    return histories


def is_intact(history: BrokerHistory | None, registration: BrokerRegistration) -> bool:
    """Whether a broker returns with all its data: every directory that it had is there, with a clean shutdown under the
    broker's last epoch. Directories that it did not have are empty. A registration that does not name its directories
    (of Apache Kafka, of an older version) counts as intact, as in Apache Kafka. Without a history, which clusters of
    older versions do not have, the markers of a clean shutdown decide."""
    epochs = {each.directory_id: each.previous_broker_epoch for each in registration.log_dirs}
    if not epochs:
        return True
    if history is None:
        return all(epoch >= 0 for epoch in epochs.values())
    if history == UNREADABLE:
        return False
    return all(epochs.get(directory_id) == history.broker_epoch for directory_id in history.log_dirs)
