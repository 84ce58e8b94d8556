"""Waits until brokers know each other.

A broker is ready when its own metadata has it; the metadata of the others has it a moment later. A client that
asks one of them in between is given fewer brokers, and librdkafka ends its requests to a broker that is missing there.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Collection, Mapping
from urllib.parse import urlsplit

_PAUSE_S = 0.02
_REQUEST_TIMEOUT_S = 10.0


def brokers_not_known(
    pages: Mapping[int, str], node_ids: Collection[int], runs: Callable[[int], bool], timeout_s: float
) -> dict[int, list[int]]:
    """Asks each broker, by the URL of its metrics page, until its metadata has all `node_ids`; returns those that a
    broker still lacks after the timeout, or when it does not run any more, by the broker's id. A page that cannot be
    read is asked again; an empty URL is not asked."""
    deadline = time.monotonic() + timeout_s
    missing: dict[int, list[int]] = {}
    for node_id, url in pages.items():
        while url and (lacking := sorted(set(node_ids) - _known(url))):
            if time.monotonic() >= deadline or not runs(node_id):
                missing[node_id] = lacking
                break
            time.sleep(_PAUSE_S)
    return missing


def _known(url: str) -> set[int]:
    """The broker's live brokers; none if its page cannot be read."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_REQUEST_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        return set(json.loads(connection.getresponse().read())["brokers"])
    except (OSError, http.client.HTTPException, ValueError):
        return set()
    finally:
        connection.close()
