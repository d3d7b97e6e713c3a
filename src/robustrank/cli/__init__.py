"""The command ``robustrank``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; if a library is missing, say how to install it."""
    try:
        from robustrank.cli.app import run

        sys.exit(run())
    except KeyboardInterrupt:  # during the imports
        sys.exit("robustrank: interrupted")
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("robustrank"):
            raise
        sys.exit(
            f"robustrank: the command needs {missing.name}; install it with: "
            "pip install 'robustrank[all]'"
        )
