import threading

from tests.threads_left import stack_of, threads_left


def test_a_thread_that_does_not_end_is_named_with_its_stack() -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="forgotten")
    thread.start()
    assert thread in threads_left(0.01)
    assert "wait" in stack_of(thread)
    release.set()
    thread.join()
    assert thread not in threads_left(0.01)
    assert stack_of(thread) == ""


def test_daemons_are_not_waited_for() -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, daemon=True)
    thread.start()
    assert thread not in threads_left(0.01)
    release.set()
