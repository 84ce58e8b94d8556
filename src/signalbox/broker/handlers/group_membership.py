"""JoinGroup (11), Heartbeat (12), LeaveGroup (13), SyncGroup (14): a member speaks to its coordinator.
Versions 0-9, 0-4, 0-5, 0-5.

All four need READ on the group and name it in `group_id`; what the group makes of it is the coordinator's. What many
members wait for together is answered one by one (`broker/paced_answers.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer
from signalbox.broker.authorization import require_group
from signalbox.broker.paced_answers import PacedAnswers
from signalbox.coordinator.group.client_context import ClientContext
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

CoordinatorCall = Callable[[Any, ClientContext], Any]


def client_context(request: ApiRequest) -> ClientContext:
    """Who asks, as the coordinator wants it."""
    header = request.header
    return ClientContext(header.client_id or "", f"/{request.context.client_address}", header.api_version)


class GroupMembershipHandler:
    """One of the four; `call` is the coordinator's method."""

    def __init__(self, call: CoordinatorCall, authorizer: Authorizer, paced: PacedAnswers) -> None:
        self._call = call
        self._authorizer = authorizer
        self._paced = paced

    def __call__(self, request: ApiRequest) -> Answer:
        require_group(self._authorizer, request.context, AclOperation.READ, request.body.group_id)
        answer = self._call(request.body, client_context(request))
        if isinstance(answer, asyncio.Future):
            return self._paced.of(request, answer)
        at_once: FinalAnswer = answer
        return at_once
