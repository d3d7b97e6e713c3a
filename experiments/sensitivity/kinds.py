"""What kind of number each literal of the core is: tuned, derived or a size.

*Tuned* is every number that is not listed here: it was chosen because results were good with it.
A *derived* number follows from something else, by the arithmetic in the comment where it stands. A
*size* limits memory, time or a text, and changes no answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from experiments.sensitivity.literals import Literal

TUNED, DERIVED, SIZE = "tuned", "derived", "size"
KINDS = (TUNED, DERIVED, SIZE)
_PROBABILITY = "derived, a probability"
_QUANTILE = "derived, a quantile"
_ROUNDING = "derived, a rounding bound"
_FORMULA = "derived, by a formula"  # its exponents, counts and units are among these
_PAPER = "derived, the paper's"
_MEMORY, _TIME, _TEXT = "size, of memory", "size, of time", "size, of a text"

# By the key of the literal: a file with the constant, field or function in which it stands.
NOT_TUNED = {
    "api/clean.py:_CELLS": _TIME,
    "api/clean.py:_CELLS_WITH_NOISE": _TIME,
    "api/clean.py:_FEWEST": _TIME,
    "api/clean.py:_ROWS": _TIME,
    "api/clean.py:ROWS_FOR_EACH_COLUMN": _FORMULA,
    "api/clean.py:_certificate": _FORMULA,
    "api/complete.py:_LARGE": _MEMORY,
    "api/many.py:_LARGEST_BATCH": _MEMORY,
    "api/many.py:_batch_size": _MEMORY,
    "api/running.py:memory_needed": _FORMULA,
    "api/running.py:memory_needed#2": _FORMULA,
    "api/running.py:memory_needed#3": _MEMORY,
    "api/streaming.py:_GROWTH": _TIME,
    "api/streaming.py:_LEAST_ROWS": _FORMULA,
    "certificate/conclusion.py:_EVIDENCE": _PROBABILITY,
    "certificate/conclusion.py:noise_objections": _TEXT,
    "certificate/determination.py:_PRECONDITIONED_STEPS": _TIME,
    "certificate/determination.py:_PROBES": _PROBABILITY,
    "certificate/determination.py:_REFINEMENTS": _TIME,
    "certificate/determination.py:_REWEIGHTINGS": _TIME,
    "certificate/determination.py:_ROUNDINGS": _ROUNDING,
    "certificate/determination.py:_STEPS_PER_DEGREE": _TIME,
    "certificate/determination.py:undetermined_part": _PROBABILITY,
    "certificate/evidence.py:CLEARLY": _QUANTILE,
    "certificate/evidence.py:MARGIN": _PROBABILITY,
    "certificate/evidence.py:_EXACT_ROUNDINGS": _ROUNDING,
    "certificate/evidence.py:_HALF_WIDTHS": _QUANTILE,
    "certificate/evidence.py:_LARGEST_STATISTIC": _QUANTILE,
    "certificate/evidence.py:best_set": _FORMULA,
    "certificate/evidence.py:beyond_use": _FORMULA,
    "certificate/held_out.py:_ENOUGH": _QUANTILE,
    "certificate/held_out.py:_HALF": _QUANTILE,
    "certificate/parts.py:_FEW": _TIME,
    "certificate/parts.py:_PROBES": _PROBABILITY,
    "certificate/support.py:_BY_CHANCE": _PROBABILITY,
    "completion/by_columns.py:_COLUMNS": _MEMORY,
    "completion/by_columns.py:_ENTRIES": _MEMORY,
    "completion/noisy_fit.py:empirical_bayes": _TIME,
    "completion/refinement.py:CUTOFF": _QUANTILE,
    "completion/refinement.py:polished": _TIME,
    "completion/search.py:_REPAIRS": _TIME,
    "completion/search.py:_ROUGH_SWEEPS": _TIME,
    "completion/single_rows.py:MOST_ROWS": _TIME,
    "completion/single_rows.py:_SUBSETS": _PROBABILITY,
    "linalg/least_squares.py:LEVERAGE_LIMIT": _ROUNDING,
    "linalg/least_squares.py:ROUNDINGS": _ROUNDING,
    "linalg/least_squares.py:_DIRECT_SIZE": _TIME,
    "linalg/least_squares.py:_DIRECT_SIZE_ON_CPU": _TIME,
    "linalg/least_squares.py:_MAX_ITERATIONS": _TIME,
    "linalg/least_squares.py:_NEWTON_STEPS": _TIME,
    "linalg/low_rank.py:_DENSE_LIMIT": _TIME,
    "linalg/low_rank.py:_FEW_SUBSPACES": _TIME,
    "linalg/low_rank.py:_SMALL_ON_GPU": _TIME,
    "linalg/tangent.py:BLOCK_ENTRIES": _MEMORY,
    "linalg/tangent.py:_BLOCK_ROWS": _MEMORY,
    "linalg/tangent.py:_BLOCK_ROWS_ON_GPU": _MEMORY,
    "noise.py:NoiseModel.describe": _FORMULA,
    "noise.py:NoiseModel.describe#2": _FORMULA,
    "noise.py:_are_rounded": _FORMULA,
    "noise.py:_are_rounded#2": _ROUNDING,
    "noise.py:_are_rounded#3": _FORMULA,
    "noise.py:_first_digit": _FORMULA,
    "noise.py:_growing_variance": _FORMULA,
    "noise.py:PossibleLaws.names": _QUANTILE,
    "noise.py:PossibleLaws.names#2": _QUANTILE,
    "noise_choice.py:ROUNDS": _TIME,
    "noise_choice.py:_WITHIN": _QUANTILE,
    "result/certificate.py:percent": _FORMULA,
    "result/groups.py:_SHOWN": _TEXT,
    "result/groups.py:with_error": _TEXT,
    "result/groups.py:with_error#2": _TEXT,
    "result/groups.py:with_error#3": _TEXT,
    "result/labels.py:SHOWN": _TEXT,
    "result/old_archives.py:FORMATS": _FORMULA,
    "result/old_archives.py:_is_symmetric": _ROUNDING,
    "result/result.py:Result.interval": _PROBABILITY,
    "result/result.py:Result.matrix": _FORMULA,
    "result/result.py:Result.draw": _TIME,
    "result/result.py:Result.matrix#2": _FORMULA,
    "run.py:_ITERATING": _TIME,
    "search/second_solution.py:_STEPS": _TIME,
    "search/second_solution.py:_WITHIN_NOISE": _QUANTILE,
    "search/sensors.py:_POINTS": _TIME,
    "search/sensors.py:_ROUNDS": _TIME,
    "search/sensors.py:_compared": _FORMULA,
    "solvers/base.py:Solver.rounding": _ROUNDING,
    "solvers/driver.py:_REPLAYS": _TIME,
    "solvers/gradient_descent.py:MedianTGD.alpha_y": _PAPER,
    "solvers/gradient_descent.py:MedianTGD.check_every": _TIME,
    "solvers/gradient_descent.py:MedianTGD.step_size": _PAPER,
    "solvers/gradient_descent.py:VanillaGD.balance": _PAPER,
    "solvers/gradient_descent.py:_MOST_STEPS": _PAPER,
    "solvers/message_passing/relations.py:Relations.learned": _FORMULA,
    "solvers/message_passing/shrinkage.py:shrink": _FORMULA,
    "solvers/message_passing/solver.py:MessagePassing.max_iterations": _TIME,
    "solvers/weights.py:CUTOFF_MEDIANS": _PAPER,
    "tables/clean_table.py:_CUT_OFF": _QUANTILE,
    "tables/clean_table.py:_ROUNDING": _ROUNDING,
    "tables/factors.py:MANY": _TIME,
    "tables/factors.py:_BLOCK": _MEMORY,
    "tables/factors.py:_COMPARED": _TIME,
    "tables/factors.py:_LEAST": _ROUNDING,
    "tables/factors.py:_WORK": _TIME,
    "tables/few_factors.py:_SURE": _QUANTILE,
    "tables/held_out.py:_CLEARLY": _QUANTILE,
    "tables/held_out.py:held_out": _FORMULA,
    "tables/held_out.py:held_out#2": _QUANTILE,
    "tables/model.py:SMALLEST": _ROUNDING,
    "tables/model.py:_SWEEPS": _TIME,
    "tables/model.py:_STEPS": _TIME,
    "tables/normal.py:Normal.given": _FORMULA,
    "tables/normal.py:ROUNDING": _ROUNDING,
    "tables/normal.py:_BLOCK": _MEMORY,
    "tables/separated.py:_SKEWED": _TIME,
    "tables/separated.py:_SPLITS": _TIME,
    "tables/separated.py:_STARTS": _TIME,
    "tables/reported.py:_POWER": _PAPER,
    "tables/separated.py:_SURE": _PROBABILITY,
    "tables/separated.py:_outlying": _ROUNDING,
    "tables/shrinkage.py:_LEAST": _ROUNDING,
    "tables/shrinkage.py:Spectrum.best_weight": _TIME,
    "tables/shrinkage.py:_TRIED": _TIME,
    "tables/start.py:_HEIGHT": _PAPER,
    "tables/start.py:_LINEAR": _PAPER,
    "tables/start.py:_SLOPE": _PAPER,
    "tables/start.py:_ZERO": _PAPER,
    "tables/shrinkage.py:_WEIGHTS": _ROUNDING,
    "tables/wrong_cells.py:_PART": _TIME,
    "tables/units.py:(MEDIAN_SIZE, _UPPER_SIZE)": _QUANTILE,
    "tables/units.py:_CHANCE": _QUANTILE,
    "tables/units.py:_DEVIATION": _FORMULA,
    "tables/units.py:_FARTHEST": _ROUNDING,
    "tables/units.py:_LEAST_SKEWED": _FORMULA,
    "tables/units.py:_UPPER": _QUANTILE,
    "uncertainty/covariance.py:_LARGEST_INVERSE": _MEMORY,
}


def kind_of(literal: Literal) -> str:
    """Tuned, or what else it is."""
    return NOT_TUNED.get(literal.key, TUNED)


def count_of(kind: str, literals: Iterable[Literal]) -> int:
    """How many literals are of one of the ``KINDS``."""
    return sum(kind_of(one).startswith(kind) for one in literals)
