"""Figures of an audit trail with one of everything, as `audit/figures.py` returns them."""

from __future__ import annotations

from typing import Any


def figures(**changes: Any) -> dict[str, Any]:
    """A complete reported without anomalies; `changes` replaces its lists."""
    request = {
        "broker_id": 1, "listener": "CLIENT", "plane": "data", "principal": "User:alice", "client_id": "shop",
        "api": "PRODUCE", "requests": 400, "errors": 0, "mean_us": 900, "max_us": 5_000,
    }  # fmt: skip
    broker = {"broker_id": 1, "broker_epoch": 7, "events": 9, "first_seq": 0, "last_seq": 8}
    base: dict[str, Any] = {
        "version": 1,
        "completeness": {
            "complete": True, "findings": [], "topic_records": 9, "unread_records": 0, "table_rows": 9, "dead_rows": 0,
            "missing_events": 0, "duplicate_events": 0,
            "brokers": [{**broker, "gaps": [], "missing": 0, "duplicates": 0, "whole": True}],
        },
        "kinds": [],
        "requests": [request, {**request, "listener": "REPLICATION", "principal": "User:broker", "api": "FETCH"}],
        "apis": [],
        "forwarded": [],
        "decided": [],
        "rejected": [],
        "misrouted": [],
        "latency": [
            {**request, "window_ms": 1_000_000, "mean_us": 900},
            {**request, "window_ms": 1_010_000, "mean_us": 1_900},
            {**request, "window_ms": 1_010_000, "mean_us": 400, "plane": "control"},
        ],
        "clients": [],
        "totals": {
            "requests": 800, "forwarded": 0, "rejected": 0, "denied": 0, "misrouted": 0, "connections": 2,
            "first_ms": 1_000_000, "last_ms": 1_020_000,
        },
    }  # fmt: skip
    return {**base, **changes}


def decided(forwarding_principal: str) -> dict[str, Any]:
    """A change that a broker with this principal forwarded."""
    return {
        "broker_id": 2, "api": "CREATE_TOPICS", "principal": "User:alice", "client_id": "shop", "resource": "t",
        "forwarding_principal": forwarding_principal, "error": "NONE", "requests": 1,
    }  # fmt: skip


def misroute(requests: int, expected: str = "c1/1", actual: str = "c1/2") -> dict[str, Any]:
    """A pair of expected and actual node."""
    return {
        "broker_id": 2, "listener": "CLIENT", "expected": expected, "actual": actual, "error": "", "clients": 3,
        "requests": requests,
    }  # fmt: skip


def rejection(plane: str) -> dict[str, Any]:
    """Requests that a plane did not accept."""
    return {
        "kind": "rejected", "broker_id": 1, "listener": "CONTROL", "plane": plane, "api": "PRODUCE", "error": "",
        "reason": "not served here", "principal": "User:mallory", "client_id": "x", "client_address": "10.0.0.9",
        "requests": 12,
    }  # fmt: skip


def forward(errors: int = 0, p99_us: int | None = 2_000) -> dict[str, Any]:
    """Changes that a broker forwarded."""
    return {
        "broker_id": 2, "target_node": 1, "api": "CREATE_TOPICS", "principal": "User:alice", "client_id": "shop",
        "requests": 20, "errors": errors, "p50_us": 1_000, "p99_us": p99_us,
    }  # fmt: skip
