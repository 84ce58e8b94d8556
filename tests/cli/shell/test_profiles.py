"""Named clusters of the file profiles.toml: which one counts, where its login goes, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.cli.shell.profiles import (
    PROFILE,
    PROFILES_FILE,
    Profile,
    ProfileError,
    default_profile,
    profile_of,
    profiles_file,
    read_profiles,
)
from signalbox.cli.shell.shared_options import BOOTSTRAP, COMMAND_CONFIG, DEFAULT_BOOTSTRAP, SharedOptions
from signalbox.testing.cluster import Cluster

TEXT = """
default = "local"
[local]
bootstrap-server = "127.0.0.1:1"
[staging]
bootstrap-server = "kafka1:9093,kafka2:9093"
command-config = "staging.properties"
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (PROFILE, BOOTSTRAP, COMMAND_CONFIG):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "profiles.toml"
    file.write_text(TEXT)
    monkeypatch.setenv(PROFILES_FILE, str(file))
    return file


def used(**options: str) -> tuple[str, str | None]:
    shared = SharedOptions(**options)  # type: ignore[arg-type]
    return shared.bootstrap, shared.config_file


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PROFILES_FILE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/somewhere")
    assert profiles_file() == Path("/somewhere/signalbox/profiles.toml")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert profiles_file() == Path("/home/me/.config/signalbox/profiles.toml")


def test_a_byte_order_mark_is_no_part_of_the_file(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert read_profiles()[0]


def test_a_named_profile_counts_before_the_environment(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BOOTSTRAP, "e:1")
    monkeypatch.setenv(COMMAND_CONFIG, "e.properties")
    assert used(profile="staging") == ("kafka1:9093,kafka2:9093", str(file.parent / "staging.properties"))
    assert used(profile="local") == ("127.0.0.1:1", None)
    assert used(profile="staging", bootstrap_server="a:1") == ("a:1", str(file.parent / "staging.properties"))
    assert used() == ("e:1", "e.properties")


def test_the_default_counts_only_if_nothing_else_is_named(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the login of a profile would go to an address that the profile does not have."""
    assert used() == ("127.0.0.1:1", None)
    monkeypatch.setenv(PROFILE, "staging")
    assert used() == ("kafka1:9093,kafka2:9093", str(file.parent / "staging.properties"))
    assert used(bootstrap_server="a:1") == ("a:1", None)
    assert used(command_config="f") == (DEFAULT_BOOTSTRAP, "f")
    monkeypatch.setenv(BOOTSTRAP, "e:1")
    assert used(bootstrap_server="a:1") == ("a:1", None)
    with pytest.raises(typer.Exit):
        used()
    assert "SIGNALBOX_PROFILE and SIGNALBOX_BOOTSTRAP both name a cluster" in capsys.readouterr().err
    monkeypatch.delenv(PROFILE)
    assert used() == ("e:1", None)


def test_without_a_file_nothing_changes(file: Path) -> None:
    file.unlink()
    assert used() == (DEFAULT_BOOTSTRAP, None)
    assert (read_profiles(), default_profile()) == (({}, None), None)
    with pytest.raises(ProfileError, match="which has no profile"):
        profile_of("staging")


def test_paths_are_relative_to_the_file(file: Path) -> None:
    file.write_text('[a]\nbootstrap-server = "b:1"\ncommand-config = "/etc/a.properties"\n')
    assert profile_of("a") == Profile("a", "b:1", "/etc/a.properties")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[a\n", "is not TOML"),
        ("a = 1\n", "a is neither `default` nor a table"),
        ("[a]\n", "[a] has no bootstrap-server"),
        ("[a]\nbootstrap-server = 1\n", "[a] bootstrap-server is no text"),
        ("[a]\nbootstrap = 'b:1'\n", "[a] has the unknown key bootstrap: expected bootstrap-server, command-config"),
        ("default = 'b'\n[a]\nbootstrap-server = 'b:1'\n", "default = 'b' is no profile of this file"),
    ],
)
def test_a_wrong_file_ends_every_client_command(file: Path, text: str, says: str) -> None:
    file.write_text(text)
    for arguments in (["profiles"], ["topic", "list"], ["--profile", "a", "topic", "list"]):
        result = CliRunner().invoke(app, arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert says in result.stderr


def test_a_folder_instead_of_a_file(file: Path) -> None:
    file.unlink()
    file.mkdir()
    result = CliRunner().invoke(app, ["topic", "list"])
    assert (result.exit_code, "cannot be read: Is a directory" in result.stderr) == (2, True)


def test_an_unknown_profile_lists_the_known_ones(file: Path) -> None:
    result = CliRunner().invoke(app, ["topic", "list", "--profile", "prod"])
    assert result.exit_code == 2
    assert f"profile 'prod' is not in {file}: it has local, staging" in result.stderr


def test_the_list(file: Path) -> None:
    result = CliRunner().invoke(app, ["profiles", "--json"])
    assert json.loads(result.stdout)[0] == {
        "default": "*",
        "name": "local",
        "bootstrap_server": "127.0.0.1:1",
        "command_config": "",
    }


def test_commands_of_a_profile(file: Path, cluster: Cluster) -> None:
    file.write_text(f'[here]\nbootstrap-server = "{cluster.bootstrap_servers}"\n')
    for arguments in (["--profile", "here", "cluster", "describe"], ["cluster", "describe", "--profile", "here"]):
        result = CliRunner().invoke(app, arguments)
        assert (result.exit_code, "healthy: " in result.stdout) == (0, True)
    result = CliRunner().invoke(app, ["--profile", "here", "doctor"])
    assert (result.exit_code, "all right" in result.stdout) == (0, True)
    file.write_text(
        f'default = "here"\n[here]\nbootstrap-server = "{cluster.bootstrap_servers}"\ncommand-config = "no"\n'
    )
    result = CliRunner().invoke(app, ["doctor"])
    assert (result.exit_code, f"{file.parent / 'no'}" in result.stderr) == (2, True)
