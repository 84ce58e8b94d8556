import threading
from collections.abc import Callable

from signalbox.storage.background import InlineBackground, ThreadBackground


def boom() -> None:
    raise OSError(5, "broken")


def test_inline_work_is_done_at_once_and_its_error_told() -> None:
    told: list[BaseException | None] = []
    background = InlineBackground()
    background.run(lambda: None, told.append)
    background.run(boom, told.append)
    background.close()
    assert told[0] is None
    assert isinstance(told[1], OSError)


def test_a_thread_does_the_work_and_the_loop_hears_of_it() -> None:
    calls: list[Callable[[], None]] = []
    ran_in: list[int] = []
    told: list[BaseException | None] = []
    background = ThreadBackground(calls.append)
    background.run(lambda: ran_in.append(threading.get_ident()), told.append)
    background.run(boom, told.append)
    background.close()
    assert ran_in != [threading.get_ident()]
    assert told == []  # the thread itself calls no callback
    for call in calls:
        call()
    assert told[0] is None
    assert isinstance(told[1], OSError)
