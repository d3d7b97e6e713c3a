"""New rows on the column space of a completed matrix."""

from __future__ import annotations

import numpy as np

from robustrank.completion.new_rows import fit_new_rows

CUTOFF, DEVIATION, KNOWN = 2.0, 3.0, np.ones(24, bool)


def test_a_row_does_not_depend_on_the_others() -> None:
    """Not even if half of its entries contradict the other half, so that the start decides."""
    rng = np.random.default_rng(0)
    V = rng.standard_normal((24, 3))
    one, other = (4 * rng.standard_normal((30, 3)) @ V.T for _ in range(2))
    rows = np.where(np.arange(24) % 2, one, other) + rng.standard_normal((30, 24))
    alone = np.concatenate(
        [fit_new_rows(row[None], V, KNOWN, CUTOFF, DEVIATION).left for row in rows], axis=0
    )
    others = 100 * rng.standard_normal((40, 24))
    together = fit_new_rows(np.concatenate([others, rows]), V, KNOWN, CUTOFF, DEVIATION)
    assert 0 < len(together.undecided) < 70
    np.testing.assert_allclose(together.left[40:], alone, rtol=1e-9)
