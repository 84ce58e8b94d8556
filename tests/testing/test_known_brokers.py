from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from signalbox.testing.known_brokers import brokers_not_known


class Pages:
    """A page /health whose answers are given one after the other; the last one stays."""

    def __init__(self, *answers: list[int]) -> None:
        left = [json.dumps({"brokers": answer}).encode() for answer in answers]

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = (left.pop(0) if len(left) > 1 else left[0]) if self.path == "/health" else b"{}"
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/metrics"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def runs(node_id: int) -> bool:
    return True


@pytest.fixture
def pages() -> Iterator[list[Pages]]:
    opened: list[Pages] = []
    yield opened
    for page in opened:
        page.close()


def test_a_broker_whose_metadata_is_behind_is_waited_for(pages: list[Pages]) -> None:
    pages += [Pages([1], [1], [1, 2]), Pages([1, 2])]
    assert brokers_not_known({1: pages[0].url, 2: pages[1].url}, {1, 2}, runs, 60) == {}


def test_after_the_timeout_those_that_are_missing_are_named(pages: list[Pages]) -> None:
    pages += [Pages([1]), Pages([1, 2, 3])]
    assert brokers_not_known({1: pages[0].url, 2: pages[1].url}, {1, 2, 3}, runs, 0.05) == {1: [2, 3]}


def test_a_broker_without_a_page_is_not_asked() -> None:
    assert brokers_not_known({1: ""}, {1, 2}, runs, 60) == {}


def test_a_page_that_cannot_be_read_is_asked_again_while_the_broker_runs() -> None:
    asked: list[int] = []

    def runs_for_a_while(node_id: int) -> bool:
        asked.append(node_id)
        return len(asked) < 3

    opened = Pages([1])
    opened.close()
    assert brokers_not_known({1: opened.url}, {1}, runs_for_a_while, 60) == {1: [1]}
    assert asked == [1, 1, 1]
