"""The request templates of one connection at one version of one API, for the fast path.

The key of a template is the constant bytes of its requests; its layout says where in a frame they are. Building a
template costs a full decode, so on a connection whose requests do not repeat this is tried less and less often. The
number of templates is limited: the oldest is evicted first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from signalbox.common.limits import MAX_REQUEST_TEMPLATES_PER_CONNECTION
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.security.principal import KafkaPrincipal

KEY_AT = 8  # API key, version and correlation id come first
_LONGEST_PAUSE = 1024

Layout = tuple[slice, ...]  # the parts of a frame that are compared


class KeyedTemplate(Protocol):
    @property
    def key(self) -> bytes: ...

    @property
    def layout(self) -> Layout: ...


Template = TypeVar("Template", bound=KeyedTemplate)

HasQuota = Callable[[str, KafkaPrincipal, str | None], bool]  # quota key, principal, client id


def no_client_has_quota(quota: str, principal: KafkaPrincipal, client_id: str | None) -> bool:
    """Default `HasQuota`, without client quotas. Clients with a quota use the generic path, which measures and
    throttles."""
    return False


def is_flexible(api_key: ApiKey, version: int) -> bool:
    """Whether lengths are varints and tagged fields follow (KIP-482)."""
    flexible_from = API_TABLE[api_key].flexible_from
    return flexible_from is not None and version >= flexible_from


class RequestTemplates(Generic[Template]):
    """Templates by key. A frame is compared once per layout, however many templates have it."""

    __slots__ = ("_layouts", "_pause", "_skip", "by_key")

    def __init__(self) -> None:
        self.by_key: dict[bytes, Template] = {}
        self._layouts: tuple[Layout, ...] = ()
        self._pause = self._skip = 0

    def find(self, frame: memoryview) -> Template | None:
        """The template whose constant bytes are those of `frame`."""
        for layout in self._layouts:
            # Produce has one part, Fetch without a session two: `tobytes` is the fastest for these.
            if len(layout) == 1:
                key = frame[layout[0]].tobytes()
            elif len(layout) == 2:
                first, last = layout
                key = frame[first].tobytes() + frame[last].tobytes()
            else:
                key = b"".join([frame[part] for part in layout])
            template = self.by_key.get(key)
            if template is not None and (template.layout is layout or template.layout == layout):
                return template
        return None

    def should_sample(self) -> bool:
        """Whether to try to build a template from a frame without one. The interval doubles with each failed try."""
        if self._skip:
            self._skip -= 1
            return False
        self._skip = self._pause = min(max(1, self._pause * 2), _LONGEST_PAUSE)
        return True

    def add(self, template: Template) -> None:
        """Store `template`; the oldest template is evicted when there are too many."""
        if len(self.by_key) < MAX_REQUEST_TEMPLATES_PER_CONNECTION:
            self._skip = self._pause = 0
        elif template.key not in self.by_key:
            del self.by_key[next(iter(self.by_key))]
        self.by_key[template.key] = template
        self._update_layouts()

    def forget(self, template: Template) -> None:
        """Remove a template that is no longer valid; a new one may be built from the next frame of its kind."""
        self.by_key.pop(template.key, None)
        self._update_layouts()
        self._skip = self._pause = 0

    def _update_layouts(self) -> None:
        layouts: list[Layout] = []
        for template in self.by_key.values():
            if template.layout not in layouts:
                layouts.append(template.layout)
        self._layouts = tuple(layouts)
