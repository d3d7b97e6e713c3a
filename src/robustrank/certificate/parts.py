"""Which measurements are independent, and how rows and columns are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from robustrank.backend import Array, like, namespace, on_gpu, to_numpy
from robustrank.linalg import BLOCK_ENTRIES, TangentMap, blocks_of
from robustrank.operators import Operator
from robustrank.operators.base import PROBE_COLUMNS, draw

Values = np.ndarray[Any, Any]
Labels = np.ndarray[Any, np.dtype[np.intp]]
Selection = np.ndarray[Any, np.dtype[np.bool_]]


def name_parts(parts: Sequence[int] | Values, rows: int) -> str:
    """Rows and columns of the matrix in words, counted from zero: "rows 2–4 and column 7"."""
    numbers = np.asarray(parts)
    kinds = {"row": numbers[numbers < rows], "column": numbers[numbers >= rows] - rows}
    return " and ".join(
        f"{kind}{'s' if len(numbers) > 1 else ''} {_as_ranges(numbers)}"
        for kind, numbers in kinds.items()
        if len(numbers)
    )


def _as_ranges(numbers: Values) -> str:
    """Increasing numbers as text, with runs abbreviated: "2–4, 7"."""
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


# Rows at a smaller angle, in radians, are repetitions of one setting.
_ANGLE = 0.05
# The number of random directions in which rows are compared. Of two unrelated rows, the angle is
# below θ in six dimensions with a probability of θ⁵ / (5 · 3π/8), or 1e-7 with both signs: it
# happens in data with thousands of rows, and not again (1e-14) in another six directions.
_PROBES = 6
# Up to this number of measurements, a GPU compares all pairs in less time than the host needs for a
# tree.
_FEW = 2**13


def repetitions(operator: Operator, tangent: TangentMap) -> Labels:
    """A number for each measurement, the same for measurements by nearly parallel A_i of one norm.

    Parallel A_i have parallel rows in the tangent map, so the map finds the candidates; only if
    there are any, the A_i themselves are compared, which takes passes over the sensing data.
    """
    rng = np.random.default_rng(0)
    xp, left = namespace(tangent.U), tangent.U
    shape = (left.shape[0] + tangent.V.shape[0], left.shape[1])

    def along_random_directions() -> list[Values]:
        drawn = xp.asarray(rng.standard_normal((_PROBES, *shape)), **like(left))
        probes = [tangent.apply(drawn[k, :, :]) for k in range(_PROBES)]
        return list(to_numpy(xp.stack(probes, axis=0)))

    m = operator.measurements
    probes = along_random_directions()
    pairs = _compared_pairs(probes, left) if on_gpu(left) and m <= _FEW else _close_pairs(probes)
    pairs = _still_close(pairs, along_random_directions) if len(pairs) else pairs
    if not len(pairs):
        return np.arange(m)
    pairs = _still_close(pairs, lambda: _measured(operator, rng))
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(m, m))
    return connected_components(links, directed=False)[1].astype(np.intp)


def groups_with_majority(labels: Labels, rows: Selection) -> Selection:
    """Which groups of repetitions have more than half of their measurements among these rows."""
    return 2 * np.bincount(labels, weights=rows) > np.bincount(labels)


def _measured(operator: Operator, rng: np.random.Generator) -> list[Values]:
    """The measurements of random matrices."""
    n1, n2 = operator.matrix_shape
    columns = min(PROBE_COLUMNS, n1, n2)
    probes = []
    for _ in range(2 * _PROBES):
        factors = (draw(operator, rng, n, columns) for n in (n1, n2))
        probes.append(to_numpy(operator.measure(*factors)))
    return probes


def _still_close(pairs: Values, probe: Callable[[], list[Values]]) -> Values:
    """The pairs that are also nearly parallel as seen by other probes."""
    directions = _directions(probe())
    cosines = np.sum(directions[pairs[:, 0]] * directions[pairs[:, 1]], axis=1)
    return np.asarray(pairs[np.abs(cosines) > 1 - _ANGLE**2 / 2])


def _compared_pairs(probes: list[Values], example: Array) -> Values:
    """The same as ``_close_pairs``, by comparing all pairs on the device of an array."""
    xp = namespace(example)
    directions = xp.asarray(_directions(probes), **like(example))
    m, least = directions.shape[0], 1 - _ANGLE**2 / 2
    found = [np.empty((0, 2), np.intp)]
    for block in blocks_of(m, max(1, BLOCK_ENTRIES // m)):
        cosines = directions[block, :] @ xp.matrix_transpose(directions)
        close = xp.triu((cosines > least) | (cosines < -least), k=block.start + 1)
        if bool(xp.any(close)):
            one, other = (to_numpy(numbers) for numbers in xp.nonzero(close))
            found.append(np.stack([block.start + one, other], axis=1))
    return np.concatenate(found)


def _close_pairs(probes: list[Values]) -> Values:
    """(k, 2) pairs of measurements with nearly the same direction, up to the sign."""
    directions = _directions(probes)
    # With a sign that makes the first component positive; where it is small, with both signs.
    directions = np.where(directions[:, :1] < 0, -directions, directions)
    doubtful = np.flatnonzero(directions[:, 0] < _ANGLE)
    numbers = np.concatenate([np.arange(len(directions)), doubtful])
    tree = cKDTree(np.concatenate([directions, -directions[doubtful]]))
    pairs: Values = numbers[tree.query_pairs(_ANGLE, output_type="ndarray")]
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])


def _directions(probes: list[Values]) -> Values:
    """(m, probes): the direction of each row as seen by the probes; rows of zeros have the same."""
    values = np.stack(probes, axis=1).astype(float)
    values -= values.mean(axis=0)  # a part that all rows have in common makes no two of them alike
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.where(norms > 0, norms, 1.0))
