from __future__ import annotations

from signalbox.broker.fast_path.fast_path_stats import FastPathStats
from signalbox.common.endpoint import SecurityProtocol
from signalbox.protocol.headers import RequestHeader
from signalbox.security.request_context import RequestContext


def test_requests_are_summed_until_cleared() -> None:
    stats = FastPathStats()
    stats.add(100, 40, 0.002)
    stats.add(50, 40, 0.001)
    assert (stats.count, stats.request_bytes, stats.response_bytes, stats.longest_s) == (2, 150, 80, 0.002)
    assert round(stats.total_s, 6) == 0.003
    stats.clear()
    assert (stats.count, stats.request_bytes, stats.response_bytes, stats.total_s, stats.longest_s) == (0, 0, 0, 0, 0)


def test_one_sample_represents_all_requests() -> None:
    stats = FastPathStats()
    context = RequestContext("c", "CLIENT", SecurityProtocol.PLAINTEXT, "127.0.0.1", b"\x7f\0\0\1")
    stats.set_sample(RequestHeader(0, 9, 1, "client"), context)
    assert stats.sample is not None
    assert stats.sample.header.client_id == "client"
    assert stats.sample.context is context
