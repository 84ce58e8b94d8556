"""`python -m signalbox.server.monitoring` writes the files for Prometheus and Grafana; `--check` compares them."""

import sys

from signalbox.server.monitoring.files import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
