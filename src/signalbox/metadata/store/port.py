"""The metadata store as a port: a tree of small entries, sessions, atomic commits, watches (SPEC M1).

Rules that every adapter follows, and that the contract suite (`tests/metadata/store/test_port.py`) checks:

* A path is `/a/b/c`. Its parent must exist and must not belong to a session. `/` always exists. Data is UTF-8 text
  without NUL as bytes, or None; at most `MAX_ENTRY_BYTES`.
* A commit applies its operations in order, all or nothing. `fence` is checked first: an entry whose version must
  still be the given one (the controller epoch). A commit of a participant whose session has ended is rejected as a
  whole. A commit without operations checks session and fence.
* `version` starts at 0 and grows by one with each write. `creation_id` grows with every commit of the store, so an
  entry that was deleted and created again has a larger one (a broker's epoch is the creation id of its registration).
* Entries of a session are deleted with it. A session ends when its owner closes it, or exits, or sends no heartbeat
  within the timeout.
* A watch fires after a visible change of its entry (created, written, deleted) or of the set of its children. It shows
  that something changed, not what; several changes may cause one call; a needless call is possible, a missing call is
  not. It stays until cancelled, over sessions and reconnects. Watch first, then read: a change is either in the result
  of that read, or the watch fires.
* A read sees every commit that returned before the read began.
* A rejected commit has changed nothing: CommitRejected, CommitTooLarge, StoreFull. After StoreUnavailable it is unknown
  whether the commit was applied, until the store is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

# The smallest limit of the adapters' engines: ZooKeeper accepts requests of 1,048,575 bytes, path and ACL included.
MAX_ENTRY_BYTES = 1_000_000
_FREE_PATH_BYTES = 1_024  # bytes of a path beyond these count as data

ROOT = "/"


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored entry. `session_id` is 0 for an entry that belongs to no session."""

    data: bytes | None
    version: int
    creation_id: int
    created_ms: int
    session_id: int = 0


@dataclass(frozen=True, slots=True)
class Create:
    """Create an entry. `of_session`: it is deleted with this participant's session. `numbered`: ten digits that grow
    with every numbered entry of the parent are appended to the path."""

    path: str
    data: bytes | None = None
    of_session: bool = False
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """Replace an entry's data; with `expected_version` only if the entry has that version."""

    path: str
    data: bytes | None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an entry without children; with `expected_version` only if the entry has that version."""

    path: str
    expected_version: int | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Change nothing, but reject the commit unless the entry has this version."""

    path: str
    expected_version: int


Operation = Create | Write | Delete | Check


@dataclass(frozen=True, slots=True)
class Fence:
    """The entry and its version by which a writer proves that no other writer has replaced it."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class OperationResult:
    """The result of one operation: the full path (with a numbered entry's digits), version and creation id.

    For a Delete or Check only the path has a meaning. The creation id is -1 where the engine does not return it (an
    entry that another participant deleted at once, or a numbered one)."""

    path: str
    version: int
    creation_id: int


class StoreError(Exception):
    """Any error of the store."""


class CommitRejected(StoreError):
    """A condition of the commit was not met; nothing was changed. `path` is the entry, if known."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


class KeyExists(CommitRejected):
    """Create of an entry that exists already."""


class KeyMissing(CommitRejected):
    """Write, delete or check of an entry that does not exist, or create below a parent that does not exist."""


class KeyHasChildren(CommitRejected):
    """Delete of an entry with children."""


class ParentOfSession(CommitRejected):
    """Create below an entry that belongs to a session."""


class VersionConflict(CommitRejected):
    """The entry's version is not the expected one."""


class FencedOut(CommitRejected):
    """The fence has another version: another writer took over. Neither this commit nor a later one with this fence is
    applied."""


class BadOperation(ValueError):
    """A path or data that an engine need not support; nothing was changed."""


class CommitTooLarge(StoreError):
    """The commit is larger than the engine accepts; nothing was changed. See `max_commit_bytes`."""


class StoreFull(StoreError):
    """The engine has no space for the commit; it was rolled back, and certainly nothing of it is stored. Session and
    fence were valid at that time. A smaller commit may fit, and the same one when there is space again. The text is for
    the client that requested the change: what is full, and the remedy."""


class SessionLost(StoreError):
    """The participant's session has ended and its entries are deleted. A new session can be opened."""


class StoreUnavailable(StoreError):
    """The store did not respond: it is unknown whether the commit was applied."""


class StoreCorrupted(StoreError):
    """The store's data cannot be used (corrupt, of another program, of another version)."""


class MetadataStore(Protocol):
    """One participant's access to the store. Callbacks run on the participant's event loop."""

    # The largest commit, as the sum of `size_bytes` of its operations.
    max_commit_bytes: int

    async def open_session(self) -> int:
        """Open a session, also after a lost one; returns its id. The entries of the old session are deleted."""
        ...

    @property
    def has_session(self) -> bool:
        """Whether the opened session lives, as far as this participant can know: False too when the store could not be
        reached for the session timeout, because nothing is then known of the session."""
        ...

    def on_session_lost(self, callback: Callable[[], None]) -> None:
        """Call `callback` once for each session that ends without `close`."""
        ...

    async def read(self, path: str) -> Entry | None:
        """The entry; None if it does not exist."""
        ...

    async def children(self, path: str) -> list[str]:
        """Names (without the path) of the entries directly below, sorted; empty when there is no such entry."""
        ...

    async def read_tree(self, path: str) -> dict[str, Entry]:
        """The entry and everything below it, by full path."""
        ...

    async def commit(self, operations: Sequence[Operation], fence: Fence | None = None) -> list[OperationResult]:
        """Apply all operations or none; returns one result per operation. CommitRejected, SessionLost, StoreFull,
        StoreUnavailable."""
        ...

    def watch(self, path: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after changes of the entry or of its children's names, until the returned function is
        called. An entry that does not exist can be watched too."""
        ...

    async def close(self) -> None:
        """End the session (its entries are deleted at once) and release all resources."""
        ...


def size_bytes(operation: Operation) -> int:
    """The size of an operation in `max_commit_bytes`: its path and data, and an allowance for the engine's overhead."""
    data = getattr(operation, "data", None)
    return 64 + len(operation.path) + (len(data) if data is not None else 0)


def in_commits(operations: Iterable[Operation], limit_bytes: int, most: int | None = None) -> Iterator[list[Operation]]:
    """The operations in order, split into commits of up to `limit_bytes` and `most` operations; none if there are no
    operations. An operation that is larger is a commit of its own."""
    part: list[Operation] = []
    left_bytes = limit_bytes
    for operation in operations:
        needed_bytes = size_bytes(operation)
        if part and (needed_bytes > left_bytes or len(part) == most):
            yield part
            part, left_bytes = [], limit_bytes
        part.append(operation)
        left_bytes -= needed_bytes
    if part:
        yield part


def parent_of(path: str) -> str:
    """`/a/b` of `/a/b/c`, `/` of `/a`."""
    return path.rpartition("/")[0] or ROOT


def reject_bad_operations(operations: Iterable[Operation]) -> None:
    """BadOperation for paths and data that not every engine supports."""
    for operation in operations:
        reject_bad_operation(operation)


def reject_bad_operation(operation: Operation) -> None:
    """`reject_bad_operations` for one operation."""
    path = operation.path
    if not path.startswith("/") or path == ROOT or "//" in path or path.endswith("/") or "\0" in path:
        raise BadOperation(f"{path!r} is not a path: expected /name/name")
    data = getattr(operation, "data", None) or b""
    size_bytes = len(path.encode()) + len(data)
    if len(data) > MAX_ENTRY_BYTES or size_bytes > MAX_ENTRY_BYTES + _FREE_PATH_BYTES:
        raise BadOperation(f"{path[:100]}: {size_bytes} bytes exceed the {MAX_ENTRY_BYTES} an entry can hold")
    if b"\0" in data:
        raise BadOperation(f"{path}: an entry holds text, and this data contains a NUL")
