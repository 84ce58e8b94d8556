"""Who asks: the little of a request's surroundings that a group's decisions need."""

from __future__ import annotations

from typing import NamedTuple


class ClientContext(NamedTuple):
    """`client_host` as Kafka shows it in DescribeGroups: a slash and the address ("/127.0.0.1")."""

    client_id: str
    client_host: str
    api_version: int
