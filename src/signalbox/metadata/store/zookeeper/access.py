"""A broker's credentials for the ensemble, and the ZooKeeper ACLs of the entries it creates (`zookeeper.set.acl`)."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

# Kafka's rules (ZkData.defaultAcls): only the creator reads credentials, and old consumers write below /consumers.
_SENSITIVE = ("/config/users", "/config/brokers", "/delegation_token/tokens", "/signalbox_salt_secret")
_EVERYBODYS = "/consumers"


@dataclass(frozen=True, slots=True)
class DigestLogin:
    """The broker's login by SASL DIGEST-MD5."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperAccess:
    """Settings of the connection. `tls` is set if the ensemble uses TLS. `only_creators_write` needs an identity for
    ZooKeeper: a certificate or a login."""

    session_timeout_ms: int = 18_000
    connection_timeout_ms: int = 18_000
    tls: ssl.SSLContext | None = None
    login: DigestLogin | None = None
    only_creators_write: bool = False

    def acl(self, path: str) -> Sequence[Any]:
        """The ACL of an entry that is created at `path` (a path of the store)."""
        if not self.only_creators_write or path == _EVERYBODYS:
            return OPEN_ACL_UNSAFE  # type: ignore[no-any-return]  # kazoo has no types
        if any(path == each or path.startswith(each + "/") for each in _SENSITIVE):
            return CREATOR_ALL_ACL  # type: ignore[no-any-return]
        return [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE]
