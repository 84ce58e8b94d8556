"""The program that spark-submit starts: `spark-submit [its options] pipeline.py tables TOPIC …`.

Its arguments are those of `signalbox pipeline`; docs/pipeline.md has the steps.
"""

import sys

from signalbox.cli.main import run

sys.argv[1:1] = ["pipeline"]
run()
