"""The estimators as scikit-learn sees them: its own checks, clone, pickle, the missing extra."""

from __future__ import annotations

import doctest
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest
from regression_samples import regression
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import robustrank as rr
from robustrank import estimators
from robustrank.estimators import LowRankRegressor, RobustImputer, RobustPCA

# The default of the regressor passes as well, but takes a minute: hardly any of the data of these
# checks can be certified, and then every candidate is tried.
CHECKED = [
    LowRankRegressor(1, solver="gauss-newton"),
    RobustImputer(),
    RobustImputer(replace_outliers=True, add_indicator=True, keep_empty_features=True),
    RobustPCA(),
    RobustPCA(1),
]

# Array libraries: scikit-learn's checks need SCIPY_ARRAY_API=1 before SciPy is imported. The second
# device of array_api_strict exists for tests only, and robustrank does not know it.
ARRAY_API_CHECKS = """
import sys, warnings
from unittest import SkipTest
from sklearn.utils.estimator_checks import estimator_checks_generator
from robustrank.estimators import LowRankRegressor, RobustImputer, RobustPCA
warnings.simplefilter("ignore")
done = 0
for estimator in (LowRankRegressor(1, solver="gauss-newton"), RobustImputer(), RobustPCA(1)):
    for _, check in estimator_checks_generator(estimator):
        text = str(check)
        mixed = "array_api_mixed" in text and isinstance(estimator, LowRankRegressor)
        same = "array_api_same" in text or "array_api_input" in text
        same = same and ("torch" in text or "strict" in text) and "float32" not in text
        if (mixed or same) and "device1" not in text:
            try:
                check(estimator)
                done += 1
            except SkipTest:
                pass
print(done)
"""


def test_public_names_are_pinned() -> None:
    assert estimators.__all__ == [
        "LowRankRegressor",
        "RobustImputer",
        "RobustPCA",
        "UncertifiedFitWarning",
        "robust_r2_score",
        "robust_r2_scorer",
    ]


@pytest.mark.filterwarnings("ignore::robustrank.estimators.UncertifiedFitWarning")
@parametrize_with_checks(CHECKED)  # type: ignore[untyped-decorator]
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "missing"),
    [(RobustImputer(), True), (RobustPCA(), True), (LowRankRegressor(), False)],
)
def test_what_data_estimators_accept(estimator: Any, missing: bool) -> None:
    tags = get_tags(estimator)
    assert tags.input_tags.allow_nan == missing
    assert tags.array_api_support


def test_array_libraries() -> None:
    """With array API dispatch, what goes in as a PyTorch tensor comes out as one."""
    done = subprocess.run(
        [sys.executable, "-c", ARRAY_API_CHECKS],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 9


@pytest.mark.parametrize("name", ["imputer", "pca", "regressor", "scoring"])
def test_docstring_examples_run(name: str) -> None:
    tested = doctest.testmod(import_module(f"robustrank.estimators.{name}"))
    assert tested.attempted > 0
    assert tested.failed == 0


def test_missing_extra_is_explained() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import robustrank.estimators"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert "needs scikit-learn; install it with: pip install 'robustrank[sklearn]'" in done.stderr


def fitted() -> list[tuple[Any, Any, str]]:
    """An estimator of each kind, fitted, with data for one of its methods."""
    problem = regression(150, (6, 5), 1, intercept=2.0)
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 10))
    incomplete = np.where(rng.random(matrix.shape) < 0.8, matrix, np.nan)
    return [
        (LowRankRegressor(1).fit(problem.X, problem.y), problem.X, "predict"),
        (RobustImputer(replace_outliers=True).fit(incomplete), incomplete, "transform"),
        (RobustPCA(2).fit(incomplete), incomplete, "score_samples"),
    ]


def test_clone_and_pickle() -> None:
    for estimator, X, method in fitted():
        copy = clone(estimator)
        assert copy.get_params() == estimator.get_params()
        assert not [name for name in vars(copy) if name.endswith("_")]
        loaded = pickle.loads(pickle.dumps(estimator))
        assert loaded.result_.status is estimator.result_.status
        np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(estimator, method)(X))


@pytest.mark.parametrize("estimator", [RobustImputer(), RobustPCA(1)])
def test_columns_of_data_frames_are_checked(estimator: Any) -> None:
    values = np.outer(np.arange(1.0, 13.0), [1.0, 2.0, 3.0])
    frame = pd.DataFrame(values, columns=list("abc"))
    with pytest.raises(TypeError, match="columns that are not numbers: 'b'"):
        estimator.fit(frame.assign(b=frame["b"].astype(str)))
    estimator.fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.transform(frame[["c", "b", "a"]])


def test_warnings_point_at_the_caller() -> None:
    noise = np.random.default_rng(1).standard_normal((60, 8))
    calls: list[Callable[[], Any]] = [
        lambda: RobustImputer().fit(noise),
        lambda: make_pipeline(RobustPCA(1)).fit(noise),
    ]
    for call in calls:
        with pytest.warns(
            estimators.UncertifiedFitWarning, match="not predicted clearly"
        ) as caught:
            call()
        assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("estimator", [RobustImputer, RobustPCA])
def test_only_results_that_cannot_be_used_are_a_warning(estimator: Any) -> None:
    rng = np.random.default_rng(1)
    table = rng.standard_normal((80, 1)) + 0.5 * rng.standard_normal((80, 6))
    assert estimator().fit(table).result_.status is rr.Status.PREDICTIVE
    with pytest.warns(estimators.UncertifiedFitWarning, match="time limit"):
        estimator(time_limit=1e-9).fit(table)
