"""The Containerfile: hadolint has nothing to say, and it fits to the pod that runs it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.system import provision

pytestmark = pytest.mark.timeout(800)  # as in test_kubernetes.py
DEPLOY = Path(__file__).parents[3] / "deploy"
CONTAINERFILE = DEPLOY / "container" / "Containerfile"


def test_hadolint_has_nothing_to_say() -> None:
    command = [provision.python_program("hadolint", "hadolint"), str(CONTAINERFILE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "")


def test_user_and_folder_are_those_of_the_pod() -> None:
    text = CONTAINERFILE.read_text()
    pod = (DEPLOY / "kubernetes" / "brokers.yaml").read_text()
    [user] = re.findall(r"^USER (\d+):", text, re.MULTILINE)
    [folder] = re.findall(r"^VOLUME (\S+)$", text, re.MULTILINE)
    assert f"runAsUser: {user}\n" in pod
    assert f"mountPath: {folder}}}" in pod


def test_the_build_takes_the_wheel_that_make_dist_puts_there() -> None:
    text = CONTAINERFILE.read_text()
    assert "COPY *.whl " in text
    assert "Containerfile dist\n" in text
