"""`signalbox store`: formats, copies, backs up and restores a cluster's metadata. The brokers' logs do not change."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from signalbox.cli import connect
from signalbox.cli.connect import fail, say, tell
from signalbox.cli.metadata_store.store_accept import accept_older_command
from signalbox.cli.metadata_store.store_format import format_

if TYPE_CHECKING:
    from signalbox.server.store.store_tools import CopyReport

T = TypeVar("T")
_SETTING = "sqlite:<file> or zookeeper:<host:port,...>[/chroot]"

From = Annotated[str, typer.Option("--from", help=_SETTING)]
To = Annotated[str, typer.Option("--to", help=f"Empty target store: {_SETTING}")]
Config = Annotated[Path | None, typer.Option("--config", help="A server.properties with zookeeper.ssl.* keys.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check only; write nothing.")]

app = typer.Typer(help="The metadata store: format, copy, back up, restore, accept.", no_args_is_help=True)
app.command("format")(format_)
app.command("accept-older")(accept_older_command)


@app.command("copy")
def copy(source: From, target: To, config: Config = None, dry_run: DryRun = False) -> None:
    """Copy the metadata of a stopped cluster to another store. Run it again after an interruption."""
    from signalbox.server.store import store_tools

    with _Bar() as bar:
        report = _run(store_tools.copy(source, target, _given(config), bar.show, dry_run))
    _tell_written(report, dry_run)
    if not dry_run:
        say(f"now set signalbox.metadata.store={target} for every broker and start them")


@app.command("backup")
def backup(
    source: From, file: Annotated[Path, typer.Argument(help="Output file; must not exist.")], config: Config = None
) -> None:
    """Back up a store, online or offline. The file may contain credentials: protect it like a password."""
    from signalbox.server.store import store_tools

    entries = _run(store_tools.back_up(source, file, _given(config)))
    tell({"file": str(file), "entries": entries}, f"{file}: {entries} entries")


@app.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `backup` wrote.", exists=True, dir_okay=False)],
    target: To,
    config: Config = None,
    dry_run: DryRun = False,
) -> None:
    """Restore a backup into an empty store."""
    from signalbox.server.store import store_tools

    try:
        content = file.read_bytes()
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}")
    with _Bar() as bar:
        report = _run(store_tools.restore(content, target, _given(config), bar.show, dry_run), file)
    _tell_written(report, dry_run)


def _tell_written(report: CopyReport, dry_run: bool) -> None:
    what = "would be written" if dry_run else "written, and compared entry by entry"
    tell(
        {"cluster_id": report.cluster_id, "entries": report.entries, "to_write": report.to_write, "dry_run": dry_run},
        f"cluster {report.cluster_id}: {report.entries} entries, {report.to_write} {what}",
    )


class _Bar:
    """Progress on standard error, so that a program can read standard output."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._progress = Progress(
            TextColumn("writing"),
            BarColumn(),
            MofNCompleteColumn(),
            console=connect.errors,
            transient=True,
            disable=not connect.errors.is_terminal,
        )
        self._task = self._progress.add_task("writing", total=None, visible=False)

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total, visible=True)


def _given(config: Path | None) -> dict[str, str]:
    if config is None:
        return {}
    from signalbox.configuration.config_file import ConfigFileError, read_config_file

    try:
        return dict(read_config_file(config).values)
    except ConfigFileError as error:
        fail(str(error))


def _run(work: Coroutine[Any, Any, T], backup_file: Path | None = None) -> T:
    import asyncio

    from signalbox.server.store import store_tools

    try:
        return asyncio.run(work)
    except store_tools.BadBackup as error:
        fail(f"{backup_file}: {error}")
    except FileExistsError as error:
        fail(f"{error.filename} exists already: a backup does not overwrite a file, choose another name")
    except store_tools.TOOL_ERRORS as error:
        fail(str(error))
