"""Sentences of the documentation, written with the constants of the code.

A part of a sentence is enough; line breaks do not matter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robustrank import problem
from robustrank.api import many
from robustrank.api.complete import _LARGE
from robustrank.certificate import (
    conclusion,
    determination,
    evidence,
    held_out,
    parts,
    rank_check,
    support,
)
from robustrank.completion import conclusion as completed
from robustrank.completion import sample
from robustrank.completion import search as completion
from robustrank.completion.ridge_path import RidgePath
from robustrank.linalg import least_squares, low_rank
from robustrank.operators import linear_map
from robustrank.outofcore import sharded
from robustrank.planning import curves
from robustrank.result import rank_table
from robustrank.search import final_fit, one_problem, second_solution
from robustrank.solvers import base, evidence_fit, gauss_newton
from robustrank.solvers.message_passing import mixture
from robustrank.solvers.message_passing import solver as messages
from robustrank.solvers.portfolio import FAULTS, MESSAGES, SOFT
from robustrank.uncertainty import covariance

_WORDS: tuple[str, ...] = ("zero", "one", "two", "three", "four", "five", "six", "seven")
_WORDS += ("eight", "nine", "ten", "eleven", "twelve", "thirteen")


def word(number: float | None) -> str:
    """A small whole number in words."""
    assert number is not None
    assert number == int(number)
    return _WORDS[int(number)]


def percent(share: float) -> str:
    """A share with at most three digits, as the pages write it."""
    return f"{100 * share:.3g} %"


def small(number: float) -> str:
    """A small number as the pages write it, 1e-6 instead of 1e-06."""
    return f"{number:g}".replace("e-0", "e-") if number < 1e-4 else f"1e{math.log10(number):.0f}"


def _inner_accuracy(misfit: float) -> float:
    return float(gauss_newton.GaussNewton._accuracy(np.asarray(misfit), 1e-16))


_path = RidgePath()
_first_messages: Any = MESSAGES.first
_fault_messages: Any = FAULTS.first
_last_fit: Any = MESSAGES.second
_exact = small(evidence._SMALL)
_low, _high = evidence._USUAL_KURTOSIS
_last_step = gauss_newton._SMALLEST_VALUES * SOFT.tolerance
_last_roundings = gauss_newton._ROUNDINGS * SOFT.tolerance

STATED: dict[str, list[str]] = {
    "docs/how-it-works.md": [
        f"relative residual of {_inner_accuracy(1.0):g} at first, and of "
        f"{_inner_accuracy(0.01) / 0.01:g} times the misfit later",
        f"a schedule that decreases by {percent(1 - SOFT.damping.decay)} per step",
        f"The width ω starts at {word(SOFT.weighting.width)} typical measurements",
        f"It decreases by {percent(1 - SOFT.weighting.decay)} per step, and is never more than "
        f"{word(SOFT.weighting.max_medians)} medians",
        f"When the misfit falls below {small(gauss_newton._SMALL)}, the damping",
        f"the misfit is below {percent(gauss_newton._LARGE_NOISE)} and the step size falls below "
        f"{base.SMALL_STEP:g} times the error",
        f"and by the others after {_last_fit.settling.start_after} steps, because",
        f"changes the factors by less than {small(gauss_newton._SMALL)}",
        f"The truncation is at {word(SOFT.settling.alpha_h)} medians",
        f"After {word(gauss_newton._ENOUGH_STEPS)} steps the set of inliers is frozen",
        f"once a step is shorter than {small(low_rank.TOLERANCE)}",
        f"by {mixture._ON_AXIS // 2} narrow normal components on each side",
        f"estimated by {word(messages._MIXTURE_UPDATES)} steps of expectation–maximization",
        f"has {mixture._BETWEEN_QUANTILES - 2} more components, between quantiles",
        f"The iteration continues to an error of {small(_fault_messages.target_error)} whatever",
        f"When its error is below {_first_messages.target_error_at_full_rank:g} times the estimate "
        f"and no singular value is zero, or else below {small(_first_messages.target_error)}",
        f"its error is {small(_first_messages.target_error)}, or it makes no more progress",
        f"twice the rank of the first solver and at least {word(rank_table.FIRST_RANKS)}",
        f"ends after {_first_messages.patience} steps without progress",
        f"more than {percent(problem._COMMON_PART)} of ‖A_i‖²",
        f"narrowed by a factor of {evidence_fit._DECAY:g} per step",
        f"to the singular values above {word(rank_check._CLEAR_OF_NOISE)} times the edge of the",
        f"Gauss–Newton with p = {SOFT.weighting.power:g} and a cutoff of "
        f"{word(SOFT.weighting.cutoff_medians)} medians, at most {SOFT.max_iterations} steps",
    ],
    "docs/guide/certificate.md": [
        f"by more than a factor of {final_fit._SIMILAR:g} between the tenth and the ninetieth",
        f"at an angle below {parts._ANGLE:g}, are repetitions",
        f"by {word(parts._PROBES)} random directions in the tangent map (neighbors in "
        f"{parts._PROBES} dimensions at an angle of {parts._ANGLE:g}",
        f"confirmed by {word(parts._PROBES)} more, and only then by "
        f"{word(2 * parts._PROBES)} passes",
        f"its residual is at most {_exact} ({evidence._EXACT_ROUNDINGS:,} machine epsilons in "
        "float32)",
        f"within the tolerance are below {1 / evidence.MARGIN:g} times it, they are noise",
        f"more than {word(evidence.MARGIN - 1)} residuals (plus {word(evidence.MARGIN - 1)} "
        f"times {_exact} m) are above the tolerance and within {word(evidence.MARGIN)} times it",
        f"must fit d + {evidence.MARGIN} + {evidence.MARGIN} · {_exact} m measurements",
        f"may be fitted to {determination.NEGLIGIBLE:g} in all of "
        f"{word(determination._PROBES)} cases",
        f"(below {small(support._INFORMS)} of the largest, in energy)",
        f"that differ by {percent(determination.NEGLIGIBLE)} of what one",
        f"At least {word(support.EXTRA)} measurements more than the rank",
        f"must be at most {small(support._BY_CHANCE)} divided by the number of rows and columns",
        f"Where at least 2 r + {support.BEYOND_CHANCE} are rejected",
        f"The last step is at most {_last_step:g} σ_r (or {_last_roundings:,.0f} roundings of ‖X‖",
        f"is below τ and above {evidence.CLEARLY:g} σ add",
        f"if there are at most {least_squares._DIRECT_SIZE_ON_CPU} unknowns r (n1 + n2)",
        f"if their evidence is larger by {final_fit._CLEARLY_MORE:g} for each measurement",
        f"if the evidence is at least {final_fit._COMPROMISE:g} d and the residuals have a "
        f"kurtosis below {_low:g}, a skewness above {evidence._CONSPICUOUS:g} "
        f"standard deviations, or grow with the prediction by {evidence._CONSPICUOUS:g}",
        f"above {word(rank_check._CLEAR_OF_NOISE)} times the edge of the noise and, if there "
        f"are fewer than {rank_check.FEW_INLIERS:g} d inliers",
        f"the noise is at most {percent(conclusion.NOISE_LIMIT / 2)} of τ where there are fewer "
        f"than {rank_check.FEW_INLIERS:g} inliers for each degree of freedom",
        f"goes on for {word(base.PATIENCE)} steps without improvement",
        f"if the noise is at most {percent(one_problem._LOW_NOISE)} of τ and the statistics",
        f"(up to {evidence._CONSPICUOUS:g}, and a kurtosis between {_low:g} and {_high:g})",
        f"by more than {word(evidence.CLEARLY)} times their expected errors",
        f"**Evidence**: at least {conclusion._EVIDENCE:g}",
        f"also needs {conclusion._REDUNDANT} inliers more than degrees of freedom",
        f"Noise at most {percent(conclusion.NOISE_LIMIT)} of τ**, and **expected error at most "
        f"{percent(conclusion.NOISE_LIMIT)}**",
        f"from {word(determination._TRACE_PROBES)} random tangent vectors",
        f"at most {conclusion.HELD_OUT_LIMIT:g} τ, and more than half must be predicted to "
        f"{conclusion._PREDICTED:g} times the largest residual",
        f"At least {held_out._ENOUGH} are predicted, or all",
        f"must be below {evidence._LARGEST_STATISTIC:g}. The kurtosis must be below "
        f"{evidence._LARGEST_KURTOSIS:g}",
        f"at most {percent(evidence._MOST_NEAR)} of the inliers' number may be rejected",
        f"by a margin of {percent(conclusion._MARGIN)}",
        f"at least {support._CONTESTABLE:g} times as many as the supporting ones",
        f"fits {word(support.BEYOND_CHANCE)} measurements more than it has parameters "
        f"(for noise: to {second_solution._WITHIN_NOISE:g} σ)",
        f"(a cosine above {1 - determination.NEGLIGIBLE:g}, or less than "
        f"{percent(determination.NEGLIGIBLE)} of its norm)",
        f"at least {support.OPPOSITE:g} times as many as the inliers",
    ],
    "docs/guide/completion.md": [
        f"alternating {sample._LEVEL:g}-quantiles of log |value|",
        f"a ridge that decreases from {_path.ridge:g} times the largest singular value by a factor "
        f"of {_path.decay:g}, for {_path.steps} steps",
        f"leaves at most {percent(completion.EXPLAINED)} of a typical entry",
        f"more than {_LARGE // 10**6} million entries is split",
        f"at least {word(support.EXTRA)} inliers more than unknowns",
        f"(in {word(determination._PROBES)} random trials, more than "
        f"{percent(determination.NEGLIGIBLE)} of an error is left as its residual)",
        f"the probability that they determine the row is at most {small(support._BY_CHANCE)}",
        f"does not fit nearly as many entries ({support.OPPOSITE:g} times)",
        f"its residual is at most {_exact} (1,000 machine epsilons in float32) of a typical entry",
        f"and {word(evidence.MARGIN)} more than it has degrees of freedom",
        f"needs {percent(0.5 + conclusion._MARGIN)} of the entries and "
        f"{conclusion._REDUNDANT} more than degrees of freedom; noise of at most "
        f"{percent(completed._LARGEST_NOISE)} of a typical entry",
        f"(up to a factor of {completed._AS_EXPECTED:g}) and show an error of the matrix of "
        f"at most {percent(conclusion.HELD_OUT_LIMIT)}",
        f"a largest singular value of at most {completed._STRUCTURE:g} times that with random",
    ],
    "docs/guide/rank.md": [
        f"by a factor of at least {word(rank_table._CLEAR)} while",
        f"leaves at most {percent(completion.EXPLAINED)} of a typical entry",
        f"up to {evidence.largest_structure_of_noise((300, 250)):.2f} at 300 × 250, and "
        f"{evidence.largest_structure_of_noise((60, 12)):.2f} at 60 × 12",
    ],
    "docs/guide/error-bars.md": [f"Up to {covariance._LARGEST_INVERSE:,} unknowns"],
    "docs/guide/gpu.md": [f"that fit in memory, up to {many._LARGEST_BATCH}"],
    "docs/guide/measurements.md": [f"estimated by {linear_map._NORM_PROBES} products"],
    "docs/guide/planning.md": [
        f"d + {curves.REDUNDANT}, and with noise d + {curves.REDUNDANT_WITH_NOISE}"
    ],
    "docs/guide/scale.md": [
        f"shards of {sharded._SHARD_BYTES // 2**20} MiB, or at most {sharded._MOST_SHARDS:,} "
        "larger ones",
    ],
    "docs/guide/troubleshooting.md": [
        f"A row needs at least {word(support.EXTRA)} more inliers than the rank",
        f"results with more than {conclusion.NOISE_LIMIT:.0%} noise are not certified",
    ],
    "README.md": [
        f"above {percent(conclusion.NOISE_LIMIT)} of a typical measurement "
        f"({percent(completed._LARGEST_NOISE)} for entries)"
    ],
}
