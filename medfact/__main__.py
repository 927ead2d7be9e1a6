import sys

from medfact.cli import main

if __name__ == "__main__":
    sys.exit(main())
