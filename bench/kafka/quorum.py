"""The active controller of a KRaft cluster: DescribeQuorum, API key 55, version 0. Our protocol does not have it."""

from __future__ import annotations

import socket
from struct import unpack_from

_API_KEY, _VERSION = 55, 0
_TOPIC = b"__cluster_metadata"


def active_controller(address: tuple[str, int]) -> int:
    """The quorum's leader as one node sees it. OSError: the node does not respond; RuntimeError: it has no leader."""
    header = _API_KEY.to_bytes(2) + _VERSION.to_bytes(2) + (1).to_bytes(4) + (0xFFFF).to_bytes(2) + b"\0"
    # one topic with one partition, index 0; three sections of tagged fields
    body = b"\2" + bytes([len(_TOPIC) + 1]) + _TOPIC + b"\2" + bytes(4) + b"\0\0\0"
    with socket.create_connection(address, timeout=10) as sock, sock.makefile("rb") as stream:
        sock.sendall(len(header + body).to_bytes(4) + header + body)
        answer = stream.read(int.from_bytes(stream.read(4)))
    partition_at = 4 + 1 + 2 + 1 + 1 + len(_TOPIC) + 1  # correlation id, tags, error, topics, name, partitions
    _, error, leader = unpack_from(">ihi", answer, partition_at)
    if error or leader < 0:
        raise RuntimeError(f"{address} knows no active controller: error {error}, leader {leader}")
    return int(leader)
