"""Started as `python -I FOLDER`, FOLDER being the one that holds this file."""

import sys

from esper_exporter.command import main

sys.path.pop(0)  # a model's own modules may be called as anything here is

if __name__ == "__main__":
    sys.exit(main())
