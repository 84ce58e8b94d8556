"""Malformed frames, by the million, against a real broker process over real sockets.

A seeded stream of frames: real requests of every API and version, changed by a table of mutations. Each must be
answered or close its own connection, never harm the broker: it does not die, hang or grow, its log has no traceback,
and a well-behaved client is served all the time.
"""
