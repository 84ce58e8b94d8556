"""State that a pipeline stores beside its table: `<warehouse>/.signalbox/<name>/`.

`state.json` holds how the table was begun (topic, profile, schema, generation), `checkpoint/` is Spark's, `lock` is
held by the one process that runs the pipeline (the kernel releases it when that process ends in any way).
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from signalbox.common.durable_file import replace_durably
from signalbox.pipeline.checkpoint_files import committed_batches, planned_batches
from signalbox.pipeline.event_time.rule import EventTimeRule
from signalbox.pipeline.options import Profile

STATE_VERSION = 1
STATE_FOLDER = ".signalbox"


class StateError(RuntimeError):
    """The table and its stored state do not belong together, or another process holds the lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """How a table was begun. `begin`: the first offset of each partition, as {"topic:partition": offset}; partitions
    that were added later begin at 0. `mode`: append, or upsert by the record's key. `event_time`: the rule about late
    and repeated rows. `generation` distinguishes runs with different checkpoints on one table."""

    topic: str
    topic_id: str
    profile: Profile
    begin: dict[str, int]
    schema: str | None = None
    mode: str = "append"
    event_time: EventTimeRule | None = None
    generation: int = 1
    version: int = STATE_VERSION


class StateFolder:
    """The folder of one pipeline."""

    def __init__(self, warehouse: Path, name: str) -> None:
        self.name = name
        self.path = warehouse / STATE_FOLDER / name
        self.checkpoint = self.path / "checkpoint"

    def read(self) -> TableState | None:
        """The stored state; None before the first run."""
        path = self.path / "state.json"
        if not path.is_file():
            return None
        content = read_state_file(path)
        if content.get("version") != STATE_VERSION:
            raise StateError(f"{path} has version {content.get('version')}, this program knows {STATE_VERSION}")
        try:
            rule = EventTimeRule.of_json(content.get("event_time"))
            return TableState(**{**content, "profile": Profile(content["profile"]), "event_time": rule})
        except (KeyError, TypeError, ValueError) as error:
            raise _corrupt(path, error) from error

    def write(self, state: TableState) -> None:
        """Stores the state, durably."""
        self.path.mkdir(parents=True, exist_ok=True)
        replace_durably(self.path / "state.json", json.dumps(asdict(state), indent=1) + "\n")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the pipeline's lock. Raises StateError naming the process that holds it, or the folder that is not
        writable."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            opened = (self.path / "lock").open("a+")
        except OSError as error:
            raise StateError(f"the warehouse cannot be written: {error.filename}: {error.strerror}") from error
        with opened as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                owner = lock.read().strip() or "another process"
                raise StateError(f"pipeline {self.name} is being run by {owner}") from None
            lock.truncate(0)
            lock.write(f"process {os.getpid()}\n")
            lock.flush()
            yield

    def reject_mismatch(self, state: TableState, requested: TableState, last_batch: int | None) -> None:
        """Raises StateError if continuing with the requested options would silently lose, repeat or mix rows.

        `state` is the stored state, `last_batch` the newest batch of this pipeline in the table's own log.
        """
        if state.topic != requested.topic:
            raise StateError(
                f"table {self.name} was begun from topic {state.topic}, not {requested.topic}: choose another name"
            )
        if state.topic_id != requested.topic_id:
            raise StateError(
                f"topic {state.topic} was deleted and created again since table {self.name} was begun (its id was "
                f"{state.topic_id}, is {requested.topic_id}): begin a new table for the new topic"
            )
        schema = requested.schema
        if state.schema is None and schema not in (None, "infer"):
            raise StateError(
                f"table {self.name} was begun without declared fields, asked for is [{schema}]: "
                "choose another name for the table"
            )
        if requested.mode == "upsert" and state.mode != requested.mode:
            raise StateError(
                f"table {self.name} was begun with mode {state.mode}, not {requested.mode}: choose another name"
            )
        self._reject_other_rule(state.event_time, requested.event_time)
        self.reject_other_batches(self.checkpoint, last_batch)

    def reject_other_batches(self, checkpoint: Path, last_batch: int | None) -> None:
        """Raises StateError if the table and a checkpoint of the pipeline are from different times: the next batches
        would take the numbers of others that the table holds, or go on behind some that it lacks.

        `last_batch`: the newest batch of the checkpoint in the table's own log. Each batch leaves its mark there, an
        empty one too, before Spark commits it in the checkpoint and plans the next. So the table holds the newest
        planned batch or the one before it, and the newest committed one.
        """
        planned, committed = planned_batches(checkpoint), committed_batches(checkpoint)
        if last_batch is not None and not planned:
            raise StateError(
                f"table {self.name} holds batches up to {last_batch} but their checkpoint {checkpoint} is gone: "
                "put it back, remove the table too, or choose another name"
            )
        needed = max([*committed[-1:], *(batch - 1 for batch in planned[-1:])], default=-1)
        if last_batch is None and needed >= 0:
            raise StateError(
                f"the checkpoint {checkpoint} has batches up to {needed} but table {self.name} "
                "holds none of them: put the table back, or remove the checkpoint too"
            )
        remedy = (
            f"Restore the table and {self.path} from backups of the same time, or remove both to read the topic from "
            "its beginning again, or choose another name"
        )
        if last_batch is not None and last_batch > planned[-1]:
            raise StateError(
                f"table {self.name} holds batches up to {last_batch} but its checkpoint {checkpoint} is older, it has "
                f"batches up to {planned[-1]}: the records of the next batches would be lost. {remedy}"
            )
        if last_batch is not None and last_batch < needed:
            raise StateError(
                f"the checkpoint {checkpoint} has batches up to {needed} but table {self.name} is older, it holds "
                f"batches up to {last_batch}: the records of those in between would be lost. {remedy}"
            )

    def _reject_other_rule(self, rule: EventTimeRule | None, requested: EventTimeRule | None) -> None:
        if requested is None or (rule is not None and rule.fits(requested)):
            return
        raise StateError(
            f"table {self.name} was begun with {rule.text if rule else 'no watermark'}, not {requested.text}: "
            "leave out these options, or choose another name"
        )


def read_state_file(path: Path) -> dict[str, Any]:
    """The JSON object in a file that a pipeline wrote beside its table. StateError if the file is corrupt."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _corrupt(path, error) from error
    if not isinstance(content, dict):
        raise _corrupt(path, "it has no JSON object")
    return content


def _corrupt(path: Path, problem: object) -> StateError:
    return StateError(
        f"{path} cannot be read: {problem}. Restore the warehouse from a backup, or remove the table and {path.parent} "
        "to read the topic from its beginning again"
    )


def scratch_directory(warehouse: Path) -> Path:
    """A folder for this process's Spark files; folders of dead processes are removed."""
    root = warehouse / STATE_FOLDER / "scratch"
    if root.is_dir():
        for leftover in root.iterdir():
            if leftover.name.isdigit() and not Path(f"/proc/{leftover.name}").exists():
                shutil.rmtree(leftover, ignore_errors=True)
    scratch = root / str(os.getpid())
    scratch.mkdir(parents=True, exist_ok=True)
    return scratch.resolve()
