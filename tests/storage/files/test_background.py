import threading
from collections.abc import Callable

from signalbox.storage.files.background import InlineBackground, ThreadBackground


def boom() -> None:
    raise OSError(5, "broken")


def test_inline_work_runs_at_once_and_reports_its_error() -> None:
    errors: list[BaseException | None] = []
    background = InlineBackground()
    background.run(lambda: None, errors.append)
    background.run(boom, errors.append)
    background.close()
    assert errors[0] is None
    assert isinstance(errors[1], OSError)


def test_work_runs_in_a_thread_and_done_is_called_on_the_loop() -> None:
    calls: list[Callable[[], None]] = []
    ran_in: list[int] = []
    errors: list[BaseException | None] = []
    background = ThreadBackground(calls.append)
    assert not background.closed
    background.run(lambda: ran_in.append(threading.get_ident()), errors.append)
    background.run(boom, errors.append)
    background.close()
    assert background.closed
    assert ran_in != [threading.get_ident()]
    assert errors == []  # the thread itself calls no callback
    for call in calls:
        call()
    assert errors[0] is None
    assert isinstance(errors[1], OSError)
