"""Seeds from texts."""

from __future__ import annotations

import hashlib


def hashed(text: str) -> int:
    """A seed for a text, the same on every machine."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


class Seeded:
    """A setting whose seeds are hashes of its key and the number of the trial."""

    @property
    def key(self) -> str:
        """The setting as one line."""
        raise NotImplementedError

    def seed(self, trial: int) -> int:
        """The seed of a trial."""
        return hashed(f"{self.key} #{trial}")
