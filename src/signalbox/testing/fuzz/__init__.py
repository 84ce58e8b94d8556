"""Frames that are no requests, by the million, against a real broker process over real sockets.

A seeded stream of frames: real requests of every API and version, then bent by a table of mutations. Each must be
answered or cost its own connection, never the broker: it neither dies nor hangs nor grows, its log shows no traceback,
and a well-behaved client is served all the while.
"""
