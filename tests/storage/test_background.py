import threading
from collections.abc import Callable

from signalbox.storage.background import InlineBackground, ThreadBackground


def boom() -> None:
    raise OSError(5, "broken")


def test_inline_work_runs_at_once_and_reports_its_error() -> None:
    told: list[BaseException | None] = []
    background = InlineBackground()
    background.run(lambda: None, told.append)
    background.run(boom, told.append)
    background.close()
    assert told[0] is None
    assert isinstance(told[1], OSError)


def test_work_runs_in_a_thread_and_done_is_called_on_the_loop() -> None:
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
