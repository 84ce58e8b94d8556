"""L7: every kind of listener with every client, and every client that must be rejected."""

from __future__ import annotations

import re
import time

import pytest

from tests.system.interop_security.clients import NEEDS, Clients
from tests.system.interop_security.conftest import topic_of
from tests.system.interop_security.matrix import FAULTS, KINDS, RECORDS, cells, rejection_cells
from tests.system.interop_security.rejections import REJECTIONS
from tests.system.interop_security.secured_cluster import SecuredCluster

__all__ = ["NEEDS"]
_DEADLINE_S = 10.0


@pytest.mark.spec("L7")
@pytest.mark.parametrize(("row", "client"), cells())
def test_records_go_in_and_come_out(secured: SecuredCluster, clients: Clients, row: str, client: str) -> None:
    seen = clients[client].round_trip(secured.access(KINDS[row]), topic_of(row, client), RECORDS)
    assert sorted(map(int, seen.read)) == list(range(RECORDS))
    assert seen.listed


@pytest.mark.spec("L7")
@pytest.mark.parametrize(("row", "client"), rejection_cells())
def test_an_unauthorized_client_gets_an_error(secured: SecuredCluster, clients: Clients, row: str, client: str) -> None:
    fault = FAULTS[row]
    before = secured.rejections(fault.kind)
    started = time.monotonic()
    error = clients[client].rejection(secured.faulty_access(fault), _DEADLINE_S)
    assert error, "the client was accepted"
    assert re.search(REJECTIONS[client][fault.shows], error), error
    assert time.monotonic() - started < _DEADLINE_S, f"{client} hung: {error}"
    if fault.shows not in ("untrusted", "name"):
        assert secured.rejections(fault.kind) > before, "counted by the brokers"
