"""`/signalbox_salt_secret`: 32 random bytes that the cluster's nodes make salts of where none are stored.

Ours alone: Kafka's brokers look at no such entry. The first node to come makes it; it is secret, so that it appears in
no log and no error, ZooKeeper shows it to its creator only (`zookeeper.set.acl`), and no API reads it.
"""

from __future__ import annotations

import base64
import binascii
import logging
import secrets
from collections.abc import Callable

from signalbox.metadata.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.layout import SALT_SECRET
from signalbox.metadata.rereading import Rereading
from signalbox.metadata.store.port import Create, KeyExists, MetadataStore, StoreError

log = logging.getLogger(__name__)

_VERSION = 1
_BYTES = 32


async def read_or_create_salt_secret(store: MetadataStore) -> bytes:
    """The cluster's secret; a new one if nobody has made it yet. StoreError, BadEntry."""
    while (entry := await store.read(SALT_SECRET)) is None:
        made = base64.b64encode(secrets.token_bytes(_BYTES)).decode()
        try:
            await store.commit([Create(SALT_SECRET, encode_json({"version": _VERSION, "secret": made}))])
        except KeyExists:
            continue  # another node came first
    return _decoded(entry.data)


class SaltSecretRepository:
    """`changed` is called with the secret as soon as it is known, and with each new one. A node starts without: it is
    asked for until the store answers, and a damaged one is left to its owner to remove."""

    def __init__(self, store: MetadataStore, changed: Callable[[bytes], None]) -> None:
        self._store = store
        self._changed = changed
        self._cancel_watch: Callable[[], None] | None = None
        self._rereading = Rereading("the secret of salts", self._read)
        self._told = b""

    async def start(self) -> None:
        """Read it, or make it, and follow from here on."""
        self._cancel_watch = self._store.watch(SALT_SECRET, self._rereading.notify)
        try:
            await self._read()
        except StoreError as error:
            log.warning("the secret of salts is not known yet: this node makes salts of its own: %s", error)
            self._rereading.notify()

    async def stop(self) -> None:
        """Follow no more."""
        if self._cancel_watch is not None:
            self._cancel_watch()
        await self._rereading.stop()

    async def _read(self) -> None:
        try:
            secret = await read_or_create_salt_secret(self._store)
        except BadEntry as error:
            log.error("%s: the salts of unknown users differ from other nodes'. Remove it: a new one is made", error)
            return
        if secret != self._told:
            self._told = secret
            self._changed(secret)


def _decoded(data: bytes | None) -> bytes:
    try:
        secret = base64.b64decode(decode_json(data, SALT_SECRET)["secret"], validate=True)
    except (KeyError, TypeError, binascii.Error, BadEntry):
        raise BadEntry(f"{SALT_SECRET} holds no secret") from None  # the errors' own texts may quote it
    if len(secret) < _BYTES:
        raise BadEntry(f"{SALT_SECRET} holds a secret of {len(secret)} bytes: at least {_BYTES} are needed")
    return secret
