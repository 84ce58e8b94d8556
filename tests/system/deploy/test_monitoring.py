"""promtool reads rules and dashboard; each alert is raised by the values of its fault, and none by a healthy cluster.

The values of a healthy cluster are the page of a real broker with a client.
"""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from signalbox.server.monitoring.alert_table import ALERTS
from signalbox.server.monitoring.dashboard import queries
from signalbox.testing.cluster import Cluster
from tests.system import provision
from tests.system.deploy.faults_of_alerts import FAULTS

pytestmark = pytest.mark.timeout(800)  # as in test_kubernetes.py
FOLDER = Path(__file__).parents[3] / "deploy" / "monitoring"
_LABELS = 'job="signalbox",instance="kafka1:9404",cluster="main"'
_MINUTES = 40


def promtool(*arguments: str, folder: Path = FOLDER) -> str:
    command = [provision.unpacked_program("prometheus", "usr/bin/promtool"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def healthy() -> dict[str, str]:
    """The series of a broker's page that alerts ask for, with values that stay the same."""
    overrides = {"signalbox.metrics.http.port": "0"}
    with Cluster(brokers=1, overrides=overrides) as cluster:
        [node] = cluster.nodes.values()
        page = urllib.request.urlopen(str(node.describe()["metrics"]), timeout=30).read().decode()
    lines = [line.rpartition(" ") for line in page.splitlines() if not line.startswith("#")]
    series = {_labelled(name): f"{value}x{_MINUTES}" for name, _, value in lines}
    asked = {name for alert in ALERTS for name in re.findall(r"\w+", alert.condition)}
    used = {key: values for key, values in series.items() if key.partition("{")[0] in asked}
    return {**used, f"up{{{_LABELS}}}": f"1x{_MINUTES}"}


def _labelled(sample: str) -> str:
    name, _, labels = sample.partition("{")
    return f"{name}{{{','.join(filter(None, (labels.removesuffix('}'), _LABELS)))}}}"


def test_the_configuration_is_valid() -> None:
    assert f"{len(ALERTS)} rules found" in promtool("check", "config", "prometheus.yml")


def test_the_queries_of_the_dashboard_are_valid(tmp_path: Path) -> None:
    variables = {"$__rate_interval": "5m", "$job": "signalbox", "$instance": ".*"}
    texts = queries(json.loads((FOLDER / "dashboard.json").read_text())["panels"])
    for variable, value in variables.items():
        texts = [text.replace(variable, value) for text in texts]
    assert not [text for text in texts if "$" in text]
    rules = [{"record": f"query:{number}", "expr": text} for number, text in enumerate(texts)]
    (tmp_path / "queries.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(texts)} rules found" in promtool("check", "rules", "queries.yml", folder=tmp_path)


def test_each_alert_is_raised_by_its_fault_and_none_without(healthy: dict[str, str], tmp_path: Path) -> None:
    assert FAULTS.keys() == {alert.name for alert in ALERTS}
    cases = [_case("healthy", healthy, {}, set())]
    for name, fault in FAULTS.items():
        cases.append(_case(name, healthy, fault.series, {name, *fault.also}))
    test = {"rule_files": [str(FOLDER / "alerts.yml")], "evaluation_interval": "1m", "tests": cases}
    (tmp_path / "alerts_test.yml").write_text(json.dumps(test))
    promtool("test", "rules", "alerts_test.yml", folder=tmp_path)


def _case(name: str, healthy: dict[str, str], fault: dict[str, str], alerts: set[str]) -> dict[str, Any]:
    """What promtool compares: these alerts are raised after 35 minutes, when the fault has lasted for 15."""
    changed = {_labelled(sample): values for sample, values in fault.items()}
    samples = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in sorted(alerts)]
    return {
        "name": name,
        "interval": "1m",
        "input_series": [{"series": key, "values": value} for key, value in {**healthy, **changed}.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (count by (alertname) (ALERTS{alertstate="firing"}))',
                "eval_time": "36m",
                "exp_samples": samples,
            }
        ],
    }
