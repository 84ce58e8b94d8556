"""The pages and drawings that the project writes, each made from the longest values that it must show.

A source that writes HTML or SVG and is missing here fails `tests/tools/report_pictures/test_pages.py`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cli.demo.samples import figures_of, stage_of
from tests.doctor.samples import CLUSTER, advertised, connection, examination, listener, seed
from tests.pipeline.report.sample import decided, figures, forward, misroute, rejection

from signalbox.cli.demo.page import write_page
from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.observations import Certificate, ClusterView
from signalbox.doctor.report.html_report import html_report
from signalbox.pipeline.report.page import report_page

ROOT = Path(__file__).parents[2]
_LAST_DEMO = ROOT / "build" / "demo" / "report.html"
_HOST = "broker-1.a-rather-long-name.kafka.eu-north-1.example.org"


@dataclass(frozen=True, slots=True)
class Page:
    """One page: `source` is the file of the project that writes it, `write` puts it into a folder."""

    name: str
    source: str
    write: Callable[[Path], Path]


def all_pages() -> Iterator[Page]:
    """Every page; the report of the last `make demo` too, if there is one."""
    yield Page("demo", "src/signalbox/cli/demo/page.py", lambda folder: write_page(stage_of(folder), figures_of()))
    if _LAST_DEMO.exists():
        yield Page("last-demo", "src/signalbox/cli/demo/page.py", _copying(_LAST_DEMO))
    yield Page("doctor", "src/signalbox/doctor/report/html_report.py", _write_doctor)
    yield Page("audit-trail", "src/signalbox/pipeline/report/page.py", _write_audit_trail)
    for drawing in sorted((ROOT / "docs" / "pictures").glob("*.svg")):
        yield Page(drawing.stem, str(drawing.relative_to(ROOT)), _copying(drawing))


def _copying(file: Path) -> Callable[[Path], Path]:
    return lambda folder: Path(shutil.copy(file, folder))


def _write_doctor(folder: Path) -> Path:
    certificate = Certificate(
        subject=f"CN={_HOST},OU=platform,O=Example,C=NO",
        issuer="CN=Example Issuing Authority 2026,O=Example,C=NO",
        names=(_HOST, "localhost"),
        not_before="2026-01-01T00:00:00+00:00",
        not_after="2027-01-01T00:00:00+00:00",
        sha256="ab" * 32,
    )
    crossed = advertised(1, 2, host=_HOST, ip="2001:db8:1234:5678:9abc:def0:1234:5678")
    foreign = advertised(
        2,
        connections=(connection(2, cluster_id="the-cluster-of-another-team", text="not trusted, " * 9),),
        certificates={"10.0.0.2": certificate},
    )
    view = ClusterView(
        cluster_id=CLUSTER, brokers={"1": f"{_HOST}:9092", "2": "broker2:9092"}, skipped=("a reason " * 12,)
    )
    run = examination(listener(seed(1, 2), crossed, foreign, view=view, bootstrap=f"{_HOST}:9092"))
    page = folder / "doctor.html"
    page.write_text(html_report(run, find(run)), encoding="utf-8")
    return page


def _write_audit_trail(folder: Path) -> Path:
    client = {"principal": f"User:CN={_HOST},OU=platform,O=Example,C=NO", "client_id": f"orders-consumer-of-{_HOST}-0"}
    reported = figures(
        forwarded=[{**forward(1, 2_345_678), **client}],
        decided=[{**decided("User:broker-2"), **client, "resource": "orders-of-last-year, " * 12}],
        rejected=[{**rejection("control"), **client, "client_address": "2001:db8:1234:5678:9abc:def0:1234:5678"}],
        misrouted=[misroute(1_234_567, "UTSeflLQScepeme3r1wvLA/1", "AaBbCcDdEeFfGgHhIiJjKk/2147483647")],
    )
    reported["requests"] += [{**row, **client, "requests": 987_654_321} for row in reported["requests"]]
    reported["completeness"] |= {"complete": False, "findings": [f"broker {number} of {_HOST}" for number in range(9)]}
    page = folder / "audit-trail.html"
    page.write_text(report_page(reported, f"/var/lib/{_HOST}/warehouse"), encoding="utf-8")
    return page
