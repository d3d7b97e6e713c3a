"""``plan``: how many measurements to make, before they are made."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from typing import Any, Literal

from robustrank.backend import check_count, check_not_negative, shown
from robustrank.planning.cost import expected_cost
from robustrank.planning.curves import DEFAULT, ENTRIES, GAUSSIAN, PAPER
from robustrank.planning.lookup import Answer, Question, look_up

FAMILIES = {GAUSSIAN: "Gaussian sensing matrices", ENTRIES: "sampled entries"}
PLANNED_MODELS = {"huge": "large", "scale": "of the size of measurements"}
_METHODS = {DEFAULT: "default", PAPER: "paper's method"}
_HALF, _MOST = 0.5, 0.95
_PAPER_NEEDS_GAUSSIAN = "unknown: the paper's method is for Gaussian sensing matrices"
_NO_COST = "unknown: time and memory are predicted for Gaussian sensing matrices only"


@dataclass(frozen=True)
class Plan:
    """How many measurements a matrix needs.

    A number is None if the table of trials does not answer the question; ``notes`` says why. A
    default result succeeds if it is certified. The paper's method succeeds if its error is below
    1e-6, or with noise if its result is certified. A completion succeeds if it is certified and
    decides 95 % of the rows and columns.

    Attributes
    ----------
    shape, rank, outliers, noise, family, outlier_model
        The question; see ``plan``.
    degrees_of_freedom
        d = r (n1 + n2 − r).
    information_limit
        The measurements whose inliers equal the degrees of freedom: with fewer, no method can work.
    measurements_50, measurements_95
        The measurements with which the default succeeds with a probability of 50 % and 95 %.
    paper_measurements_50, paper_measurements_95
        The same for the paper's method, ``MedianTGD``.
    seconds, memory_bytes
        The expected time and memory of the default on this machine with ``measurements_95``
        measurements in double precision.
    notes
        In what respect the question is outside of the trials: empty if it is inside.

    See Also
    --------
    robustrank.plan : Returns this plan.

    Examples
    --------
    >>> import robustrank as rr
    >>> plan = rr.plan((30, 24), rank=2, outliers=0.1)
    >>> plan.degrees_of_freedom, plan.information_limit
    (104, 116)
    >>> plan.success_probability(100)
    0.0
    >>> plan.success_probability(plan.measurements_95) > 0.94
    True
    """

    shape: tuple[int, int]
    rank: int
    outliers: float
    noise: float
    family: str
    outlier_model: str
    degrees_of_freedom: int
    information_limit: int
    measurements_50: int | None
    measurements_95: int | None
    paper_measurements_50: int | None
    paper_measurements_95: int | None
    seconds: float | None
    memory_bytes: int | None
    notes: tuple[str, ...]
    _answers: dict[str, Answer] = field(repr=False, compare=False)

    def success_probability(
        self, measurements: float, method: Literal["default", "median-TGD"] = "default"
    ) -> float | None:
        """The probability that a method succeeds with a number of measurements.

        Parameters
        ----------
        measurements
            The number of measurements.
        method
            ``"default"``, or ``"median-TGD"`` for the paper's method.

        Returns
        -------
        float or None
            The probability; None if the trials do not tell.
        """
        if method not in self._answers:
            expected = " or ".join(map(repr, self._answers))
            raise ValueError(f"method={shown(method)} is not known; expected {expected}")
        return self._answers[method].success(measurements)

    def as_dict(self) -> dict[str, Any]:
        """The public fields as a dictionary that ``json.dumps`` accepts."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
            if not name.startswith("_")
        }

    def summary(self) -> list[tuple[str, str]]:
        """The plan in words, as (name, text) rows."""
        needed = {
            DEFAULT: (self.measurements_50, self.measurements_95),
            PAPER: (self.paper_measurements_50, self.paper_measurements_95),
        }
        return [
            (
                "information limit",
                f"{self.information_limit:,} measurements: with fewer, there are fewer inliers "
                f"than the {self.degrees_of_freedom:,} degrees of freedom",
            ),
            *((_METHODS[method], self._sentence(*counts)) for method, counts in needed.items()),
            ("time", "unknown" if self.seconds is None else f"about {_duration(self.seconds)}"),
            ("memory", "unknown" if self.memory_bytes is None else _size(self.memory_bytes)),
            *(("range", note) for note in self.notes or ("inside the range of the trials",)),
        ]

    def _sentence(self, half: int | None, most: int | None) -> str:
        if half is None and most is None:
            return "unknown"
        parts = (
            f"{'unknown' if m is None else f'{m:,} ({m / self.degrees_of_freedom:.2f} d)'} "
            f"for {share:.0%}"
            for m, share in ((half, _HALF), (most, _MOST))
        )
        return f"measurements: {', '.join(parts)} success"

    def title(self) -> str:
        """What the plan is for, in one line."""
        n1, n2 = self.shape
        noise = f"noise of {_percent(self.noise)}" if self.noise else "no noise"
        kind = PLANNED_MODELS[self.outlier_model]
        return (
            f"Plan for a {n1} × {n2} matrix of rank {self.rank}: {FAMILIES[self.family]}, "
            f"{_percent(self.outliers)} outliers ({kind}), {noise}"
        )

    def __repr__(self) -> str:
        lines = (f"  {name:<18} {text}" for name, text in self.summary())
        return "\n".join([self.title(), *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self.summary()
        )
        return f"<table><caption>{html.escape(self.title())}</caption>{rows}</table>"


def plan(
    shape: tuple[int, int],
    rank: int,
    outliers: float = 0.1,
    noise: float = 0.0,
    family: Literal["gaussian", "entries"] = "gaussian",
    *,
    outlier_model: Literal["huge", "scale"] = "huge",
) -> Plan:
    """How many measurements are needed to recover a matrix, before they are made.

    The numbers are interpolated in a table that is derived from several thousand trials with
    planted matrices. Where a question is outside of these trials, the plan says so.

    Parameters
    ----------
    shape, rank
        The shape (n1, n2) and the rank of the matrix.
    outliers
        The fraction of the measurements that are outliers.
    noise
        The standard deviation of the noise, relative to that of a measurement without noise, as for
        ``simulate.plant`` and ``simulate.plant_entries``.
    family
        ``"gaussian"``: dense sensing matrices with independent normal entries, for ``recover``.
        ``"entries"``: entries of the matrix at random places, for ``complete``.
    outlier_model
        ``"huge"``: outliers that are much larger than measurements. ``"scale"``: outliers of the
        size of measurements, which are harder.

    Returns
    -------
    Plan
        The numbers of measurements, the expected time and memory, and notes on the range.

    See Also
    --------
    robustrank.recover : Recover a matrix; a result that is not certified says what would help.
    robustrank.complete : Complete a matrix, for ``family="entries"``.

    Examples
    --------
    >>> import robustrank as rr
    >>> plan = rr.plan((150, 120), rank=5, outliers=0.1)
    >>> plan.information_limit
    1473
    >>> plan.information_limit < plan.measurements_95 < plan.paper_measurements_95
    True
    """
    question = _checked(shape, rank, outliers, noise, family, outlier_model)
    default, paper = (look_up(question, method) for method in _METHODS)
    counts = {
        (method, share): _attainable(question, answer.needed(share))
        for method, answer in ((DEFAULT, default), (PAPER, paper))
        for share in (_HALF, _MOST)
    }
    most = counts[DEFAULT, _MOST]
    cost = None
    if most is not None and default.curve is not None and default.curve.passes is not None:
        cost = expected_cost(question.shape, rank, most, default.curve.passes)
    return Plan(
        shape=question.shape,
        rank=rank,
        outliers=outliers,
        noise=noise,
        family=family,
        outlier_model=outlier_model,
        degrees_of_freedom=question.freedom,
        information_limit=question.measurements(1.0),
        measurements_50=counts[DEFAULT, _HALF],
        measurements_95=most,
        paper_measurements_50=counts[PAPER, _HALF],
        paper_measurements_95=counts[PAPER, _MOST],
        seconds=None if cost is None else cost.seconds,
        memory_bytes=None if cost is None else cost.memory_bytes,
        notes=_notes(default, paper),
        _answers={DEFAULT: default, PAPER: paper},
    )


def _checked(
    shape: tuple[int, int], rank: int, outliers: float, noise: float, family: str, model: str
) -> Question:
    try:
        n1, n2 = shape
    except (TypeError, ValueError):
        raise ValueError(f"shape={shown(shape)}; expected two numbers, (n1, n2)") from None
    check_count(n1=n1, n2=n2, rank=rank)
    if rank > min(n1, n2):
        raise ValueError(f"rank={rank}; expected 1 ≤ rank ≤ min(n1, n2) = {min(n1, n2)}")
    check_not_negative(outliers=outliers, noise=noise)
    if not outliers < 1:
        raise ValueError(f"outliers={outliers}; expected a fraction, 0 ≤ outliers < 1")
    for name, value, known in (
        ("family", family, FAMILIES),
        ("outlier_model", model, PLANNED_MODELS),
    ):
        if value not in known:
            expected = " or ".join(map(repr, known))
            raise ValueError(f"{name}={shown(value)} is not known; expected {expected}")
    return Question((int(n1), int(n2)), int(rank), float(outliers), float(noise), family, model)


def _attainable(question: Question, needed: int | None) -> int | None:
    """A number of measurements; None if the matrix has fewer entries."""
    if needed is None or question.family != ENTRIES:
        return needed
    return needed if needed <= math.prod(question.shape) else None


def _notes(default: Answer, paper: Answer) -> tuple[str, ...]:
    question = default.question
    notes = [*default.notes, *_missing(default)]
    if question.family == ENTRIES:
        return (*notes, _PAPER_NEEDS_GAUSSIAN, _NO_COST)
    own = [note for note in (*paper.notes, *_missing(paper)) if note not in notes]
    return (*notes, *(f"paper's method: {note}" for note in own))


def _missing(answer: Answer) -> list[str]:
    """Why numbers of measurements are missing although there is a curve."""
    if answer.curve is None:
        return []
    needed = answer.needed(_MOST)
    if needed is None:
        largest = answer.curve.ratio[1]
        return [f"unknown: more than {largest:.2g} inliers per degree of freedom were not tried"]
    if _attainable(answer.question, needed) is None:
        return [f"{needed:,} entries would be needed, more than the matrix has"]
    return []


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{max(seconds, 0.1):.1f} s"
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g}%"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(count / 1e6, 1):.0f} MB"
