"""Which door a request came by: brokers speak to each other on listeners of their own (SPEC, *Resolved* of C)."""

from __future__ import annotations

from signalbox.security.request_context import RequestContext


def by_a_door_of_brokers(context: RequestContext) -> bool:
    """Whether the connection is on a listener where brokers speak to each other."""
    return context.inter_broker or context.control_plane or context.privileged
