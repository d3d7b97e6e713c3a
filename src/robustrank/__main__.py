"""``python -m robustrank`` is the command ``robustrank``."""

from robustrank.cli import main

main()
