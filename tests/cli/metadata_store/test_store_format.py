"""`signalbox store format` (and Kafka's `storage format`): the command for server/store/storage_format.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from signalbox.cli.main import app

ADMIN = "SCRAM-SHA-256=[name=admin,password=SECRET]"


def format_(folder: Path, *arguments: str) -> Result:
    file = folder / "server.properties"
    file.write_text(f"node.id=1\nlisteners=PLAINTEXT://127.0.0.1:0\nmetadata.store=sqlite:{folder}/metadata.db\n")
    return CliRunner().invoke(app, ["store", "format", "--config", str(file), *arguments])


def test_users_are_added_once(tmp_path: Path) -> None:
    first = format_(tmp_path, "--add-scram", ADMIN, "-S", ADMIN.replace("256", "512"))
    assert first.exit_code == 0
    assert first.stdout.splitlines()[1:] == ["user admin: SCRAM-SHA-256 added", "user admin: SCRAM-SHA-512 added"]
    again = format_(tmp_path, "--add-scram", ADMIN)
    assert again.stdout.splitlines() == [first.stdout.splitlines()[0], "user admin: SCRAM-SHA-256 is there already"]
    other = format_(tmp_path, "--add-scram", ADMIN.replace("SECRET", "other"))
    assert other.exit_code == 1
    assert "user admin has another SCRAM-SHA-256 credential" in other.stderr


def test_json_has_the_lines(tmp_path: Path) -> None:
    document = json.loads(format_(tmp_path, "--add-scram", ADMIN, "--json").stdout)
    assert document["notes"][-1] == "user admin: SCRAM-SHA-256 added"


def test_users_out_of_a_file(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(f"{ADMIN}\n\n{ADMIN.replace('admin', 'broker')}\n")
    made = format_(tmp_path, "--add-scram", f"@{users}")
    assert made.stdout.splitlines()[1:] == ["user admin: SCRAM-SHA-256 added", "user broker: SCRAM-SHA-256 added"]
    users.write_text(f"{ADMIN}\nnobody\n")
    wrong = format_(tmp_path, "--add-scram", f"@{users}")
    assert (wrong.exit_code, wrong.stderr.split(": ")[0]) == (2, f"{users}:2")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--add-scram", ADMIN, "--add-scram", "SCRAM-SHA-256=[password=SECRET]"), "--add-scram number 2: 'name'"),
        (("--add-scram", "@/nowhere/users"), "/nowhere/users cannot be read"),
        (("--override", "node.id=x"), "node.id"),
        (("--config", "/nowhere/server.properties"), "/nowhere/server.properties cannot be read"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    result = format_(tmp_path, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "SECRET" not in result.output
    assert not (tmp_path / "metadata.db").exists()


def test_a_store_that_cannot_be_made(tmp_path: Path) -> None:
    result = format_(tmp_path, "--override", f"signalbox.metadata.store=sqlite:{tmp_path}")
    assert result.exit_code == 1
    assert "signalbox.metadata.store" in result.stderr
