"""The commands of the page on testing a client, run as they stand there, on free ports: faults from a terminal, the
drill (one of its stories), a cluster of one program."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.tour.expected import matches
from tools.tour.page import Block, Command, blocks, steps

from signalbox.testing.kafka_cluster.certificate_files import write_certificates
from tests.system.cli.page_shell import ROOT, PageShell

pytestmark = [pytest.mark.spec("R7"), pytest.mark.timeout(240)]
PAGE = ROOT / "docs" / "testing-your-client.md"
# A client of the drill: lines in, lines out.
CLIENT = f"""#!{sys.executable}
import os, sys
from signalbox.client import ClientSettings, SyncClient

def answer(number, sent):
    print(number, sent.exception() or "ok", flush=True)

settings = ClientSettings.of(os.environ["DRILL_BOOTSTRAP_SERVERS"])
with SyncClient(settings) as client, client.producer() as producer:
    for line in sys.stdin:
        number, partition, value = line.split()
        sent = producer.send(os.environ["DRILL_TOPIC"], value.encode(), partition=int(partition))
        sent.add_done_callback(lambda sent, number=number: answer(number, sent))
"""


def console_blocks() -> Iterator[Block]:
    return (block for block in blocks(PAGE.read_text(encoding="utf-8")) if block.language == "console")


def commands_with(words: str) -> list[Command]:
    """The commands of the one block that has these words, each on one line."""
    (block,) = [block for block in console_blocks() if words in block.body]
    body = block.body.replace("\\\n", " ")
    return [step for step in steps(f"```console\n{body}```\n") if isinstance(step, Command)]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[PageShell]:
    made = PageShell(tmp_path)
    yield made
    made.run("signalbox down || true")


def test_every_block_is_run_here() -> None:
    assert len(list(console_blocks())) == 4


def test_the_first_test_of_a_reader(shell: PageShell) -> None:
    (block,) = [block for block in blocks(PAGE.read_text(encoding="utf-8")) if block.language == "python"]
    shell.write("test_mine.py", block.body)
    assert "1 passed" in shell.run(f"{sys.executable} -m pytest -q -p no:cacheprovider test_mine.py")


def test_faults_from_a_terminal(shell: PageShell) -> None:
    for command in commands_with("drill swap"):
        text = command.text.replace("--detach", "--detach --port 0")
        printed = shell.run(text)
        assert command.output is None or matches(command.output, printed), f"{text}\n{printed}"


def test_a_cluster_with_tls_for_clients(shell: PageShell) -> None:
    write_certificates(shell.folder)
    (command,) = commands_with("ssl.keystore.location")
    assert "bootstrap.servers=" in shell.run(f"{command.text} --detach --port 0 --brokers 2")
    assert "SwapAddresses" in shell.run("signalbox drill swap 1 2")


def test_the_drill(shell: PageShell) -> None:
    shell.write("my-client", CLIENT)
    (shell.folder / "my-client").chmod(0o755)
    ours, program = (command.text.partition("  #")[0].rstrip() for command in commands_with("testing drill"))
    short = "--story 4 --window 1"
    for text in (f"{ours} {short}", program.replace(" -- ", f" {short} -- ")):
        assert "passed" in shell.run(text.replace("python ", f"{sys.executable} ", 1))


def test_a_cluster_of_one_program(shell: PageShell) -> None:
    (block,) = [block for block in console_blocks() if block.body.endswith("stop\n")]
    printed = shell.run(f"{sys.executable} -m signalbox.testing cluster --topic orders=3", given=block.body)
    started, *answers = map(json.loads, printed.splitlines())
    assert "bootstrap.servers" in started
    assert [answer for answer in answers if "error" in answer] == []
    assert answers[-1] == {"healed": True}
