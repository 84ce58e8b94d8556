from __future__ import annotations

import asyncio

import pytest

from signalbox.common.clock import ManualClock
from signalbox.network.sasl.session_end import SessionEnd


@pytest.mark.spec("L7")
def test_a_session_ends_and_is_renewed_once_a_second_at_most() -> None:
    async def main() -> None:
        clock, over = ManualClock(), asyncio.Event()
        end = SessionEnd(clock, over.set)
        assert not end.begin_renewal()  # there is no session yet
        end.start(None)
        assert not end.begin_renewal()  # the session has no end
        end.start(10)
        assert not end.ended
        await asyncio.wait_for(over.wait(), 60)
        assert end.ended
        assert end.begin_renewal()
        assert not end.ended
        clock.advance(250)
        assert end.renewal_ms == 250
        end.start(60_000)
        assert not end.begin_renewal()
        clock.advance(750)
        assert end.begin_renewal()
        end.cancel()

    asyncio.run(main())


def test_a_session_does_not_expire_during_its_renewal() -> None:
    async def main() -> None:
        ends: list[bool] = []
        end = SessionEnd(ManualClock(), lambda: ends.append(True))
        end.start(20)
        assert end.begin_renewal()
        later = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.05, later.set_result, None)
        await later
        assert (ends, end.ended) == ([], False)

    asyncio.run(main())


@pytest.mark.spec("L7")
def test_a_session_without_time_is_over_when_it_begins() -> None:
    async def main() -> None:
        ends: list[bool] = []
        end = SessionEnd(ManualClock(), lambda: ends.append(True))
        end.start(0)
        assert (ends, end.ended) == ([True], True)
        assert end.begin_renewal()

    asyncio.run(main())


def test_a_session_is_cut_shorter_and_never_made_longer() -> None:
    async def main() -> None:
        over = asyncio.Event()
        end = SessionEnd(ManualClock(), over.set)
        end.shorten(0)
        end.start(None)
        end.shorten(0)
        assert not over.is_set(), "there is none that ends"
        end.start(60_000)
        end.shorten(10)
        end.shorten(90_000)
        await asyncio.wait_for(over.wait(), 60)
        assert end.ended
        assert end.begin_renewal()
        end.shorten(0)
        assert not end.ended, "what is being renewed does not end"

    asyncio.run(main())
