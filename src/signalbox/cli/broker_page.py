"""A broker's metrics page, as the commands read it."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Annotated

import typer

from signalbox.cli.connect import fail
from signalbox.transport.socket_address import reject_self_connection

_TIMEOUT_S = 10.0


def _separated(texts: list[str]) -> list[str]:
    return [address for text in texts for address in text.split(",") if address]


Addresses = Annotated[
    list[str],
    typer.Argument(callback=_separated, help="host:port of metrics pages (signalbox.metrics.http.port), one a broker."),
]


class _Connection(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        reject_self_connection(self.sock)


class _Handler(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, request)  # a class is a factory of connections


def read_page(url: str) -> str:
    """The text of the page. Raises OSError if it cannot be read (ConnectionRefusedError for a connection to itself, in
    urllib's URLError), ValueError if `url` is none."""
    with urllib.request.build_opener(_Handler).open(url, timeout=_TIMEOUT_S) as page:
        text: str = page.read().decode()
        return text


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
        fail(f"{address} has no metrics page: {reason} (check signalbox.metrics.http.port of the broker)")


class BrokerPage:
    """The samples of a page. Ends the command if the page is not a broker's."""

    def __init__(self, broker: str, page: str) -> None:
        from prometheus_client.parser import text_string_to_metric_families

        self._samples: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                self._samples.setdefault(sample.name, []).append((sample.labels, sample.value))
        self.listeners = [labels for labels, _ in self.all("signalbox_network_listener_info")]
        if not self.listeners:
            fail(f"{broker} is not the metrics page of a broker: it has no listener metrics")

    def all(self, name: str) -> Iterator[tuple[Mapping[str, str], float]]:
        """Labels and value of every sample of a metric."""
        yield from self._samples.get(name, ())

    def read(self, name: str, **wanted: str) -> float:
        """The sum of a metric's samples that have these labels; 0 without such samples."""
        return sum(value for labels, value in self.all(name) if wanted.items() <= labels.items())
