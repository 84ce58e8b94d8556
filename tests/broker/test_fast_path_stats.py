from __future__ import annotations

from signalbox.broker.fast_path_stats import FastPathStats
from signalbox.common.endpoint import SecurityProtocol
from signalbox.protocol.headers import RequestHeader
from signalbox.security.request_context import RequestContext


def test_requests_are_summed_up_until_they_are_told() -> None:
    tally = FastPathStats()
    tally.add(100, 40, 0.002)
    tally.add(50, 40, 0.001)
    assert (tally.count, tally.request_bytes, tally.response_bytes, tally.longest_s) == (2, 150, 80, 0.002)
    assert round(tally.total_s, 6) == 0.003
    tally.clear()
    assert (tally.count, tally.request_bytes, tally.response_bytes, tally.total_s, tally.longest_s) == (0, 0, 0, 0, 0)


def test_one_request_stands_for_all() -> None:
    tally = FastPathStats()
    context = RequestContext("c", "CLIENT", SecurityProtocol.PLAINTEXT, "127.0.0.1", b"\x7f\0\0\1")
    tally.stand_for(RequestHeader(0, 9, 1, "client"), context)
    assert tally.sample is not None
    assert tally.sample.header.client_id == "client"
    assert tally.sample.context is context
