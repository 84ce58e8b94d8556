"""The wheel in empty environments: each supported Python of this machine, each extra. `make dist-test` runs it.

Not a part of `make system`: the extra `pipeline` alone is 400 MB.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.system.distribution.checks import (
    check_brokers_clients_doctor,
    check_examples,
    check_fixtures,
    check_store_on_zookeeper,
    check_table_of_topic,
    check_tour,
)
from tests.system.distribution.environment import ROOT, Environment, new_environment, run
from tests.system.distribution.interpreters import SUPPORTED, find_interpreter

pytestmark = pytest.mark.timeout(1_800)


@cache
def wheel() -> str:
    run(["make", "dist"], ROOT, timeout_s=390)
    [file] = (ROOT / "dist").glob("*.whl")
    return str(file)


@pytest.fixture(params=SUPPORTED)
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Environment:
    """Empty but for pytest."""
    python = find_interpreter(request.param)
    if python is None:
        pytest.skip(f"Python {request.param} is not on this machine")
    empty = new_environment(tmp_path, python)
    empty.install("pytest", "pytest-timeout")
    return empty


def test_without_an_extra(environment: Environment) -> None:
    environment.install(wheel())
    check_brokers_clients_doctor(environment)
    check_fixtures(environment)


def test_the_tour_of_a_python_developer(environment: Environment) -> None:
    environment.install(wheel(), "confluent-kafka", "kafka-python")
    check_tour(environment, "python-developer")


def test_security_and_zookeeper(environment: Environment) -> None:
    environment.install(f"{wheel()}[security,zookeeper]")
    check_fixtures(environment, security="SASL_SSL")
    check_store_on_zookeeper(environment)


@pytest.mark.spec("R7")
def test_the_examples_of_the_test_kit(environment: Environment) -> None:
    environment.install(f"{wheel()}[security]", "confluent-kafka", "kafka-python", "aiokafka")
    check_examples(environment)


def test_pipeline_and_demo(environment: Environment) -> None:
    environment.install(f"{wheel()}[demo]")
    check_table_of_topic(environment)
    check_tour(environment, "data-engineer")
