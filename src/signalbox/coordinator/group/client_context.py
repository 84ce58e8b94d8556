"""What the decisions of a group need of a request's context: client id, address, API version."""

from __future__ import annotations

from typing import NamedTuple


class ClientContext(NamedTuple):
    """`client_host` as Kafka shows it in DescribeGroups: a slash and the address ("/127.0.0.1")."""

    client_id: str
    client_host: str
    api_version: int
