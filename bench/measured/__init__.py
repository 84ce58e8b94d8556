"""The recorded runs of the targets with bounds on their figures (bench/history), and the page that shows the newest.

`python -m bench.measured` renders docs/measured.md from the files; with `--check` it only compares. A bench that is
called with `--save` (`make bench SAVE=1`) adds a file. `bench/history/reasons.toml` says why rows fail.
"""
