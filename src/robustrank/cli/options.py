"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(path_type=Path)

time_limit = click.option("--time-limit", type=float, help="Seconds after which the run ends.")
seed = click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
report = click.option("--report", type=FILE, help="Write a report page to this .html file.")
quiet = click.option("-q", "--quiet", is_flag=True, help="Print neither progress nor summary.")
