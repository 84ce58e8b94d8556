"""A broker's metrics page, as the commands read it."""

from __future__ import annotations

import http.client
import math
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from signalbox.cli.connect import fail
from signalbox.common.visible_text import one_line
from signalbox.transport.socket_address import reject_self_connection

_TIMEOUT_S = 10.0  # for the whole page
_MAX_BYTES = 16 * 1024 * 1024
_LISTENER_LABELS = {"listener", "plane", "forced"}


def _separated(texts: list[str]) -> list[str]:
    return [address for text in texts for address in text.split(",") if address]


Addresses = Annotated[
    list[str],
    typer.Argument(callback=_separated, help="host:port of metrics pages (signalbox.metrics.http.port), one a broker."),
]


class _TimedSocket(socket.socket):
    """A socket whose peer has so long for all that it sends: with a time limit for each read alone, one that sends a
    byte at a time is read for ever."""

    deadline = math.inf

    def recv_into(self, *arguments: Any) -> int:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"the page did not end within {_TIMEOUT_S:g} s")
        self.settimeout(left)
        try:
            return super().recv_into(*arguments)
        except TimeoutError:
            raise TimeoutError(f"the page did not end within {_TIMEOUT_S:g} s") from None


class _Connection(http.client.HTTPConnection):
    def connect(self) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        super().connect()
        reject_self_connection(self.sock)
        timed = _TimedSocket(fileno=self.sock.detach())
        timed.settimeout(_TIMEOUT_S)
        timed.deadline = deadline
        self.sock = timed


class _Handler(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, request)  # a class is a factory of connections


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        raise OSError("it leads to another page, and a broker's does not")


def read_page(url: str) -> str:
    """The text of the page. Raises OSError if it cannot be read (ConnectionRefusedError for a connection to itself, in
    urllib's URLError), or not within 10 s, ValueError if `url` is none or the page is too large. Redirects are not
    followed."""
    with urllib.request.build_opener(_Handler, _NoRedirects).open(url, timeout=_TIMEOUT_S) as page:
        content: bytes = page.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"the page has more than {_MAX_BYTES:,} bytes")
    return content.decode()


def page_of(address: str) -> str:
    """Returns the text of the page. Ends the command with the reason if the page cannot be read."""
    url = address if address.startswith("http://") else f"http://{address}"
    url = url if url.endswith("/metrics") else f"{url}/metrics"
    try:
        return read_page(url)
    except (OSError, ValueError, http.client.HTTPException) as error:  # urllib.error.URLError is an OSError
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, OSError) and reason.strerror:
            reason = reason.strerror
        text = f"{address} has no metrics page: {one_line(str(reason))}"
        fail(f"{text} (check signalbox.metrics.http.port of the broker)")


class BrokerPage:
    """The samples of a page. Ends the command if the page is not a broker's."""

    def __init__(self, broker: str, page: str) -> None:
        from prometheus_client.parser import text_string_to_metric_families

        self._samples: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        try:
            for family in text_string_to_metric_families(page):
                for sample in family.samples:
                    self._samples.setdefault(sample.name, []).append((sample.labels, sample.value))
        except (ValueError, LookupError, TypeError, AttributeError):  # the parser trusts the text
            fail(f"{broker} is not the metrics page of a broker: its text is not in Prometheus' format")
        self.listeners = [labels for labels, _ in self.all("signalbox_network_listener_info")]
        if not self.listeners or not all(labels.keys() >= _LISTENER_LABELS for labels in self.listeners):
            fail(f"{broker} is not the metrics page of a broker: it has no listener metrics")

    def all(self, name: str) -> Iterator[tuple[Mapping[str, str], float]]:
        """Labels and value of every sample of a metric."""
        yield from self._samples.get(name, ())

    def read(self, name: str, **wanted: str) -> float:
        """The sum of a metric's samples that have these labels; 0 without such samples. NaN and Inf do not count."""
        samples = self.all(name)
        return sum(value for labels, value in samples if math.isfinite(value) and wanted.items() <= labels.items())
