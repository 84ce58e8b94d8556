"""The Kubernetes example: the schemas of Kubernetes accept it, and its configuration is that of a cluster.

The script of the pods runs here as in three pods; `signalbox check` compares the three configurations that it makes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from signalbox.testing.kafka_cluster.certificate_files import write_certificates
from tests.system import provision

pytestmark = pytest.mark.timeout(800)  # the validator and the programs of other tests are fetched one after the other
FOLDER = Path(__file__).parents[3] / "deploy" / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))
_OLDEST, _NEWEST = "1.31", "1.37"
_READ = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))"
_PRINT_ARGUMENTS = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"


def objects(name: str) -> list[dict[str, Any]]:
    python = provision.python_program("kubernetes-validate", "python")
    done = subprocess.run([python, "-c", _READ, str(FOLDER / name)], capture_output=True, check=True, timeout=300)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def one(name: str, kind: str) -> dict[str, Any]:
    [found] = [entry for entry in objects(name) if entry["kind"] == kind]
    return found


@pytest.mark.parametrize("version", [_OLDEST, _NEWEST])
def test_the_schemas_accept_every_file(version: str) -> None:
    program = provision.python_program("kubernetes-validate", "kubernetes-validate")
    command = [program, "-k", version, "--strict", *map(str, FILES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "outside.yaml passed for resource service/signalbox-outside-2" in done.stdout + done.stderr


@pytest.fixture(scope="module")
def properties(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The configurations of three pods, with this machine's folders."""
    folder = tmp_path_factory.mktemp("pods")
    data = one("configuration.yaml", "ConfigMap")["data"]
    keys = write_certificates(folder).broker
    [container] = one("brokers.yaml", "StatefulSet")["spec"]["template"]["spec"]["containers"]
    named = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
    (folder / "broker.sh").write_text(data["broker.sh"])
    (folder / "signalbox").write_text(_PRINT_ARGUMENTS)
    (folder / "signalbox").chmod(0o755)
    files = []
    for ordinal in range(3):
        pod = {"POD_NAME": f"signalbox-{ordinal}", "POD_NAMESPACE": "kafka", "PATH": f"{folder}:{os.environ['PATH']}"}
        script = ["/bin/sh", str(folder / "broker.sh"), "start"]
        done = subprocess.run(script, env={**named, **pod}, capture_output=True, text=True, check=True, timeout=300)
        arguments = done.stdout.splitlines()
        assert arguments[:2] == ["start", "/etc/signalbox/server.properties"]
        own = [text for text in arguments[2:] if text != "--override"]
        text = data["server.properties"].replace("/etc/signalbox-tls/broker.pem", str(keys))
        text = text.replace("/var/lib/signalbox/data", str(folder / f"data-{ordinal}"))
        files.append(folder / f"{ordinal}.properties")
        files[-1].write_text("\n".join((text, *own, "")))
    return files


def test_the_three_configurations_are_a_cluster(properties: list[Path]) -> None:
    command = [sys.executable, "-c", "from signalbox.cli.main import run; run()", "check", *map(str, properties)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_pod_has_its_id_and_addresses(properties: list[Path]) -> None:
    text = properties[2].read_text()
    assert "node.id=3\n" in text
    [advertised] = re.findall(r"^advertised.listeners=(.*)$", text, re.MULTILINE)
    inside = "signalbox-2.signalbox.kafka.svc.cluster.local"
    assert advertised == (
        f"INSIDE://{inside}:9092,OUTSIDE://kafka.example.org:31094,REPLICATION://{inside}:9093,CONTROL://{inside}:9094"
    )


def test_services_lead_to_the_listeners() -> None:
    listeners = one("configuration.yaml", "ConfigMap")["data"]["server.properties"]
    bound = {name.lower(): int(port) for name, port in re.findall(r"(\w+)://:(\d+)", listeners)}
    bound["metrics"] = 9404
    [container] = one("brokers.yaml", "StatefulSet")["spec"]["template"]["spec"]["containers"]
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == bound
    services = [entry for name in ("brokers.yaml", "outside.yaml") for entry in objects(name)]
    for service in [entry for entry in services if entry["kind"] == "Service"]:
        assert {port["name"]: port["port"] for port in service["spec"]["ports"]}.items() <= bound.items()


def test_the_port_of_each_broker_leads_to_its_pod() -> None:
    pods = {
        entry["spec"]["ports"][0]["nodePort"]: entry["spec"]["selector"]["statefulset.kubernetes.io/pod-name"]
        for entry in objects("outside.yaml")
    }
    assert pods == {31092 + ordinal: f"signalbox-{ordinal}" for ordinal in range(3)}
