"""Outliers of every kind: random, faulty sensors, and organized ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.battery.sensing import Sensing

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Context:
    """A problem before it is corrupted."""

    sensing: Sensing
    clean: Array  # (m,)
    left: Array
    right: Array
    share: float  # of the measurements to corrupt
    rng: np.random.Generator

    @property
    def typical(self) -> float:
        """The root mean square of the clean measurements."""
        return float(np.sqrt(np.mean(self.clean**2)))

    @property
    def sizes(self) -> Array:
        """‖A_i‖ ‖M‖ / √(n1 n2): the size of a measurement by each row."""
        A = self.sensing.A
        norms = np.sqrt(np.sum(A**2, axis=(1, 2)) / (A.shape[1] * A.shape[2]))
        return np.asarray(norms * np.linalg.norm(self.left @ self.right.T))

    def random_support(self) -> Array:
        """Rows chosen at random; copies of a row are chosen independently of each other."""
        m = len(self.clean)
        return self.rng.choice(m, round(self.share * m), replace=False)

    def normal(self, count: int) -> Array:
        """Standard normal numbers."""
        return self.rng.standard_normal(count)

    def other_factors(self, norm: float) -> tuple[Array, Array]:
        """The factors of another matrix of the same rank, of ``norm`` times the norm of M."""
        left, right = (self.normal(f.size).reshape(f.shape) for f in (self.left, self.right))
        ratio = np.linalg.norm(self.left @ self.right.T) / np.linalg.norm(left @ right.T)
        return norm * ratio * left, right

    def measured(self, left: Array, right: Array) -> Array:
        """The measurements of another matrix."""
        return np.asarray(np.einsum("mij,ij->m", self.sensing.A, left @ right.T))


Corrupted = tuple[Array, Array]  # the rows that are corrupted, and their values


def _at_random(value: Callable[[Context, Array], Array]) -> Callable[[Context], Corrupted]:
    def corrupt(context: Context) -> Corrupted:
        rows = context.random_support()
        return rows, value(context, rows)

    return corrupt


def _impostor(context: Context) -> Corrupted:
    rows = context.random_support()
    other = context.other_factors(10 ** context.rng.uniform(-2, 2))
    return rows, context.measured(*other)[rows]


def _saturated(context: Context) -> Corrupted:
    limit = float(np.median(np.abs(context.clean)))
    beyond = np.flatnonzero(np.abs(context.clean) > limit)
    count = min(len(beyond), round(context.share * len(context.clean)))
    rows = context.rng.choice(beyond, count, replace=False)
    return rows, np.clip(context.clean[rows], -limit, limit)


def _swapped(context: Context) -> Corrupted:
    rows = context.random_support()
    rows = rows[: len(rows) // 2 * 2]
    return rows, context.clean[rows.reshape(-1, 2)[:, ::-1].ravel()]


def _stuck(context: Context) -> Corrupted:
    rows = np.sort(context.random_support())
    rows = rows[rows > 0]
    values = context.clean.copy()
    for row in rows:
        values[row] = values[row - 1]
    return rows, values[rows]


def _agreeing_copies(context: Context) -> Corrupted:
    """Some settings are wrong; all copies of them show the same wrong value."""
    settings = np.unique(context.sensing.copies)
    wrong = context.rng.choice(settings, round(context.share * len(settings)), replace=False)
    rows = np.flatnonzero(np.isin(context.sensing.copies, wrong))
    size = context.typical * 10 ** context.rng.uniform(-1, 1)
    shifts = dict(zip(wrong, size * context.normal(len(wrong)), strict=True))
    shift = np.asarray([shifts[k] for k in context.sensing.copies[rows]])
    return rows, context.clean[rows] + shift


def _local_impostor(context: Context) -> Corrupted:
    """3–60 % of the rows that see a block measure another matrix, which differs only there."""
    block = context.sensing.block
    left, right = context.left, context.right.copy()
    columns = np.flatnonzero(block.any(axis=0))
    right[columns] = context.normal(right[columns].size).reshape(right[columns].shape)
    change = np.where(block, left @ right.T - left @ context.right.T, 0)
    effect = np.einsum("mij,ij->m", context.sensing.A, change)
    sees = np.flatnonzero(effect != 0)
    # A block must have rank r with the rest: only columns may change as a whole.
    if not np.all(block[:, columns]):
        effect = context.measured(left, right) - context.clean
        sees = np.flatnonzero(effect != 0)
    count = min(round(context.rng.uniform(0.03, 0.6) * len(sees)), int(0.49 * len(context.clean)))
    rows = context.rng.choice(sees, count, replace=False)
    return rows, (context.clean + effect)[rows]


def _by_leverage(context: Context) -> Corrupted:
    """The rows that matter most for the fit."""
    A, r = context.sensing.A, context.left.shape[1]
    U, V = (np.linalg.qr(f)[0] for f in (context.left, context.right))
    J = np.concatenate([(A @ V).reshape(len(A), -1), (A.swapaxes(1, 2) @ U).reshape(len(A), -1)], 1)
    Q = np.linalg.svd(J, full_matrices=False)[0][:, : r * (sum(A.shape[1:]) - r)]
    order = np.argsort(-np.sum(Q**2, axis=1), kind="stable")
    rows = order[: round(context.share * len(A))]
    return rows, context.sizes[rows] * context.normal(len(rows))


def _largest_flipped(context: Context) -> Corrupted:
    order = np.argsort(-np.abs(context.clean / context.sizes), kind="stable")
    rows = order[: round(context.share * len(order))]
    return rows, -context.clean[rows]


def _own_scale(factor: float) -> Callable[[Context, Array], Array]:
    return lambda c, rows: factor * c.sizes[rows] * c.normal(len(rows))


RANDOM: dict[str, Callable[[Context], Corrupted]] = {
    "huge": _at_random(_own_scale(100)),
    "scale": _at_random(_own_scale(1)),
    "constant": _at_random(lambda c, rows: np.full(len(rows), 5 * c.typical)),
    "cauchy": _at_random(lambda c, rows: c.sizes[rows] * c.rng.standard_cauchy(len(rows))),
    "one-sided": _at_random(
        lambda c, rows: c.clean[rows] + 10 * c.sizes[rows] * np.abs(c.normal(len(rows)))
    ),
}
FAULTS: dict[str, Callable[[Context], Corrupted]] = {
    "flip": _at_random(lambda c, rows: -c.clean[rows]),
    "offset": _at_random(
        lambda c, rows: c.clean[rows] + c.typical * c.rng.choice([0.01, 0.1, 0.3, 1])
    ),
    "gain": _at_random(lambda c, rows: c.clean[rows] * c.rng.choice([0.5, 1.2, 2])),
    "dead": _at_random(lambda _, rows: np.zeros(len(rows))),
    "stuck": _stuck,
    "saturated": _saturated,
    "swapped": _swapped,
}
ORGANIZED: dict[str, Callable[[Context], Corrupted]] = {
    "impostor": _impostor,
    "agreeing copies": _agreeing_copies,
    "local impostor": _local_impostor,
    "by leverage": _by_leverage,
    "largest flipped": _largest_flipped,
}
KINDS = RANDOM | FAULTS | ORGANIZED
