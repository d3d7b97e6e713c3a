"""How well does a fit predict measurements that it has not used?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.linalg import TangentMap, plain_least_squares

# Leaving out more than a third of the redundancy would change what is tested.
_LARGEST_SHARE = 1 / 3
_SMALLEST_FOLDS = 5
# Enough predictions to determine their median to about ten percent; n of them determine a share of
# one half to 1.5/√n, three standard deviations.
_ENOUGH, _HALF = 150, 1.5


@dataclass(frozen=True)
class HeldOut:
    """Errors of the predictions of measurements that were left out."""

    rows: np.ndarray[Any, Any]
    errors: np.ndarray[Any, Any]


def predict_held_out(
    tangent: TangentMap,
    weights: Array,
    residual: Array,
    labels: np.ndarray[Any, Any],
    degrees_of_freedom: int,
) -> HeldOut:
    """Leave out groups of repetitions in turn, fit again without them, and predict them.

    The fits are linearized at the result. Measurements that the result rejects are left out with
    the others, and so are predicted too. Not all are left out if there are many and the majority
    is clear.
    """
    xp = namespace(residual)
    rng = np.random.default_rng(0)
    inlier = to_numpy(weights) > 0
    groups = rng.permutation(labels.max() + 1)
    fitted = len(np.unique(labels[inlier]))
    redundancy = max(fitted - degrees_of_freedom, 1)
    share = _LARGEST_SHARE * redundancy / max(fitted, 1)
    folds = max(int(np.ceil(1 / share)), _SMALLEST_FOLDS)
    majority = max(fitted / len(groups) - 0.5, 1e-3)
    enough = max(_ENOUGH, (_HALF / majority) ** 2)
    rows, errors = [], []
    seen = 0
    for fold in range(folds):
        chosen = np.flatnonzero(np.isin(labels, groups[fold::folds]))
        left_out = np.zeros(len(labels))
        left_out[chosen] = 1
        kept = weights * xp.asarray(1 - left_out, **like(weights))
        W = plain_least_squares(tangent, kept, residual)
        rows.append(chosen)
        errors.append(to_numpy(residual - tangent.apply(W))[chosen])
        seen += len(chosen)
        if seen >= enough:
            break
    return HeldOut(np.concatenate(rows), np.concatenate(errors))
