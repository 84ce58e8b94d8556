"""`/signalbox_salt_secret`: 32 random bytes from which nodes derive the salts of users without stored credentials.

Kafka has no such entry and does not read it. The first node creates it. It is secret: it appears in no log and no
error, ZooKeeper shows it only to its creator (`zookeeper.set.acl`), and no API returns it.
"""

from __future__ import annotations

import base64
import binascii
import logging
import secrets
from collections.abc import Callable

from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.layout import SALT_SECRET
from signalbox.metadata.rereading import Rereading
from signalbox.metadata.store.port import Create, KeyExists, MetadataStore, StoreError

log = logging.getLogger(__name__)

_VERSION = 1
_BYTES = 32


async def read_or_create_salt_secret(store: MetadataStore) -> bytes:
    """The cluster's secret; a new one if there is none yet. StoreError, BadEntry."""
    return _decoded(await _read_or_create(store))


async def _read_or_create(store: MetadataStore) -> bytes | None:
    while (entry := await store.read(SALT_SECRET)) is None:
        made = base64.b64encode(secrets.token_bytes(_BYTES)).decode()
        try:
            await store.commit([Create(SALT_SECRET, encode_json({"version": _VERSION, "secret": made}))])
        except KeyExists:
            continue  # another node was first
    return entry.data


class SaltSecretRepository:
    """`changed` is called with the secret as soon as it is read, and with each new one. A node can start without it:
    reads are retried until the store responds. A corrupt secret stays until the operator removes it."""

    def __init__(self, store: MetadataStore, changed: Callable[[bytes], None]) -> None:
        self._store = store
        self._changed = changed
        self._cancel_watch: Callable[[], None] | None = None
        self._rereading = Rereading("the secret of salts", self._read)
        self._last_notified = b""
        self._corrupt = CorruptEntries()

    async def start(self) -> None:
        """Read or create the secret and follow its changes from then on."""
        self._cancel_watch = self._store.watch(SALT_SECRET, self._rereading.notify)
        try:
            await self._read()
        except StoreError as error:
            log.warning("Salt secret could not be read, this node uses its own salts for unknown users: %s", error)
            self._rereading.notify()

    async def stop(self) -> None:
        """Stop following changes."""
        if self._cancel_watch is not None:
            self._cancel_watch()
        await self._rereading.stop()

    async def _read(self) -> None:
        data = await _read_or_create(self._store)
        secret = self._corrupt.read(EntryKind.SALT_SECRET, SALT_SECRET, data, lambda _, data: _decoded(data), None)
        if secret is not None and secret != self._last_notified:
            self._last_notified = secret
            self._changed(secret)


def _decoded(data: bytes | None) -> bytes:
    try:
        secret = base64.b64decode(decode_json(data, SALT_SECRET)["secret"], validate=True)
    except (KeyError, TypeError, binascii.Error, BadEntry):
        raise BadEntry(f"{SALT_SECRET} holds no secret") from None  # the texts of the errors may quote the secret
    if len(secret) < _BYTES:
        raise BadEntry(f"{SALT_SECRET} holds a secret of {len(secret)} bytes: at least {_BYTES} are needed")
    return secret
