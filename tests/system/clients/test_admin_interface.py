"""The table of docs/client.md against the interface `Admin` of Apache Kafka 4.4.0."""

from __future__ import annotations

import re
import subprocess
from functools import partial

import pytest

from tests.client.test_admin import table_of_the_page
from tests.system.provision import command, jars

NEEDS = (partial(command, "mvn"), partial(command, "javap"), partial(jars, "kafka44"))
_NOT_A_REQUEST = {"create", "close"}


@pytest.mark.spec("R10")
def test_every_method_of_kafkas_admin_has_its_row() -> None:
    javap = [command("javap"), "-cp", jars("kafka44"), "org.apache.kafka.clients.admin.Admin"]
    interface = subprocess.run(javap, capture_output=True, text=True, check=True, timeout=120).stdout
    methods = set(re.findall(r" (\w+)\(", interface)) - _NOT_A_REQUEST
    listed = [name for row in table_of_the_page() for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(methods)
