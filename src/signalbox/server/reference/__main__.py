"""`python -m signalbox.server.reference` writes the reference pages; `--check` compares them with the tables."""

import sys

from signalbox.server.reference.pages import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
