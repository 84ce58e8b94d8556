"""Files checked alone and together: what is compared, what is reported, and that the check writes nothing and opens no
connection."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from signalbox.configuration.check.files import check_files
from tests.wiring.test_serve import properties

BAD = Path(__file__).parents[2] / "data" / "bad-configs"
# An audit hook observes every socket, database, folder and written file of the process (PEP 578).
WATCHED = """
import json, sys
touched = []
def record(event, arguments):
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if event in ("socket.bind", "socket.connect", "sqlite3.connect", "os.mkdir", "os.rename", "os.remove") or writes:
        touched.append([event, str(arguments[0])])
from pathlib import Path
from signalbox.configuration.check.files import check_files
from signalbox.wiring.serve import load_config
sys.dont_write_bytecode = True
sys.addaudithook(record)
paths = [Path(path) for path in sys.argv[1:]]
check_files(paths)
for path in paths:
    load_config(path, [])
print(json.dumps(touched))
"""


def test_nothing_is_bound_made_or_written(tmp_path: Path) -> None:
    good = properties(tmp_path, listeners="CLIENT://127.0.0.1:0,REPLICATION://127.0.0.1:0,CONTROL://127.0.0.1:0")
    files = [good, *BAD.glob("*.properties"), *BAD.glob("*/*.properties")]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *map(str, files)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []
    assert list(tmp_path.iterdir()) == [good]


def test_files_with_faults_of_their_own_are_not_compared(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    one = properties(tmp_path / "a")
    same_id = properties(tmp_path / "b")
    faulty = properties(tmp_path / "c", num__partitions="many")
    found = check_files([one, same_id, faulty, tmp_path / "nowhere"])
    assert found.compared == 2
    assert [file.origin for file in found.files] == [str(one), str(same_id)]
    assert len(found.unreadable) == 1
    assert [line.partition(": ")[2].split(" ")[0] for line in found.faults] == [
        "num.partitions",
        "node.id",
        "signalbox.metadata.store",
    ]


def test_the_example_would_start() -> None:
    found = check_files([Path(__file__).parents[3] / "examples" / "server.properties"])
    assert (found.unreadable, found.faults, found.compared) == ([], [], 1)


@pytest.mark.spec("F15")
def test_the_example_of_a_controller_and_its_broker_would_be_one_cluster() -> None:
    names = ("controller.properties", "broker-with-controllers.properties")
    found = check_files([Path(__file__).parents[3] / "examples" / name for name in names])
    assert (found.unreadable, found.faults, found.compared) == ([], [], 2)
    assert [file.name for file in found.files] == ["controller 101", "broker 1"]


def test_overrides_hold_for_every_file(tmp_path: Path) -> None:
    [line] = check_files([properties(tmp_path)], ["num.partitions=none"]).faults
    assert line.startswith("--override: num.partitions (none): ")
    assert check_files([properties(tmp_path, num__partitions="none")], ["num.partitions=1"]).faults == []


def test_unknown_keys_of_a_file_with_faults_are_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("node.id=one\nno.such.key=1\n")
    findings = check_files([file])
    assert findings.faults
    assert findings.warnings == [f"{file}:2: no.such.key is not a known key"]
