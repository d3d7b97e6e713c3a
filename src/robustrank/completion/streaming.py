"""Rows of low rank that arrive in batches, with wrong entries.

A new row is fitted to the row space so that most of its entries agree. The entries that agree are
added to the normal equations of their columns, which improve the row space if there is noise, as
in recursive least squares (PETRELS, Chi, Eldar and Calderbank, 2013). No row has to be kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robustrank.backend import solve_positive_definite
from robustrank.certificate import EXTRA
from robustrank.completion.new_rows import fit_majorities
from robustrank.linalg import ROUNDINGS
from robustrank.tables import Explained, Indices, Mask, Units, Values, recent_weights, share


@dataclass(frozen=True, eq=False)
class LowRankStream:
    """A row space, in robust units, and the sums over all rows so far that it is estimated from.

    Attributes
    ----------
    units
        The units of the columns, of the first fit.
    right
        The right factor, (p, k). One of its components is the same in all rows: the mean of the
        rows minus the center of the units.
    empty
        The columns that had no values in the first fit; they are not used.
    cutoff, deviation
        The largest residual of an inlier, and the deviation of a typical value.
    exact
        Whether there is no noise; then the row space remains as it is.
    count, scores, products
        The weight of the rows, the sum of their coordinates, and that of their products.
    matrices, sides
        The normal equations of each column, (p, k, k) and (p, k).
    squares, entries
        The sum of the squared residuals of the inliers of each column, and their number.
    wrong
        The weight of the wrong entries and of all entries of fitted rows, of rows that are not
        fitted, and of all rows.
    """

    units: Units
    right: Values
    empty: Mask
    cutoff: float
    deviation: float
    exact: bool
    count: float
    scores: Values
    products: Values
    matrices: Values
    sides: Values
    squares: Values
    entries: Values
    wrong: Values

    @classmethod
    def of(
        cls,
        table: Values,
        units: Units,
        factors: tuple[Values, Values],
        undecided: Indices,
        cutoff: float,
        deviation: float,
        *,
        exact: bool,
    ) -> LowRankStream | None:
        """The stream that begins with the rows of a table, and factors of these rows.

        Columns that are ``undecided`` (their numbers) are fitted to the left factor. None if it
        does not explain most of their entries, or the row space not most rows.
        """
        scaled, usable = _scaled(table, units)
        empty = np.asarray(~usable.any(axis=0))
        left, right = factors[0], factors[1].copy()
        fits = usable.T & (np.abs(scaled.T - right @ left.T) <= cutoff)
        if len(undecided):
            right[undecided], fits[undecided], decided = fit_majorities(
                scaled.T[undecided], usable.T[undecided], left, cutoff, deviation
            )
            if not (decided | empty[undecided]).all():
                return None
        right = np.where(empty[:, None], 0.0, _least_squares(scaled.T, fits, left))
        k = left.shape[1]
        sums = {
            "scores": np.zeros(k),
            "products": np.zeros((k, k)),
            "matrices": np.zeros((len(right), k, k)),
            "sides": np.zeros((len(right), k)),
            "squares": np.zeros(len(right)),
            "entries": np.zeros(len(right)),
            "wrong": np.zeros((2, 2)),
        }
        start = cls(units, right, empty, cutoff, deviation, exact, 0.0, **sums)
        found = start.updated(table)
        return found if found.count > len(table) // 2 else None

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of wrong entries in rows that are fitted, and of rows that are not."""
        return share(*self.wrong[0]), share(*self.wrong[1])

    def updated(self, table: Values, forgetting: float = 1.0) -> LowRankStream:
        """The stream after another batch of rows; each of them multiplies the weight of old ones.

        ``forgetting`` is the factor.
        """
        old, weights = recent_weights(len(table), forgetting)
        scaled, usable = _scaled(table, self.units)
        P, fits, decided = self._fitted(scaled, usable)
        P, fits, own, usable = P[decided], fits[decided], weights[decided], usable[decided]
        residual = np.where(fits, scaled[decided] - P @ self.right.T, 0.0)
        used = fits.T * own
        cells = np.sum(own @ (usable & ~fits)), np.sum(own @ usable)
        wrong = np.array([cells, (weights @ ~decided, weights.sum())])
        after = replace(
            self,
            count=old * self.count + own.sum(),
            scores=old * self.scores + own @ P,
            products=old * self.products + (P.T * own) @ P,
            squares=old * self.squares + np.sum(used.T * residual**2, axis=0),
            entries=old * self.entries + used.sum(axis=1),
            wrong=old * self.wrong + wrong,
        )
        if self.exact:
            return after
        return replace(
            after,
            matrices=old * self.matrices + _products(used, P),
            sides=old * self.sides + (used * scaled[decided].T) @ P,
        )._improved()

    def explain(self, table: Values) -> Explained:
        """Compare each entry of rows with the combination that most entries of its row agree on.

        Rows without such a combination are wrong, or too few of their entries are known; what is
        expected there is the mean.
        """
        scaled, usable = _scaled(table, self.units)
        P, fits, decided = self._fitted(scaled, usable)
        P[~decided] = self.scores / max(self.count, 1.0)
        expected = P @ self.right.T
        wrong = ~np.isnan(table) & ~fits & decided[:, None] & ~self.empty
        seen, agree = usable.sum(axis=1), fits.sum(axis=1)
        # By chance, an entry hardly ever fits: each of those that lack counts as one.
        lack = np.where(seen >= self._least, seen // 2 + 1 - agree, 0)
        return Explained(
            self.units.original(np.where(self.empty, np.nan, expected)),
            np.broadcast_to(self.units.scale * self._noise(), table.shape),
            wrong,
            np.where(wrong, np.inf, -np.inf),
            lack > 0,
            np.where(lack > 0, lack, 0.0),
            np.broadcast_to(self._noise() ** 2, table.shape),
        )

    def moments(self) -> tuple[Values, Values, int]:
        """The mean, the covariance and the number of components, in the units of the data."""
        scale, mean = self.units.scale, self.scores / self.count
        of_scores = self.products / self.count - np.outer(mean, mean)
        factor = scale[:, None] * self.right
        noise = np.diag((scale * self._noise()) ** 2)
        centers = self.units.original(self.right @ mean)
        covariance = factor @ of_scores @ factor.T + noise
        return np.where(self.empty, np.nan, centers), covariance, self.right.shape[1] - 1

    @property
    def _least(self) -> int:
        """The least number of entries of a row that can be judged."""
        return int(self.right.shape[1]) + EXTRA

    def _noise(self) -> Values:
        """The standard deviation of the noise of each column."""
        if self.exact:
            return np.zeros(len(self.right))
        return np.sqrt(self.squares / np.maximum(self.entries, 1.0))

    def _fitted(self, scaled: Values, usable: Mask) -> tuple[Values, Mask, Mask]:
        """The coordinates of rows, the entries that agree, and the rows that have a majority."""
        used = usable & ~self.empty
        _, fits, decided = fit_majorities(scaled, used, self.right, self.cutoff, self.deviation)
        P = _least_squares(scaled, fits, self.right)
        return P, fits, decided

    def _improved(self) -> LowRankStream:
        right = _solved(self.matrices, self.sides)
        return replace(self, right=np.where(self.empty[:, None], 0.0, right))


def _scaled(table: Values, units: Units) -> tuple[Values, Mask]:
    """The table in robust units, and the entries that are finite."""
    scaled, beyond = units.of(table)
    return scaled, ~np.isnan(table) & ~beyond


def _least_squares(X: Values, used: Mask, Q: Values) -> Values:
    """The rows P for which P Qᵀ fits the used entries of X best."""
    return _solved(_products(used.astype(float), Q), np.where(used, X, 0.0) @ Q)


def _products(weights: Values, Q: Values) -> Values:
    """Σ w q qᵀ for each row of weights, over the rows q of Q; (n, k, k)."""
    k = Q.shape[1]
    products = (Q[:, :, None] * Q[:, None, :]).reshape(-1, k * k)
    return np.asarray((weights @ products).reshape(-1, k, k))


def _solved(matrices: Values, sides: Values) -> Values:
    """The solutions of normal equations, with a ridge of rounding errors."""
    k = sides.shape[1]
    ridge = ROUNDINGS * np.finfo(float).eps * np.trace(matrices, axis1=1, axis2=2)
    ridge = np.maximum(ridge, np.finfo(float).tiny)
    return np.asarray(solve_positive_definite(matrices + ridge[:, None, None] * np.eye(k), sides))
