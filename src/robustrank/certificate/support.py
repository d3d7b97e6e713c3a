"""Which rows and columns of the matrix do the fitted measurements determine, by a majority?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import betainc

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.certificate.determination import changed_parts, unchecked, undetermined_part
from robustrank.certificate.parts import Labels, Selection, Values, name_parts
from robustrank.linalg import TangentMap, degrees_of_freedom, share_counts, share_maxima, share_sums

# A measurement informs a row or a column of the matrix if it depends on it at all: its share is
# at least this share of that of the measurement that depends on it most.
_INFORMS = 1e-6
# A row or column is supported by at least two measurements more than it has unknowns.
EXTRA = 2
# A second solution fits at least one rejected measurement for every two that it loses, and five
# more than it has unknowns. It is looked for where the rejected ones are at least 0.4 times as many
# as those that are fitted: with noise, some fit both.
COMPARABLE, BEYOND_CHANCE, _CONTESTABLE = 0.5, 5, 0.4
# The opposite sign is a second solution only if enough measurements agree on it that small ones,
# which fit both signs up to noise, could decide.
OPPOSITE = 0.6
# The probability that outliers at random positions are responsible for some part of the result.
_BY_CHANCE = 1e-4

MINORITY = "most of the measurements that inform a part of the matrix do not support it"
CONTESTED = "another solution fits nearly as many measurements of a part of the matrix"
TOO_FEW = "too few measurements support a part of the matrix"
BY_CHANCE = "outliers could have determined a part of the matrix by chance"
UNDETERMINED = "the fitted measurements do not determine every part of the matrix"
UNCHECKED = "some fitted measurements are not checked by any others"


@dataclass(frozen=True, eq=False)
class Support:
    """The part of the matrix that is decided, and the fitted measurements in it."""

    rows: Values  # boolean
    columns: Values
    fitted: Values  # boolean, (m,)
    objections: tuple[str, ...] = ()  # why the other rows and columns are not decided

    @property
    def is_empty(self) -> bool:
        """Whether nothing is decided."""
        return not (self.rows.any() and self.columns.any())

    @property
    def is_whole(self) -> bool:
        """Whether all rows and columns are decided."""
        return bool(self.rows.all() and self.columns.all())

    @property
    def decided(self) -> Values:
        """The rows and then the columns, boolean."""
        return np.concatenate([self.rows, self.columns])

    def degrees_of_freedom(self, rank: int) -> int:
        """Those of the decided part."""
        return max(degrees_of_freedom(int(self.rows.sum()), int(self.columns.sum()), rank), 0)

    def without(self, parts: Values, objection: str) -> Support:
        """The support without some rows and columns."""
        dropped = np.flatnonzero(self.decided & parts)
        if not len(dropped):
            return self
        rows, columns = np.split(self.decided & ~parts, [len(self.rows)])
        named = f"{objection}: {name_parts(dropped, len(rows))}"
        return Support(rows, columns, self.fitted, (*self.objections, named))


@dataclass(frozen=True, eq=False)
class Parts:
    """For each row of the matrix, then each column: how many independent measurements inform it."""

    supporting: Values  # fitted
    rejected: Values
    total: int  # independent measurements
    outliers: Values  # how many of them would be outliers that agree if the part were wrong

    def without_majority(self) -> Values:
        """Which parts are not supported by more than half of what informs them."""
        return np.asarray(self.supporting <= self.rejected)

    def with_too_few(self, rank: int) -> Values:
        """Which parts have hardly more supporting measurements than unknowns."""
        return np.asarray(np.round(self.supporting) < rank + EXTRA)

    def possibly_by_chance(self, rank: int) -> Values:
        """Which parts outliers at random positions could have determined.

        If a row of the result is wrong, all but rank − 1 of the measurements that support it are
        outliers. Fewer than half of all measurements are; if they are at random positions, it is
        improbable that all of these inform one row. Where many measurements are rejected, a second
        solution is searched for instead.
        """
        informing = np.round(self.supporting + self.rejected)
        needed = np.round(self.supporting) - rank
        rate = np.minimum(self.outliers / self.total, 0.5)
        # The binomial distribution has heavier tails than drawing without replacement.
        # P(X ≥ k) for X of B(n, p) is the incomplete beta function I_p(k, n − k + 1).
        tail = betainc(np.maximum(needed, 1), np.maximum(informing - needed + 1, 1), rate)
        probability = np.where(needed > 0, tail, 1.0)
        contradiction = 2 * self.outliers >= self.total
        searchable = self.rejected >= 2 * rank + BEYOND_CHANCE
        probability = np.where(contradiction | searchable, 0.0, probability)
        return np.asarray(probability > _BY_CHANCE / len(probability))

    def contestable(self, rank: int) -> list[int]:
        """The parts where a second solution could have half of the support."""
        enough = self.rejected > rank
        return np.flatnonzero(enough & (self.rejected >= _CONTESTABLE * self.supporting)).tolist()


@dataclass(frozen=True, eq=False)
class Informing:
    """Which measurements inform which rows and columns of the matrix.

    Measurements with the same label count as one. If the map has no shares, every measurement
    counts as informing everything.
    """

    tangent: TangentMap
    labels: Labels
    fitted: Selection
    agreeing: float | None = None  # the number of outliers that agree; None: not known
    all_count: bool = True  # whether measurements that are not fitted matter

    @cached_property
    def _weights(self) -> Values:
        return np.asarray(1.0 / np.bincount(self.labels)[self.labels])

    @cached_property
    def _least(self) -> Array | None:
        """The share of each part that informs it."""
        largest = share_maxima(self.tangent, self._array(np.ones(len(self.labels))))
        return None if largest is None else _INFORMS * largest

    def _array(self, values: Values) -> Array:
        return namespace(self.tangent.U).asarray(values, **like(self.tangent.U))

    def parts(self, support: Support) -> Parts:
        """How many measurements inform each part and none that is not decided."""
        rejected = self.only(support.decided) & ~support.fitted
        weights = np.stack([self._weights * support.fitted, self._weights * rejected])
        if self._least is None:
            parts = self.tangent.U.shape[0] + self.tangent.V.shape[0]
            counts = np.repeat(weights.sum(axis=1)[:, None], parts, axis=1)
        else:
            counted = share_counts(self.tangent, self._least, self._array(weights))
            counts = to_numpy(counted).astype(float)
        supporting, against = counts
        # If a part is wrong, what supports it is an outlier, and what is rejected there is none.
        outliers = self._weights @ ~self.fitted - against + supporting
        if self.agreeing is not None:
            outliers = np.full(len(supporting), self.agreeing)
        return Parts(supporting, against, int(self.labels.max()) + 1, outliers)

    def only(self, decided: Values) -> Selection:
        """The measurements that inform none of the other parts."""
        if decided.all() or self._least is None:
            return np.full(len(self.labels), bool(decided.all()))
        others = share_sums(self.tangent, self._least, self._array(~decided * 1.0))
        return np.asarray(to_numpy(others) == 0)

    def pruned(self, support: Support) -> Support:
        """The support without rows and columns that too few measurements support."""
        rank = int(self.tangent.U.shape[1])
        while True:
            inside = support.fitted & self.only(support.decided)
            smaller = support = replace(support, fitted=inside)
            parts = self.parts(support)
            if self.all_count:
                smaller = smaller.without(parts.without_majority(), MINORITY)
                smaller = smaller.without(parts.possibly_by_chance(rank), BY_CHANCE)
            smaller = smaller.without(parts.with_too_few(rank), TOO_FEW)
            if smaller is support:
                return support
            support = smaller

    def determined(self, support: Support) -> Support:
        """The support in which the measurements leave no freedom and check each other."""
        while True:
            support = self.pruned(support)
            if support.is_empty or self.tangent.U.shape[1] == 0:
                return support
            fitted = self._array(support.fitted * 1.0)
            change = undetermined_part(self.tangent, fitted)
            changed = changed_parts(self.tangent, change, support.decided)
            smaller = support.without(changed, UNDETERMINED)
            if smaller is support:
                missing = unchecked(self.tangent, fitted, self.labels)
                if not missing.any():
                    return support
                smaller = replace(support, fitted=support.fitted & ~missing)
            support = smaller


def supported_part(
    tangent: TangentMap,
    fitted: Selection,
    labels: Labels | None = None,
    *,
    agreeing: float | None = None,
    without: Values | None = None,
    by: tuple[TangentMap, Selection] | None = None,
) -> Support:
    """The rows and columns that the fitted measurements, boolean (m,), determine.

    Each needs two fitted measurements more than unknowns, a majority of those that inform it, and
    more than outliers at random positions could be, counting only measurements that inform no row
    or column that is not decided. Together they must determine it. Each fitted measurement must be
    checked by the others: if it had another value, it would not be fitted.

    Measurements with the same label count as one. ``agreeing`` is the number of outliers that agree
    with each other; by default, all that are not fitted may. ``without`` are rows and columns that
    are not considered. If ``by`` is given, the tangent map of some of the measurements and which
    these are, the last two conditions are tested with these only, which is sufficient: they then
    check the others, too.
    """
    labels = np.arange(len(fitted)) if labels is None else labels
    tested = every = Informing(tangent, labels, fitted, agreeing)
    chosen = np.ones(len(fitted), bool)
    if by is not None:
        chosen = by[1]
        tested = Informing(by[0], labels[chosen], fitted[chosen], all_count=False)
    n1, n2 = int(tangent.U.shape[0]), int(tangent.V.shape[0])
    support = Support(np.ones(n1, bool), np.ones(n2, bool), fitted)
    if without is not None:
        support = support.without(without, CONTESTED)
    while True:
        support = every.pruned(support)
        part = tested.determined(replace(support, fitted=support.fitted[chosen]))
        again = every.pruned(replace(part, fitted=support.fitted))
        if again.is_empty or np.array_equal(again.decided, part.decided):
            return again
        support = again
