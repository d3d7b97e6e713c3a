"""Where to start: the leading singular vectors of a truncated surrogate of M."""

from __future__ import annotations

import numpy as np

from robustrank.backend import Array, diagonal_times, lower_median, namespace
from robustrank.problem import Problem
from robustrank.trust import TrustRule, trusted


def truncated_start(
    problem: Problem,
    rule: TrustRule,
    rng: np.random.Generator,
    *,
    sample_split: bool = False,
    rank: int | None = None,
) -> tuple[Array, Array]:
    """(U0, V0) = (C_L Σ^½, C_R Σ^½) from the rank-r SVD of the mean of the believed y_i A_i.

    With ``sample_split`` the first ⌈m/2⌉ measurements make the surrogate and the median of the
    others decides which of them to believe (equ_initial_matrix). Without it all measurements do
    both (equ_initial_matrix_algorithm), the form of the paper's experiments. ``rank`` may differ
    from the problem's.
    """
    operator, y = problem.operator, problem.y
    xp = namespace(y)
    judges = y
    if sample_split:
        m1 = -(-operator.measurements // 2)
        if m1 == operator.measurements:
            raise ValueError("a sample split needs at least two measurements")
        operator, y, judges = operator.rows(slice(0, m1)), y[:m1], y[m1:]
    weights = rule.weights(xp.abs(y), lower_median(xp.abs(judges)))
    believed = trusted(y, weights) / operator.measurements
    left, values, right = operator.leading_svd(believed, rank or problem.rank, rng)
    root = xp.sqrt(values)
    return diagonal_times(left, root), diagonal_times(right, root)
