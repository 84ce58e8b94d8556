"""The pipeline as a user starts it: `signalbox pipeline tables` and `signalbox pipeline audit`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.testing.free_ports import free_ports
from signalbox.testing.zookeeper import QUICK_JAVA
from tests.pipeline.topics import Topics, json_values
from tests.waiting import until

SIGNALBOX = str(Path(sys.executable).parent / "signalbox")
# The commands have no option for it: JVMs for a short run, as `quick` elsewhere.
ENVIRONMENT = {**os.environ, "JDK_JAVA_OPTIONS": " ".join(QUICK_JAVA)}


def pipeline(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [SIGNALBOX, "pipeline", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, env=ENVIRONMENT)


@pytest.mark.spec("P1", "P2", "P3")
@pytest.mark.timeout(400)
def test_tables_and_audit_print_json_and_say_the_rest_aside(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create("typed")
    topics.fill(topic, [*json_values(0, 50), b"bad"])
    where = ("--bootstrap-server", topics.bootstrap, "--warehouse", str(tmp_path), "--profile", "pypi")
    tables = pipeline("tables", topic, *where, "--schema", "infer", "--json", "--ui", "--metrics-port", "0")
    assert tables.returncode == 0, tables.stderr
    result = json.loads(tables.stdout)
    assert (result["table_rows"], result["dead_table_rows"], result["profile"]) == (50, 1, "pypi")
    assert "50 rows, 1 bad records kept aside" in tables.stderr
    assert "Spark's own pages: http://127.0.0.1:" in tables.stderr
    assert "metrics: http://127.0.0.1:" in tables.stderr

    audit = pipeline("audit", *where, "--figures")
    assert audit.returncode == 0, audit.stderr
    figures = json.loads(audit.stdout)
    assert figures["completeness"]["complete"] is True
    asked = {(row["client_id"], row["api"]) for row in figures["requests"]}
    assert (f"signalbox-pipeline-{topic}", "FETCH") in asked, f"{AUDIT_TOPIC} does not tell of our own reading"

    report = pipeline("report", "--warehouse", str(tmp_path), "--json")
    assert report.returncode == 0, report.stderr
    document = json.loads(report.stdout)
    assert document["requests"] == figures["requests"]
    assert not [each for each in document["anomalies"] if each["rule"] == "incomplete audit trail"]
    assert pipeline("report", "--warehouse", str(tmp_path)).returncode == 0
    assert f"signalbox-pipeline-{topic}" in (tmp_path / "report.html").read_text()


@pytest.mark.timeout(400)
def test_a_signal_to_the_whole_group_while_the_query_starts_is_one_line(topics: Topics, tmp_path: Path) -> None:
    """As `timeout` and service managers send it: the driver and its JVM receive it."""
    topic = topics.create("ended")
    topics.fill(topic, json_values(0, 50))
    command = [SIGNALBOX, "pipeline", "tables", topic, "--every", "1"]
    where = ("--bootstrap-server", topics.bootstrap, "--warehouse", str(tmp_path), "--profile", "pypi")
    driver = subprocess.Popen(
        [*command, *where],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=ENVIRONMENT,
    )
    checkpoint = tmp_path / ".signalbox" / topic / "checkpoint"
    try:
        until(checkpoint.exists, "the query starts", 150)
        os.killpg(driver.pid, signal.SIGTERM)
        _, stderr = driver.communicate(timeout=150)
    finally:
        driver.kill()
    assert "Traceback" not in stderr
    assert "Py4J" not in stderr
    assert driver.returncode in (0, 1)
    if driver.returncode:
        assert "Spark's process has ended" in stderr.splitlines()[-1]


@pytest.mark.spec("P9")
@pytest.mark.timeout(400)
def test_a_continuous_run_shows_its_metrics_and_ends_with_its_batch(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create("continuous")
    topics.fill(topic, json_values(0, 50))
    (port,) = free_ports(1)
    where = ("--bootstrap-server", topics.bootstrap, "--warehouse", str(tmp_path), "--profile", "pypi", "--json")
    command = [SIGNALBOX, "pipeline", "tables", topic, *where, "--interval", "500ms", "--metrics-port", str(port)]
    driver = subprocess.Popen(
        [*command, "--conf", "spark.sql.shuffle.partitions=2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=ENVIRONMENT,
    )

    def page() -> str:
        try:
            return str(urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60).read(), "utf-8")
        except OSError:
            return ""

    try:
        until(lambda: f'signalbox_pipeline_rows_total{{table="{topic}"}} 50.0' in page(), "50 rows", 150)
        topics.fill(topic, json_values(50, 60))
        until(lambda: f'signalbox_pipeline_rows_total{{table="{topic}"}} 60.0' in page(), "60 rows", 150)
        driver.terminate()
        stdout, stderr = driver.communicate(timeout=150)
    finally:
        driver.kill()
    assert driver.returncode == 0, stderr
    assert json.loads(stdout)["table_rows"] == 60


def test_a_topic_that_is_not_there_is_one_line_and_status_1(topics: Topics, tmp_path: Path) -> None:
    answer = pipeline("tables", "nowhere", "--bootstrap-server", topics.bootstrap, "--warehouse", str(tmp_path))
    assert answer.returncode == 1
    assert "topic nowhere cannot be read" in answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    assert list(tmp_path.iterdir()) == []
