"""Estimators for scikit-learn: regression, imputation and PCA that tolerate outliers.

Importing this package imports scikit-learn; ``import robustrank`` does not.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError(
        "robustrank.estimators needs scikit-learn; install it with: pip install "
        "'robustrank[sklearn]'"
    )

from robustrank.estimators.imputer import RobustImputer
from robustrank.estimators.pca import RobustPCA
from robustrank.estimators.regressor import LowRankRegressor
from robustrank.estimators.scoring import robust_r2_score, robust_r2_scorer
from robustrank.estimators.uncertified import UncertifiedFitWarning

__all__ = [
    "LowRankRegressor",
    "RobustImputer",
    "RobustPCA",
    "UncertifiedFitWarning",
    "robust_r2_score",
    "robust_r2_scorer",
]
