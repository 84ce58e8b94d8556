"""How a broker gets into the ensemble, and who may read and write what it makes there (`zookeeper.set.acl`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

# What Kafka keeps from the world's eyes under zookeeper.set.acl: credentials live there.
_SENSITIVE = ("/config/users", "/config/brokers", "/delegation_token/tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperAccess:
    """`options` are kazoo's own (TLS). `only_creators_write` needs an identity that ZooKeeper knows."""

    session_timeout_ms: int = 18_000
    connection_timeout_ms: int = 18_000
    options: dict[str, Any] = field(default_factory=dict)
    only_creators_write: bool = False

    def acl(self, path: str) -> Sequence[Any]:
        """The ACL of an entry that is made at `path` (a path of the store)."""
        if not self.only_creators_write:
            return OPEN_ACL_UNSAFE  # type: ignore[no-any-return]  # kazoo has no types
        if any(path == each or path.startswith(each + "/") for each in _SENSITIVE):
            return CREATOR_ALL_ACL  # type: ignore[no-any-return]
        return [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE]
