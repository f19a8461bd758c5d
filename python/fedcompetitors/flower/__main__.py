"""``python -m fedcompetitors.flower up``."""

import sys

from fedcompetitors.flower._up import main

sys.exit(main())
