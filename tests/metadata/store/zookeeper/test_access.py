"""The ACLs of the znodes that brokers create in ZooKeeper (zookeeper.set.acl)."""

from __future__ import annotations

import pytest
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from signalbox.metadata.layout import SALT_SECRET
from signalbox.metadata.store.zookeeper.access import DigestLogin, ZooKeeperAccess


def test_everything_is_open_unless_asked_otherwise() -> None:
    assert ZooKeeperAccess().acl("/config/users/alice") == OPEN_ACL_UNSAFE


def test_entries_of_old_consumers_stay_open() -> None:
    assert ZooKeeperAccess(only_creators_write=True).acl("/consumers") == OPEN_ACL_UNSAFE


def test_passwords_are_not_shown() -> None:
    assert "s3cret" not in repr(ZooKeeperAccess(login=DigestLogin("broker", "s3cret")))


@pytest.mark.parametrize(
    ("path", "world_reads"),
    [
        ("/brokers/topics/t", True),
        ("/config/topics/t", True),
        ("/config/users", False),
        ("/config/users/alice", False),
        ("/config/brokers/1", False),
        ("/delegation_token/tokens/x", False),
        (SALT_SECRET, False),
        ("/config/usersome", True),
    ],
)
def test_only_creators_write_and_credentials_are_theirs_alone(path: str, world_reads: bool) -> None:
    acl = ZooKeeperAccess(only_creators_write=True).acl(path)
    assert list(acl) == [*CREATOR_ALL_ACL, *(READ_ACL_UNSAFE if world_reads else [])]
