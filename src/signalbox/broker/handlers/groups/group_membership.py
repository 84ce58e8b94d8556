"""JoinGroup (11), Heartbeat (12), LeaveGroup (13), SyncGroup (14): requests of a member to its coordinator.
Versions 0-9, 0-4, 0-5, 0-5.

All four need READ on the group in `group_id`; the group coordinator handles them. Responses that become complete for
many members at once are paced (`broker/response_pacer.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import require_group
from signalbox.broker.response_pacer import ResponsePacer
from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.group.client_context import ClientContext
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

CoordinatorCall = Callable[[Any, ClientContext], Promise[Any]]


def client_context(request: ApiRequest) -> ClientContext:
    """Client id, client address and API version of a request, for the coordinator."""
    header = request.header
    return ClientContext(header.client_id or "", f"/{request.context.client_address}", header.api_version)


class GroupMembershipHandler:
    """The handler of one of the four APIs; `call` is the coordinator's method."""

    def __init__(self, call: CoordinatorCall, authorizer: Authorizer, pacer: ResponsePacer) -> None:
        self._call = call
        self._authorizer = authorizer
        self._pacer = pacer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_group(self._authorizer, request.context, AclOperation.READ, request.body.group_id)
        response = self._call(request.body, client_context(request))
        return response if response.is_done else self._pacer.of(response)
