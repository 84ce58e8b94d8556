"""The page docs/command-line.md: all commands with their options, from their declarations.

`python -m signalbox.cli.shell.command_page` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from signalbox.cli.main import COMMANDS
from signalbox.cli.shell.lazy_commands import built
from signalbox.cli.shell.shared_options import declared_options

PAGE = Path("docs/command-line.md")

_INTRODUCTION = """# Command line

Written by `python -m signalbox.cli.shell.command_page` from the declarations of the commands.

`signalbox COMMAND -h` shows the help of a command. Options that all commands share may stand before or after a
sub-command: `signalbox -b kafka1:9092 topic list` and `signalbox topic list -b kafka1:9092` are the same.

| option | meaning |
|---|---|
{shared}

Commands that start or check brokers, or work on files, do not have `-b`, `--command-config` and `--profile`; an
option that a command does not have is an error, also before its name. A
result goes to standard output, as a table in a terminal or a pipe, or as one JSON document with `--json`; `--once`
of `planes` and `forwarding` prints tab-separated lines, whose columns stay, for scripts. Notes
and errors go to standard error. Exit codes: 0 done, 1 rejected or failed, 2 the command line or a file is wrong,
130 interrupted.

A command whose client cannot connect to any broker ends within a second with the likely reason: a wrong port,
the listener of another security protocol, a certificate that is not trusted. A host that does not answer at all
costs `socket.connection.setup.timeout.ms`, 3 seconds unless the file of `--command-config` sets it. Other
requests end after `default.api.timeout.ms`, 10 seconds here.

`source <(signalbox completion bash)` completes commands and options; `zsh` and `fish` have scripts too.

The commands work with every Kafka cluster, except those that read what only Signalbox has: `audit`, `planes`,
`forwarding`, `store`, `start`, `check`, `up`, `drill`.

## Profiles

A profile names a cluster: its address, and a file of client properties if it needs a login. They are in
`~/.config/signalbox/profiles.toml` (`XDG_CONFIG_HOME` counts), or in the file that `SIGNALBOX_PROFILES` names:

```toml
default = "local"

[local]
bootstrap-server = "127.0.0.1:19092"

[staging]
bootstrap-server = "kafka1.staging.example.org:9093,kafka2.staging.example.org:9093"
command-config = "staging.properties"
```

```sh
signalbox profiles                          # lists them
signalbox --profile staging topic list      # or: export SIGNALBOX_PROFILE=staging
```

`command-config` is relative to the file of profiles. `--profile` counts before the environment, `-b` and
`--command-config` before it. The default profile counts only if neither the command line nor the environment names
an address or a file, so that the login of one cluster never goes to another. `pipeline` has a `--profile` of its
own, with another meaning: there the profile stands before the command, `signalbox --profile staging pipeline ...`.
`doctor` without a BOOTSTRAP examines the cluster that the other commands use.

## Records

`produce` makes a record of each line. It waits until the in-sync replicas have all records (acks=all), without
duplicates.

```
seq 100 | signalbox produce -t numbers
signalbox produce -t users -K : -Z -H source=import users    # key:value; an empty value is a tombstone
```

`consume` prints records as a format says, or as JSON objects, one a line:

```
signalbox consume -t numbers -e                                  # all, then exit at the end
signalbox consume -t numbers -o -10 -e -f '%t %p %o %k=%s %h %T\\n'
signalbox consume -t numbers -o @15m --json                      # from 15 minutes ago on, and new ones
signalbox consume -t numbers -G readers -c 50                    # as a member of a group, which commits
```

The fields of a format are those of kcat: `%t` topic, `%p` partition, `%o` offset, `%k` key, `%s` value, `%h`
headers, `%T` timestamp in milliseconds, `%K` and `%S` sizes of key and value (-1 for null). In JSON a key,
value or header that is not UTF-8 is an object with its `base64`.

## Commands
"""


def command_page() -> str:
    """The text of the page."""
    rows = [f"| {_names(option)} | {_cell(option.help)} |" for option in declared_options()]
    lines = [_INTRODUCTION.format(shared="\n".join(rows))]
    for row in COMMANDS:
        if not row.hidden:
            lines += _described(f"signalbox {row.name}", built(row.target()))
    return "\n".join(lines).rstrip() + "\n"


def _described(name: str, command: Any) -> Iterator[str]:
    inner = getattr(command, "commands", {})
    if not inner:
        yield from _one(name, command)
    for inner_name, inner_command in inner.items():
        if not inner_command.hidden:
            yield from _described(f"{name} {inner_name}", inner_command)


def _one(name: str, command: Any) -> Iterator[str]:
    parameters = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    usage = [name] + ["[OPTIONS]"] * any(parameter.param_type_name == "option" for parameter in parameters)
    usage += [parameter._usage_display_name() for parameter in parameters if parameter.param_type_name == "argument"]
    yield f"### `{' '.join(usage)}`\n"
    help_text, _, example = (command.help or "").partition("Example: ")
    yield " ".join(help_text.split()) + "\n"
    example = (command.epilog or "").removeprefix("Example: ") or example
    if example:
        yield f"```\n{' '.join(example.split())}\n```\n"
    rows = [f"| {_names(parameter)} | {_cell(parameter.help or '')} |" for parameter in parameters if parameter.help]
    if rows:
        yield "| parameter | meaning |\n|---|---|"
        yield "\n".join(rows) + "\n"


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar}`"
    off = parameter.secondary_opts if parameter.default is True else []  # of no use where it is the default
    names = ", ".join(sorted([*parameter.opts, *off], key=len))
    placeholder = "" if parameter.is_flag or parameter.metavar is None else f" {parameter.metavar}"
    return f"`{names}{placeholder}`".replace("|", r"\|")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("<", r"\<")


if __name__ == "__main__":
    PAGE.write_text(command_page(), encoding="utf-8")
