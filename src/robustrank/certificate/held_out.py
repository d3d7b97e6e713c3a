"""How well does a fit predict measurements that it has not used?"""

from __future__ import annotations

import math

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.certificate.parts import Labels, Selection, Values
from robustrank.linalg import TangentMap, plain_least_squares

# Leaving out more than a third of the redundancy would change what is tested.
_LARGEST_SHARE = 1 / 3
# Enough predictions to determine their median to about ten percent: the median of n absolute normal
# errors has a relative standard deviation of 1 / (2 · 0.636 · 0.674 √n). And n of them determine a
# share of one half to 1.5/√n, three standard deviations.
_ENOUGH, _HALF = 150, 1.5


def leave_out_folds(fitted: int, degrees_of_freedom: int) -> int:
    """In how many turns the fitted measurements are left out, to keep most of the redundancy."""
    redundancy = max(fitted - degrees_of_freedom, 1)
    share = _LARGEST_SHARE * redundancy / max(fitted, 1)
    return math.ceil(1 / share)


def predict_held_out(
    tangent: TangentMap,
    weights: Array,
    residual: Array,
    labels: Labels,
    degrees_of_freedom: int,
) -> tuple[Selection, Values]:
    """Leave out groups of repetitions in turn, fit again without them, and predict them.

    The fits are linearized at the result. Measurements that the result rejects are left out with
    the others, and so are predicted too. Not all are left out if there are many and the majority
    is clear. Returns which are predicted, and the errors of their predictions, both (m,).
    """
    xp = namespace(residual)
    groups = np.random.default_rng(0).permutation(labels.max() + 1)
    fitted = len(np.unique(labels[to_numpy(weights) > 0]))
    folds = leave_out_folds(fitted, degrees_of_freedom)
    majority = fitted / len(groups) - 0.5
    predicted, errors = np.zeros(len(labels), bool), np.zeros(len(labels))
    for fold in range(folds):
        chosen = np.isin(labels, groups[fold::folds])
        kept = weights * xp.asarray(~chosen * 1.0, **like(weights))
        W = plain_least_squares(tangent, kept, residual)
        errors[chosen] = to_numpy(residual - tangent.apply(W))[chosen]
        predicted |= chosen
        seen = np.count_nonzero(predicted)
        if seen >= _ENOUGH and majority * math.sqrt(seen) >= _HALF:
            break
    return predicted, errors
