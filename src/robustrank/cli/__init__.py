"""The command ``robustrank``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; without its libraries, say in one line how to get them."""
    try:
        from robustrank.cli.app import run
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("robustrank"):
            raise
        sys.exit(
            f"robustrank: the command needs {missing.name}; install it with: "
            "pip install 'robustrank[all]'"
        )
    sys.exit(run())
