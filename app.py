"""The door for a browser: `python app.py`, then open the address that it prints."""

import sys

if __name__ == "__main__":
    from medfact.models.local import zero_gpu

    zero_gpu.prepare()  # before anything imports torch
    from medfact.web.app import serve

    sys.exit(serve())
