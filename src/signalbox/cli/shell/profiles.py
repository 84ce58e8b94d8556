"""Profiles: named clusters in a file of the user. A command line names a cluster, not its addresses and login.

    default = "staging"

    [staging]
    bootstrap-server = "kafka1.staging.example.org:9092,kafka2.staging.example.org:9092"
    command-config = "staging.properties"

The file is SIGNALBOX_PROFILES, else `signalbox/profiles.toml` in the user's directory of configurations
(XDG_CONFIG_HOME). `command-config`, a file of client properties, is relative to it. A profile is used as it is: its
login never goes to an address that was named elsewhere, unless the command line names both.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROFILE = "SIGNALBOX_PROFILE"
PROFILES_FILE = "SIGNALBOX_PROFILES"
_KEYS = ("bootstrap-server", "command-config")


class ProfileError(ValueError):
    """The file of profiles cannot be read or understood, or has no profile of this name."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A cluster: `host:port,...`, and the path of its client properties, if it has some."""

    name: str
    bootstrap: str
    command_config: str | None = None


def profiles_file() -> Path:
    """Where the profiles are; the file need not exist."""
    if location := os.environ.get(PROFILES_FILE):
        return Path(location)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "signalbox" / "profiles.toml"


def read_profiles() -> tuple[dict[str, Profile], str | None]:
    """The profiles by name, and the name of the default one; none of both without a file. ProfileError."""
    file = profiles_file()
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}, None
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{file} is not TOML: {error}") from None
    default = document.pop("default", None)
    profiles = {name: _profile(file, name, entry) for name, entry in document.items()}
    if default is not None and default not in profiles:
        raise ProfileError(f"{file}: default = {default!r} is no profile of this file")
    return profiles, default


def _profile(file: Path, name: str, entry: Any) -> Profile:
    if not isinstance(entry, dict):
        raise ProfileError(f"{file}: {name} is neither `default` nor a table [{name}]")
    for key, value in entry.items():
        if key not in _KEYS:
            raise ProfileError(f"{file}: [{name}] has the unknown key {key}: expected {', '.join(_KEYS)}")
        if not isinstance(value, str) or not value:
            raise ProfileError(f"{file}: [{name}] {key} is no text")
    if "bootstrap-server" not in entry:
        raise ProfileError(f"{file}: [{name}] has no bootstrap-server")
    config = entry.get("command-config")
    return Profile(name, entry["bootstrap-server"], str(file.parent / Path(config).expanduser()) if config else None)


def profile_of(name: str) -> Profile:
    """The profile of this name. ProfileError."""
    profiles, _ = read_profiles()
    if name not in profiles:
        listed = f": it has {', '.join(profiles)}" if profiles else ", which has no profile"
        raise ProfileError(f"profile {name!r} is not in {profiles_file()}{listed}")
    return profiles[name]


def default_profile() -> Profile | None:
    """The profile that counts if the command line names none: of SIGNALBOX_PROFILE, else the file's default.
    ProfileError."""
    if name := os.environ.get(PROFILE):
        return profile_of(name)
    profiles, default = read_profiles()
    return profiles[default] if default else None


def profiles() -> None:
    """List the profiles of the file profiles.toml; `*` marks the one that counts by itself.

    Example: signalbox --profile staging topic list
    """
    from signalbox.cli.connect import fail, show
    from signalbox.cli.shell.listing import Listing

    try:
        known, default = read_profiles()
    except ProfileError as error:
        fail(str(error), code=2)
    current = os.environ.get(PROFILE) or default
    listing = Listing("default", "name", "bootstrap server", "command config", title=str(profiles_file()))
    for row in known.values():
        listing.add("*" if row.name == current else "", row.name, row.bootstrap, row.command_config or "")
    show(listing)
