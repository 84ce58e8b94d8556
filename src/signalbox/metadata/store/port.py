"""The metadata store as a port: a tree of small entries, sessions, atomic commits, watches (SPEC M1).

Rules every adapter obeys, and the contract suite (`tests/metadata/store/test_port.py`) shows:

* A path is `/a/b/c`. Its parent must exist and must not belong to a session. `/` always exists. Data is UTF-8 text
  without NUL as bytes, or None; at most `MAX_ENTRY_BYTES`.
* A commit applies its operations in order, all or nothing. `fence` is checked first: an entry whose version must
  still be the given one (the controller epoch). A commit of a participant whose session was ended is refused whole.
  A commit without operations checks session and fence.
* `version` starts at 0 and grows by one with each write. `creation_id` grows with every commit of the store, so an
  entry that was deleted and made again has a larger one (a broker's epoch is the creation id of its registration).
* Entries of a session vanish with it. A session ends when its owner closes, dies, or is silent for the timeout.
* A watch fires after a visible change of its entry (made, written, deleted) or of the set of its children. It says
  that something changed, not what; changes may be merged into one call; a call too many is possible, one too few
  is not. It stays until cancelled, over sessions and reconnects. Watch first, then read: a change is either in what
  that read gives, or heard.
* Reads see every commit that was answered before they were asked for.
* A commit that is refused has changed nothing: CommitRefused, CommitTooLarge, StoreFull. What became of one that ends
  in StoreUnavailable nobody knows until somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

# The smallest limit among the adapters' engines: ZooKeeper takes requests of 1,048,575 bytes, path and ACL included.
MAX_ENTRY_BYTES = 1_000_000
_FREE_PATH_BYTES = 1_024  # what a path has beyond this counts as data

ROOT = "/"


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored entry. `session_id` is 0 for an entry that lasts."""

    data: bytes | None
    version: int
    creation_id: int
    created_ms: int
    session_id: int = 0


@dataclass(frozen=True, slots=True)
class Create:
    """Make an entry. `of_session`: it goes when this participant's session goes. `numbered`: ten digits that grow
    with every numbered entry of the parent are appended to the path."""

    path: str
    data: bytes | None = None
    of_session: bool = False
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """Replace an entry's data; with `expected_version` only if that is its version."""

    path: str
    data: bytes | None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove an entry without children; with `expected_version` only if that is its version."""

    path: str
    expected_version: int | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Change nothing, but let the commit fail unless the entry has this version."""

    path: str
    expected_version: int


Operation = Create | Write | Delete | Check


@dataclass(frozen=True, slots=True)
class Fence:
    """The entry (and its version) by which a writer proves that nobody has taken over."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one operation left behind: the full path (with a numbered entry's digits), version and creation id.

    Of a Delete or Check only the path means something, and the creation id is -1 where the engine cannot tell (an entry
    that was made and at once deleted by another, or a numbered one)."""

    path: str
    version: int
    creation_id: int


class StoreError(Exception):
    """Whatever goes wrong at the store."""


class CommitRefused(StoreError):
    """A condition of the commit did not hold; nothing was changed. `path` is the entry, where known."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


class KeyExists(CommitRefused):
    """Create of an entry that is there already."""


class KeyMissing(CommitRefused):
    """Write, delete or check of an entry that is not there, or create below a parent that is not."""


class KeyHasChildren(CommitRefused):
    """Delete of an entry with children."""


class ParentOfSession(CommitRefused):
    """Create below an entry that belongs to a session."""


class VersionConflict(CommitRefused):
    """The entry's version is not the expected one."""


class FencedOut(CommitRefused):
    """The fence has moved: another writer took over. Nothing of this commit, and of no later one, is applied."""


class BadOperation(ValueError):
    """A path or data that no engine has to hold; nothing was changed."""


class CommitTooLarge(StoreError):
    """The commit is more than the engine takes at once; nothing was changed. See `max_commit_bytes`."""


class StoreFull(StoreError):
    """The engine has no room for the commit; it was rolled back and nothing of it is stored, for certain. Session and
    fence held when it was tried. A smaller one may fit, and the same one when there is room. The text is for whoever
    asked for the change: what is full, and what to do."""


class SessionLost(StoreError):
    """The participant's session has ended; what it owned is gone. A new one can be opened."""


class StoreUnavailable(StoreError):
    """The store did not answer, so the fate of the commit is unknown."""


class StoreDamaged(StoreError):
    """The store's data cannot be trusted (torn, foreign, of another version)."""


class MetadataStore(Protocol):
    """One participant's door to the store. Callbacks run on the participant's event loop."""

    # What a commit may hold at most, by `size_bytes` of its operations.
    max_commit_bytes: int

    async def open_session(self) -> int:
        """Join, or join again after a loss; the new session's id. Entries of this participant's old one are gone."""
        ...

    def on_session_lost(self, callback: Callable[[], None]) -> None:
        """Call `callback` once for each session that ends without `close`."""
        ...

    async def read(self, path: str) -> Entry | None:
        """The entry, or None."""
        ...

    async def children(self, path: str) -> list[str]:
        """Names (without the path) of the entries directly below, sorted; empty when there is no such entry."""
        ...

    async def read_tree(self, path: str) -> dict[str, Entry]:
        """The entry and everything below it, by full path."""
        ...

    async def commit(self, operations: Sequence[Operation], fence: Fence | None = None) -> list[Outcome]:
        """Apply all operations or none; an outcome per operation. CommitRefused, SessionLost, StoreFull,
        StoreUnavailable."""
        ...

    def watch(self, path: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after changes of the entry or of its children's names, until the returned function is
        called. An entry that does not exist can be watched too."""
        ...

    async def close(self) -> None:
        """End the session (its entries vanish at once) and let everything go."""
        ...


def size_bytes(operation: Operation) -> int:
    """What an operation counts for against `max_commit_bytes`: its path and data, and what engines put around them."""
    data = getattr(operation, "data", None)
    return 64 + len(operation.path) + (len(data) if data is not None else 0)


def in_commits(operations: Iterable[Operation], limit_bytes: int, most: int | None = None) -> Iterator[list[Operation]]:
    """The operations in order, in commits of up to `limit_bytes` (and `most` operations); none for none."""
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


def refuse_bad_operations(operations: Iterable[Operation]) -> None:
    """BadOperation for paths and data that not every engine behind the port could hold."""
    for operation in operations:
        refuse_bad_operation(operation)


def refuse_bad_operation(operation: Operation) -> None:
    """`refuse_bad_operations` for one."""
    path = operation.path
    if not path.startswith("/") or path == ROOT or "//" in path or path.endswith("/") or "\0" in path:
        raise BadOperation(f"{path!r} is not a path: expected /name/name")
    data = getattr(operation, "data", None) or b""
    size_bytes = len(path.encode()) + len(data)
    if len(data) > MAX_ENTRY_BYTES or size_bytes > MAX_ENTRY_BYTES + _FREE_PATH_BYTES:
        raise BadOperation(f"{path[:100]}: {size_bytes} bytes exceed the {MAX_ENTRY_BYTES} an entry can hold")
    if b"\0" in data:
        raise BadOperation(f"{path}: an entry holds text, and this data contains a NUL")
