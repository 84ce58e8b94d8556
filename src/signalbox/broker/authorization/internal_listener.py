"""Internal listeners: brokers send each other requests on listeners of their own (SPEC, *Resolved* of C)."""

from __future__ import annotations

from signalbox.security.request_context import RequestContext


def on_internal_listener(context: RequestContext) -> bool:
    """Whether the connection is on an internal listener: inter-broker, control plane or privileged."""
    return context.inter_broker or context.control_plane or context.privileged
