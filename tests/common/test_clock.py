from signalbox.common.clock import ManualClock, SystemClock


def test_a_manual_clock_moves_only_when_it_is_set() -> None:
    clock = ManualClock(now_ms=1_000)
    assert (clock.now_ms(), clock.monotonic()) == (1_000, 0.0)
    clock.advance(250)
    assert (clock.now_ms(), clock.monotonic()) == (1_250, 0.25)


def test_the_systems_clock_does_not_go_back() -> None:
    clock = SystemClock()
    first = clock.monotonic()
    assert clock.monotonic() >= first
    assert clock.now_ms() > 1_600_000_000_000
