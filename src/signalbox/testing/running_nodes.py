"""Nodes of a folder that run, by the locks of their files; and what is reported when a cluster cannot start because of
them: which, as which processes, and what stops them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from signalbox.testing.locked_file import is_locked, lock_holders


def running_nodes(nodes: Mapping[str, Sequence[Path]]) -> dict[str, Sequence[Path]]:
    """Those of which a file is locked. `nodes` has the locked files of each node by its name, such as `broker 1`."""
    return {name: files for name, files in nodes.items() if any(map(is_locked, files))}


def already_run(folder: Path, nodes: Mapping[str, Sequence[Path]]) -> str:
    """One sentence about these nodes."""
    ids: dict[str, list[str]] = {}
    for name in nodes:
        role, _, number = name.partition(" ")
        ids.setdefault(role, []).append(number)
    names = " and ".join(f"{role}{'s' if len(of_role) > 1 else ''} {_listed(of_role)}" for role, of_role in ids.items())
    runs, them = ("runs", "it") if len(nodes) == 1 else ("run", "them")
    stop = f"`signalbox down --data {shlex.quote(str(folder))}` stops {them}"
    return f"{names} of {folder} already {runs}{_processes(nodes)}: {stop}, or take another folder"


def _processes(nodes: Mapping[str, Sequence[Path]]) -> str:
    holders = lock_holders(*(file for files in nodes.values() for file in files))
    for holder in holders:
        holder.close()
    pids = [str(holder.pid) for holder in holders]
    return f" ({'process' if len(pids) == 1 else 'processes'} {_listed(pids)})" if pids else ""


def _listed(texts: Sequence[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last
