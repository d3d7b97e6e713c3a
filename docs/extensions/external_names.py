"""Inventories for sphinx.ext.intersphinx, from a table instead of the network."""

from __future__ import annotations

import tomllib
import zlib
from pathlib import Path

_HEADER = """\
# Sphinx inventory version 2
# Project: {}
# Version:
# The remainder of this file is compressed using zlib.
"""


def write_inventories(table: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """Write one inventory for each library of the table; returns ``intersphinx_mapping``."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for library, content in tomllib.loads(table.read_text(encoding="utf-8")).items():
        url = content.pop("url")
        lines = [
            f"{name} py:{role} 1 {page} -\n"
            for role, names in content.items()
            for name, page in names.items()
        ]
        inventory = folder / f"{library}.inv"
        inventory.write_bytes(
            _HEADER.format(library).encode() + zlib.compress("".join(lines).encode())
        )
        mapping[library] = (url, str(inventory))
    return mapping
