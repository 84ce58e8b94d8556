"""Misrouted connections as they happen, each built with the switchboard and found by the doctor.

`python -m tests.doctor.stories` prints each story with the expected and the reported codes (`make doctor-stories`).
"""
