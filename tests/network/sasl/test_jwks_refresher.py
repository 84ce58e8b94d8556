"""Keys are refreshed in the background: no caller ever waits, whatever the endpoint does."""

from __future__ import annotations

import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from signalbox.network.sasl.jwks_refresher import JwksRefresher, RefreshTimes
from signalbox.security.oauth.key_set import KeySetError
from signalbox.transport.url_fetch import FetchFailed, UrlRequest
from tests.security.issuer import Endpoint, Issuer, answering, key_file, key_set
from tests.waiting import until

ONE, TWO = Issuer(key_id="one"), Issuer("ES256", "two")


def refresher(
    url: str, *, now: Callable[[], float] = time.monotonic, deadline_s: float = 5, **times: float
) -> JwksRefresher:
    return JwksRefresher(UrlRequest(url=url, deadline_s=deadline_s), RefreshTimes(**times), now)


def test_fetched_once_and_then_from_time_to_time() -> None:
    with Endpoint(answering(key_set(ONE))).open() as endpoint:
        kept = refresher(endpoint.url, refresh=1.1)
        assert not kept.keys.knows("one")
        kept.start()
        kept.wait_for_first_fetch(5)
        assert kept.keys.knows("one")
        endpoint.answer = answering(key_set(TWO))
        until(lambda: kept.keys.knows("two"), "the keys are read again")
        assert not kept.keys.knows("one")  # a key that is no longer published is not accepted any more
        kept.close()


def test_a_key_that_is_missed_is_looked_for_early_but_not_often() -> None:
    now = 0.0
    with Endpoint(answering(key_set(ONE))).open() as endpoint:
        kept = refresher(endpoint.url, now=lambda: now)
        kept.start()
        kept.wait_for_first_fetch(5)
        endpoint.answer = answering(key_set(ONE, TWO))
        for _ in range(1000):
            kept.missing("two")
        until(lambda: kept.keys.knows("two"), "the missed key is found")
        assert endpoint.asked == 2
        kept.close()


def test_the_cache_of_missing_keys_is_bounded() -> None:
    now = 0.0
    kept = refresher("http://127.0.0.1:1/", now=lambda: now)
    for number in range(1000):
        kept.missing(f"key-{number}")
    assert len(kept._missing) == 16
    kept._wake.clear()
    kept.missing("key-999")
    assert not kept._wake.is_set()
    now = 61.0
    kept.missing("key-999")
    assert kept._wake.is_set()


def test_an_endpoint_that_fails_costs_no_key_and_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with Endpoint(answering(key_set(ONE))).open() as endpoint, caplog.at_level(logging.INFO):
        kept = refresher(endpoint.url + "?secret=1", backoff=0.1, backoff_max=0.3)
        assert kept.step() == 3600
        endpoint.answer = answering(b"", 500)
        assert [kept.step() for _ in range(4)] == [0.1, 0.2, 0.3, 0.3]
        endpoint.answer = answering(b"{}")
        assert kept.step() == 0.3
        assert kept.keys.knows("one")
        endpoint.answer = answering(key_set(TWO))
        assert kept.step() == 3600
        assert kept.keys.knows("two")
        kept.close()
        assert kept.step() is None
    assert len(caplog.records) == 2
    assert "status 500" in caplog.text
    assert "is reachable again" in caplog.text
    assert "secret" not in caplog.text


def test_an_endpoint_that_hangs_is_given_up() -> None:
    endpoint = Endpoint(answering(b""))
    endpoint.answer = endpoint.hang
    with endpoint.open():
        kept = refresher(endpoint.url, deadline_s=0.3)
        started = time.monotonic()
        kept.start()
        assert len(kept.keys) == 0
        kept.wait_for_first_fetch(60)
        assert time.monotonic() - started < 30
        kept.close()


def test_a_file_is_read_at_once_and_its_faults_are_reported(tmp_path: Path) -> None:
    kept = refresher(key_file(tmp_path, ONE))
    kept.fetch_now()
    assert kept.keys.knows("one")
    (tmp_path / "jwks.json").write_text("{}")
    with pytest.raises(KeySetError):
        kept.fetch_now()
    (tmp_path / "jwks.json").unlink()
    with pytest.raises(FetchFailed):
        kept.fetch_now()
    assert kept.keys.knows("one")


def test_the_thread_ends_with_the_refresher(tmp_path: Path) -> None:
    kept = refresher(key_file(tmp_path, ONE))
    kept.start()
    kept.wait_for_first_fetch(5)
    threads = [thread for thread in threading.enumerate() if thread.name == "jwks"]
    forgotten = weakref.ref(kept)
    del kept

    def gone() -> bool:
        gc.collect()
        return forgotten() is None and not any(thread.is_alive() for thread in threads)

    until(gone, "the thread has ended")
