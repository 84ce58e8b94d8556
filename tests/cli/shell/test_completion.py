"""Completion: the words that may follow, and the scripts of the shells."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from signalbox.cli.main import app


def words(*typed: str) -> list[str]:
    return CliRunner().invoke(app, ["completion", "words", "--", *typed]).stdout.split()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["top"], ["topic"]),
        (["topic", "de"], ["delete", "describe"]),
        (["-b", "a:1", "group", "la"], ["lag"]),
        (["group", "--json", "res"], ["reset-offsets"]),
        (["topic", "list", "--int"], ["--internal"]),
        (["topic", "list", "--js"], ["--json"]),
        (["topic", "list", "-b", ""], []),
        (["produce", "-t", "x", "--key"], ["--key", "--key-separator"]),
        (["topic", "list", ""], []),
        (["stor"], ["store"]),
        (["drill", "answer", "AlterC"], ["AlterClientQuotas", "AlterConfigs"]),
        (["drill", "answer", "--node", "1", "Produce", "NOT_LE"], ["NOT_LEADER_OR_FOLLOWER"]),
        (["drill", "delay", ""], []),
        (["drill", "answer", "Produce", "NONE", ""], []),
    ],
)
def test_the_words_that_may_follow(typed: list[str], expected: list[str]) -> None:
    found = words(*typed)
    assert sorted(found) == sorted(expected)


def test_an_unknown_shell_is_rejected() -> None:
    result = CliRunner().invoke(app, ["completion", "tcsh"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected bash, zsh, fish" in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_valid(shell: str, tmp_path: Path) -> None:
    script = CliRunner().invoke(app, ["completion", shell]).stdout
    assert "signalbox completion words --" in script
    if shutil.which(shell):
        file = tmp_path / "script"
        file.write_text(script)
        subprocess.run([shell, "-n", str(file)], check=True)


def test_bash_completes_a_command(tmp_path: Path) -> None:
    command = tmp_path / "signalbox"
    command.write_text('#!/bin/sh\n[ "$*" = "completion words -- topic de" ] && printf "delete\\ndescribe\\n"\n')
    command.chmod(0o755)
    script = CliRunner().invoke(app, ["completion", "bash"]).stdout
    code = f"{script}\nCOMP_WORDS=(signalbox topic de); COMP_CWORD=2; _signalbox_words; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(
        ["bash", "-c", code], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "delete describe\n"
