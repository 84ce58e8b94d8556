"""`make pipeline-page`: the commands of docs/pipeline.md, run in their order as they stand there. Most of them start
Spark, which is too slow for `make system`.

What the page takes as given is made before: topics with records, a schema, a registry at http://registry:8081. The
commands of the section *Formats* name topics that the other commands have read already in other formats, so they get a
cluster and a warehouse of their own.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import fastavro
import pytest

from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.testing.cluster import Cluster
from signalbox.testing.zookeeper import QUICK_JAVA
from tests.pipeline.json_server import JsonHandler, served
from tests.pipeline.object_store.store_server import StoreServer, store_server
from tests.pipeline.topics import Topics
from tests.system.cli.page_shell import PageShell, commands_of

pytestmark = [pytest.mark.spec("P1"), pytest.mark.timeout(400)]
COMMANDS = list(commands_of("docs/pipeline.md"))
FLIGHTS, BAD = 20, b"this line is no JSON"
AVRO: Any = {"type": "record", "name": "Flight", "fields": [{"name": "carrier", "type": "string"}]}
PROTO = 'syntax = "proto3"; message Order { int64 id = 1; string item = 2; }'


class _Registry(JsonHandler):
    """One schema, the newest of each subject."""

    def do_GET(self) -> None:
        self.answer({"subject": "flights-value", "version": 1, "id": 1, "schema": json.dumps(AVRO)})


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with served(_Registry) as address:
        yield address


@dataclass(frozen=True)
class Given:
    """A shell, the addresses of the cluster for most commands and of that for the formats, and an S3 server."""

    shell: PageShell
    usual: str
    formats: str
    registry: str
    store: StoreServer


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory, registry: str) -> Iterator[Given]:
    shell = PageShell(
        tmp_path_factory.mktemp("page"),
        HOME=os.environ["HOME"],  # the jars of `pipeline jars` are in a cache there
        JDK_JAVA_OPTIONS=" ".join(QUICK_JAVA),
    )
    shell.write("order.proto", PROTO)
    with (
        Cluster(brokers=1) as usual,
        Cluster(brokers=1) as formats,
        store_server(tmp_path_factory.mktemp("store")) as store,
    ):
        shell.environment.update(store.environment)
        _fill_usual(Topics(usual.bootstrap_servers))
        _fill_formats(Topics(formats.bootstrap_servers))
        yield Given(shell, usual.bootstrap_servers, formats.bootstrap_servers, registry, store)


def _fill_usual(topics: Topics) -> None:
    topics.create_named("flights")
    flights = [json.dumps({"carrier": "LX", "flight": number}).encode() for number in range(FLIGHTS)]
    topics.fill("flights", [*flights, BAD])
    topics.create_named("customers")
    topics.fill("customers", [b'{"name": "Ada"}', b'{"name": "Bo"}', b'{"name": "Cy"}', b'{"name": "Di"}'])
    topics.create_named("rides", partitions=1)
    topics.fill("rides", [b'{"id": %d, "fare": 9.5, "event_time": "2026-11-27T10:00:00Z"}' % n for n in (1, 2, 1)])


def _fill_formats(topics: Topics) -> None:
    content = BytesIO()
    fastavro.schemaless_writer(content, fastavro.parse_schema(AVRO), {"carrier": "LX"})
    topics.create_named("flights")
    topics.fill("flights", [b"\0" + struct.pack(">i", 1) + content.getvalue()])
    topics.create_named("orders")
    headers = [("trace", b"t-1"), ("attempt", struct.pack(">i", 2))]
    topics.fill_records("orders", [(struct.pack(">q", 7), b"\x08\x01\x12\x06coffee", headers)])
    topics.create_named("rates")
    topics.fill("rates", [b"2026-11-27,CHF,1.07"])


def rows(given: Given, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_table(given.shell.folder / table).to_pylist()
    return found


def _mend(given: Given) -> None:
    """What a person does between `show` and `replay --mended`."""
    file = given.shell.folder / "bad.jsonl"
    (record,) = map(json.loads, file.read_text().splitlines())
    assert record["value"] == {"text": BAD.decode()}
    file.write_text(json.dumps({**record, "value": {"text": '{"carrier": "UA", "flight": 99}'}}) + "\n")


def _check_order(given: Given) -> None:
    (order,) = rows(given, "formats/orders")
    shown = {name: order[name] for name in ("id", "item", "key_value", "header_trace", "header_attempt")}
    assert shown == {"id": 1, "item": "coffee", "key_value": 7, "header_trace": "t-1", "header_attempt": 2}


# What is true after the command that contains these words.
CHECKS: dict[str, Callable[[Given], bool | None]] = {
    "tables flights --warehouse lake --schema infer": lambda given: len(rows(given, "lake/flights")) == FLIGHTS,
    "tables customers": lambda given: sorted(row["name"] for row in rows(given, "lake/customers")) == ["Cy", "Di"],
    "--value-format avro": lambda given: [row["carrier"] for row in rows(given, "formats/flights")] == ["LX"],
    "--value-format protobuf": _check_order,
    "--value-format csv": lambda given: [row["currency"] for row in rows(given, "formats/rates")] == ["CHF"],
    "gate STRING": lambda given: [row["gate"] for row in rows(given, "lake/flights")] == [None] * FLIGHTS,
    "tables orders --warehouse lake --value-schema": _check_order,
    "--watermark": lambda given: sorted(row["id"] for row in rows(given, "lake/rides")) == [1, 2],
    "rejected show": _mend,
    "--warehouse s3://lake/tables --checkpoint-location": lambda given: (
        given.store.table(S3Location("lake", "tables") / "flights").count() == FLIGHTS
    ),
    "--mended": lambda given: (
        sorted(row["flight"] for row in rows(given, "lake/flights")) == [*range(FLIGHTS), 99]
        and rows(given, "lake/flights_dead") == []
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page(given: Given, command: str) -> None:
    formats = "--value-format" in command or " orders " in command
    given.shell.environment["SIGNALBOX_BOOTSTRAP"] = given.formats if formats else given.usual
    run = command.replace("http://registry:8081", given.registry)
    given.shell.run(run.replace("--warehouse lake", "--warehouse formats") if formats else run)
    for words, check in CHECKS.items():
        if words in command:
            assert check(given) is not False


def test_every_check_belongs_to_a_command() -> None:
    assert [words for words in CHECKS if not any(words in command for command in COMMANDS)] == []
