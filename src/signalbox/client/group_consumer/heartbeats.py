"""Keeps a membership alive between two polls: heartbeats, and `max.poll.interval.ms` (KIP-62).

Heartbeats pause while the coordinator holds back a JoinGroup or SyncGroup response, which itself keeps the session.
Else they go on, polled or not: between the two while the leader assigns, and after a rebalance. An application that
does not poll in time loses its membership, because its partitions would be stuck: the member leaves, and joins again
with the next `poll`. After a final error there are no heartbeats until `poll` has raised it, and then again, because an
ACL or a credential may be restored; only a fenced member never comes back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from signalbox.client.failures import ClientFailure
from signalbox.client.group_consumer.group_requests import GroupRequests
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.group_consumer.membership import Membership, Reaction, Step, reaction_to
from signalbox.client.rejections import MemberFenced, RequestRejected, is_final, rejection_of
from signalbox.protocol.error_table import Error

log = logging.getLogger("signalbox.client")


class Heartbeats:
    """`changed` is called when `poll` has something to do: a rebalance, lost partitions, a final `failure`."""

    def __init__(
        self,
        requests: GroupRequests,
        membership: Membership,
        settings: GroupConsumerSettings,
        changed: Callable[[], None],
    ) -> None:
        self._requests = requests
        self._membership = membership
        self._settings = settings
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._polled_at = self._loop.time()
        self._task: asyncio.Task[None] | None = None
        self.polling = False
        self.failure: ClientFailure | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = self._loop.create_task(self._run(), name="group heartbeats")

    async def stop(self) -> None:
        if self._task is not None:
            task, self._task = self._task, None
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def polled(self) -> None:
        """The application has called `poll`, or `poll` returns."""
        self._polled_at = self._loop.time()

    def raise_failure(self) -> None:
        """Raise the final error of a heartbeat, if there was one since the last call."""
        failure = self.failure
        if failure is not None:
            if not isinstance(failure, MemberFenced):
                self.failure = None
            raise failure

    async def _run(self) -> None:
        interval_s = min(self._settings.heartbeat_interval_ms, self._settings.max_poll_interval_ms) / 1000
        while True:
            await asyncio.sleep(interval_s)
            if self.failure is not None or self._membership.waits or not self._membership.is_member:
                continue
            overdue_s = self._loop.time() - self._polled_at - self._settings.max_poll_interval_ms / 1000
            if not self.polling and overdue_s > 0:
                await self._leave()
            else:
                await self._beat()

    async def _leave(self) -> None:
        log.warning(
            "Member left group %s: poll was not called for max.poll.interval.ms (%d ms)",
            self._settings.group_id,
            self._settings.max_poll_interval_ms,
        )
        leaving = self._membership.identity
        try:
            if self._settings.group_instance_id is None:
                await self._requests.leave("max.poll.interval.ms has passed", self._settings.session_timeout_ms)
        except ClientFailure as failure:
            log.info("LeaveGroup of group %s failed: %s", self._settings.group_id, failure)
        if self._membership.identity == leaving:  # else the application has polled meanwhile, and the member rejoined
            self._membership.left()
            self._changed()

    async def _beat(self) -> None:
        sender = self._membership.identity
        try:
            response = await self._requests.heartbeat()
            error = Error.of(response.error_code)
        except RequestRejected as rejection:  # of FindCoordinator
            error = rejection.error
        except ClientFailure as failure:
            if is_final(failure):
                self._fail(failure)
            return
        if self._membership.waits or self._membership.identity != sender:
            return  # the response is about an older generation
        reaction = reaction_to(Step.HEARTBEAT, error)
        if reaction is Reaction.FAIL:
            self._fail(rejection_of(error, f"Heartbeat of group {self._settings.group_id}: {error.message}"))
        elif reaction is Reaction.FIND_COORDINATOR:
            self._requests.coordinator_moved()
        elif reaction not in (Reaction.ACCEPT, Reaction.RETRY):
            self._membership.react(reaction)
            self._changed()

    def _fail(self, failure: ClientFailure) -> None:
        self.failure = failure
        self._changed()
