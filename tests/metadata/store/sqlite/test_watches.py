"""A watch fires when a check finds a change, once per change."""

from __future__ import annotations

from signalbox.metadata.store.sqlite.watches import Watches


def test_looks_fire_on_differences_only() -> None:
    watches, calls = Watches(), []
    assert watches.add("/a", lambda: calls.append("a"))
    assert not watches.add("/a", lambda: calls.append("also a"))
    assert watches.take_for_look(["/a", "/b"]) == ["/a"]
    watches.compare({"/a": (None, None, None)})
    assert calls == []
    watches.compare({"/a": (1, 0, 0)})
    watches.compare({"/a": (1, 0, 0)})
    assert calls == ["a", "also a"]
    watches.compare({"/a": (1, 0, 1)})
    assert calls == ["a", "also a"] * 2


def test_removed_watches_are_forgotten() -> None:
    watches, calls = Watches(), []

    def callback() -> None:
        calls.append(1)

    watches.add("/a", callback)
    watches.compare({"/a": (1, 0, 0)})
    watches.remove("/a", callback)
    watches.compare({"/a": (1, 1, 0)})
    assert (calls, watches.paths()) == ([], [])
    assert watches.add("/a", callback), "watched again, it needs a first comparison"


def test_a_failing_callback_does_not_stop_the_others() -> None:
    watches, calls = Watches(), []

    def broken() -> None:
        raise RuntimeError("broken")

    watches.add("/a", broken)
    watches.add("/a", lambda: calls.append(1))
    watches.compare({"/a": (1, 0, 0)})
    watches.compare({"/a": (1, 1, 0)})
    assert calls == [1]
