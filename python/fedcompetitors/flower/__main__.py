"""``python -m fedcompetitors.flower up``, or ``fedcompetitors-flower up``."""

import sys

from fedcompetitors.flower._up import main


def run() -> None:
    """Do what the arguments say, and end with the exit status."""
    sys.exit(main())


if __name__ == "__main__":
    run()
