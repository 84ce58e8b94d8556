"""The versions with which the matrix was run, as the clients report them."""

from __future__ import annotations

import json
import platform
import re
import ssl
import subprocess
from collections.abc import Mapping
from xml.etree import ElementTree

import aiokafka
import confluent_kafka
import kafka

from tests.system.provision import HERE, command, node_modules


def brokers() -> str:
    """The platform of the brokers."""
    return f"Python {platform.python_version()}, {ssl.OPENSSL_VERSION}"


def clients() -> Mapping[str, str]:
    """The versions by the client names of the matrix."""
    return {
        "librdkafka": f"{confluent_kafka.libversion()[0]}, through confluent-kafka {confluent_kafka.__version__}",
        "kafka-python": kafka.__version__,
        "aiokafka": aiokafka.__version__,
        "kafkajs": json.loads((node_modules() / "kafkajs" / "package.json").read_text())["version"],
        "java": f"kafka-clients {_kafka_clients()} from Maven Central",
        "kcat": _kcat(),
    }


def _kafka_clients() -> str:
    pom = ElementTree.parse(HERE / "java" / "clients" / "pom.xml")
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    for dependency in pom.iterfind(".//m:dependency", space):
        if dependency.findtext("m:artifactId", None, space) == "kafka-clients":
            return str(dependency.findtext("m:version", None, space))
    raise LookupError("kafka-clients is not in java/clients/pom.xml")


def _kcat() -> str:
    text = subprocess.run([command("kcat"), "-V"], capture_output=True, text=True, timeout=30).stdout
    found = re.search(r"Version (\S+) \(.*librdkafka (\S+)", text)
    assert found is not None, text
    return f"{found[1]} from Debian, librdkafka {found[2]}"
