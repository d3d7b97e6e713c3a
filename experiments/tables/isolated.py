"""Methods that need other versions of packages, run by another Python interpreter.

RobPy's cellwise minimum covariance determinant fails with the NumPy of the tests, and its newest
version needs an older scikit-learn. An environment of its own runs it:

    python -m venv robpy-environment
    robpy-environment/bin/pip install "robpy==0.0.6" "numpy<2.4"
    export ROBUSTRANK_ROBPY_PYTHON=robpy-environment/bin/python

The time of such a method includes about two seconds for the start of the process.
"""

from __future__ import annotations

import io
import os
import subprocess

import numpy as np

from experiments.tables.filled import Filled
from experiments.tables.sources import Matrix, MissingPackageError

VARIABLE = "ROBUSTRANK_ROBPY_PYTHON"

_CELLWISE_MCD = """
import io, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from robpy.covariance.cellmcd import CellMCD
table = np.load(io.BytesIO(sys.stdin.buffer.read()))
found = CellMCD().fit(table)
answer = io.BytesIO()
np.savez(answer, values=found.X_imputed, outliers=found.W == 0, mean=found.location_,
         covariance=found.covariance_)
sys.stdout.buffer.write(answer.getvalue())
"""


def interpreter() -> str | None:
    """The Python interpreter whose environment has RobPy, if one is given."""
    return os.environ.get(VARIABLE)


def cellwise_mcd(table: Matrix) -> Filled:
    """RobPy's cellwise minimum covariance determinant."""
    python = interpreter()
    if python is None:
        raise MissingPackageError(f"set {VARIABLE} to the Python interpreter that has RobPy")
    sent = io.BytesIO()
    np.save(sent, table)
    done = subprocess.run(  # noqa: S603
        [python, "-c", _CELLWISE_MCD], input=sent.getvalue(), capture_output=True, check=False
    )
    if done.returncode:
        raise ValueError(done.stderr.decode(errors="replace").strip().rpartition("\n")[2])
    with np.load(io.BytesIO(done.stdout)) as found:
        flagged = found["outliers"] & ~np.isnan(table)
        return Filled(found["values"], flagged, covariance=found["covariance"], mean=found["mean"])
