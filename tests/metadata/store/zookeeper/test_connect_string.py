"""zookeeper.connect is parsed as in Kafka: hosts, then one chroot for all."""

from __future__ import annotations

import pytest

from signalbox.metadata.store.zookeeper.connect_string import parse_connect_string


@pytest.mark.parametrize(
    ("text", "hosts", "chroot"),
    [
        ("zk1:2181", "zk1:2181", ""),
        ("zk1", "zk1:2181", ""),
        (" zk1:1 , zk2:2,zk3:3/kafka/a ", "zk1:1,zk2:2,zk3:3", "/kafka/a"),
        ("zk1:1/", "zk1:1", ""),
        ("[::1]:2181,[fe80::1]/k", "[::1]:2181,[fe80::1]:2181", "/k"),
    ],
)
def test_hosts_and_chroot(text: str, hosts: str, chroot: str) -> None:
    read = parse_connect_string(text)
    assert (read.hosts, read.chroot) == (hosts, chroot)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "''"),
        ("zk1:2181,", "''"),
        ("zk1:0", "'0'"),
        ("zk1:65536", "'65536'"),
        ("zk1:x", "'x'"),
        ("::1", "'::1'"),
        ("zk1:1/a,zk2:2/a", "'/a,zk2:2/a'"),
        ("zk1:1//a", "'//a'"),
    ],
)
def test_the_error_names_the_invalid_part(text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named.replace("[", r"\[")):
        parse_connect_string(text)


def test_paths_within_a_chroot() -> None:
    inside, bare = parse_connect_string("zk/a/b"), parse_connect_string("zk")
    assert [inside.within("/"), inside.within("/x"), bare.within("/"), bare.within("/x")] == [
        "/a/b",
        "/a/b/x",
        "/",
        "/x",
    ]
