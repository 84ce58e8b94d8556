"""Records which functions of `src/signalbox` are called for one request.

Every thread of the cluster is profiled. A call counts if, going outwards through its callers, a function that the walk
*follows* comes before one that it *leaves*: so timers, other connections and replication of other brokers stay out.
A function is written `network/connection.py Connection.on_frame`; with `@PRODUCE` it counts for a Produce request only.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import signalbox
from signalbox.protocol.api_table import ApiKey

SOURCE = Path(signalbox.__file__).parent
_ON_FRAME = "network/connection.py Connection.on_frame"


class Recorder:
    """Profiles all threads that start inside of `installed`. Not thread-safe beyond appends to a list."""

    def __init__(self) -> None:
        self._names: dict[CodeType, str] = {}
        self._follows: Collection[str] = ()
        self._leaves: Collection[str] = ()
        self._calls: list[str] | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Threads that start now are profiled for all their life."""
        before = threading.getprofile()
        threading.setprofile(self._profile)
        try:
            yield
        finally:
            threading.setprofile(before)

    @contextmanager
    def recording(self, follows: Collection[str], leaves: Collection[str]) -> Iterator[list[str]]:
        """The functions called while the block runs, each once, in the order of their first calls; complete after the
        block."""
        calls: list[str] = []
        first_calls: list[str] = []
        self._follows, self._leaves, self._calls = follows, leaves, calls
        try:
            yield first_calls
        finally:
            self._calls = None
            first_calls.extend(dict.fromkeys(calls))

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        calls = self._calls
        if calls is None or event != "call":
            return
        name = self._name(frame.f_code)
        if name and self._is_followed(frame):
            calls.append(name)

    def _name(self, code: CodeType) -> str:
        """`file function`, or "" if the code is not a file's of the source."""
        name = self._names.get(code)
        if name is None:
            path = Path(code.co_filename)
            is_source = path.is_relative_to(SOURCE)
            name = f"{path.relative_to(SOURCE).as_posix()} {code.co_qualname}" if is_source else ""
            self._names[code] = name
        return name

    def _is_followed(self, frame: FrameType) -> bool:
        caller: FrameType | None = frame
        while caller is not None:
            name = self._name(caller.f_code)
            if name == _ON_FRAME and f"{name}@{_api_of(caller.f_locals['frame'])}" in self._follows:
                return True
            if name in self._leaves:
                return False
            if name in self._follows:
                return True
            caller = caller.f_back
        return False


def _api_of(frame: memoryview) -> str:
    """The name of the API in the header of a request."""
    return ApiKey(int.from_bytes(frame[:2])).name
