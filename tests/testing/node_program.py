"""A program in the place of a node: prints what it was started with, and ends with the exit code that it is given."""

from __future__ import annotations

import json
import os
import random
import sys
import threading

if __name__ == "__main__":
    facts = {
        "arguments": sys.argv[1:],
        "session": os.getsid(0),
        "directory": os.getcwd(),
        "variable": os.environ.get("VARIABLE"),
        "random": random.random(),
        "threads": threading.active_count(),
        "input": sys.stdin.read(),
        "descriptors": [int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")],
    }
    print(json.dumps(facts))
    print("to the log", file=sys.stderr)
    if sys.argv[1] == "waits":
        threading.Event().wait()
    sys.exit(int(sys.argv[1]))
