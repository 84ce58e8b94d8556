"""JoinGroup (11), Heartbeat (12), LeaveGroup (13), SyncGroup (14): requests of a member to its coordinator.
Versions 0-9, 0-4, 0-5, 0-5.

All four need READ on the group in `group_id`; the group coordinator handles them. Responses that become complete for
many members at once are paced (`ResponsePacer`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import require_group
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.scheduling.task_scheduler import TaskQueue, TaskScheduler
from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.group.classic.member import ClientContext
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

CoordinatorCall = Callable[[Any, ClientContext], Promise[Any]]


def client_context(request: ApiRequest) -> ClientContext:
    """Client id, client address and API version of a request, for the coordinator."""
    header = request.header
    return ClientContext(header.client_id or "", f"/{request.context.client_address}", header.api_version)


class ResponsePacer:
    """Completes promises in the order in which their responses became complete. One per broker.

    When a group of two hundred members has rebalanced, two hundred responses are complete at once. They are encoded and
    sent by one cooperative task, so that other requests do not wait for all of them."""

    def __init__(self, scheduler: TaskScheduler) -> None:
        self._completed = TaskQueue(scheduler)

    def of(self, response: Promise[Any]) -> Promise[Any]:
        """Promise with the result of `response`, completed in turn: never in the stack of the coordinator, which may
        be in the middle of a rebalance."""
        paced: Promise[Any] = Promise()
        response.when_done(lambda: self._enqueue(paced, response))
        return paced

    def _enqueue(self, paced: Promise[Any], response: Promise[Any]) -> None:
        def complete() -> None:
            if response.error is None:
                paced.complete(response.result())
            else:
                paced.fail(response.error)
            yield_if_due()

        asyncio.get_running_loop().call_soon(self._completed.add, complete)


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
