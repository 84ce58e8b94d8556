"""Every example of docs/client.md runs, against brokers in this process, and prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from signalbox.testing.cluster import Cluster

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
EXAMPLES = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1) as made:
        yield made


def test_every_example_has_its_output() -> None:
    assert len(EXAMPLES) == PAGE.read_text().count("```python") > 4


@pytest.mark.spec("R10")
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_prints_what_the_page_says(cluster: Cluster, number: int) -> None:
    code, output = EXAMPLES[number]
    code = code.replace("localhost:9092", cluster.bootstrap_servers)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (run.stdout, run.returncode) == (output, 0), run.stderr
