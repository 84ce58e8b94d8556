from __future__ import annotations

from html.parser import HTMLParser

import pytest

from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.observations import Certificate, ClusterView
from signalbox.doctor.report.html_report import html_report
from tests.doctor.samples import CLUSTER, advertised, connection, examination, listener

pytestmark = pytest.mark.spec("R8")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def test_the_page_has_findings_picture_connections_and_certificates() -> None:
    certificate = {"10.0.0.2": Certificate(subject="CN=<b>", names=("n",), sha256="ab")}
    rows = (advertised(1, 1), advertised(2, 1, certificates=certificate))
    view = ClusterView(cluster_id=CLUSTER, brokers={"1": "broker1:9092", "2": "broker2:9092"}, skipped=("why",))
    run = examination(listener(*rows, view=view))
    parser = _Tags()
    parser.feed(html_report(run, find(run)))
    assert "svg" in parser.tags
    assert "script" not in parser.tags
    for text in ("WRONG_NODE", "node 1 responds for node 2", "CN=<b>", "Not checked: why", "1 wrong"):
        assert text in parser.text


def test_what_peers_send_is_escaped() -> None:
    row = advertised(1, host="<script>x", connections=(connection(2, cluster_id="<script>y", text="<script>z"),))
    run = examination(listener(row, bootstrap="<script>"))
    parser = _Tags()
    parser.feed(html_report(run, find(run)))
    assert "script" not in parser.tags
