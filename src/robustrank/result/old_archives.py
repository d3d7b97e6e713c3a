"""Headers of results that earlier versions saved, in the form of this version."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]

# The formats of earlier versions with their last version: results of recover, and of complete.
_RECOVERY, _COMPLETION = "robustrank-recovery", "robustrank-completion"
FORMATS = {_RECOVERY: 3, _COMPLETION: 1}
# Statuses of runs that ended early, and those with another name.
_STOPPED = {
    "TIME_LIMIT": "TIME_LIMIT",
    "STOPPED": "CALLBACK",
    "INTERRUPTED": "INTERRUPTED",
    "ITERATION_LIMIT": "ITERATIONS",
    "DIVERGED": "DIVERGED",
}
_STATUSES = {
    "SETTLED": "ESTIMATED",
    "UNEXPLAINED": "INCONCLUSIVE",
    **dict.fromkeys(_STOPPED, "INCONCLUSIVE"),
}
_NOT_CERTIFIED = "the version of robustrank that saved the result did not certify it"


def current_header(header: dict[str, Any], arrays: dict[str, Matrix]) -> dict[str, Any]:
    """The header as this version writes it; that of an earlier version is translated."""
    if type(header.get("noise_model", "")) is str:  # a name, or none at all
        rows = header.get("noise_model", "proportional") == "proportional"
        header = header | {"noise_model": {"of_rows": rows, "levels": []}}
    if header["format"] == _RECOVERY:
        return _of_recovery(header, arrays)
    return _of_completion(header) if header["format"] == _COMPLETION else header


def _of_recovery(header: dict[str, Any], arrays: dict[str, Matrix]) -> dict[str, Any]:
    old, shape = header["certificate"], (len(arrays["left"]), len(arrays["right"]))
    run = _run(header)
    exact = old["exact_fits"] >= old["required"] and not old["objections"]
    certificate = old | {
        "supporting": old["exact_fits"] if exact else old["inliers"],
        "decided_rows": shape[0],
        "decided_columns": shape[1],
        "objections": _objections(old["objections"], run),
    }
    symmetric = header.get("symmetric")
    return header | {
        **run,
        "certificate": certificate,
        "noise": 0.0 if exact else old["sigma"],
        "typical_size": old["sigma"] / old["noise"] if old["noise"] > 0 else math.nan,
        "attempts": [one | _run(one) for one in header["attempts"]],
        "rank_table": header.get("rank_table"),
        "data": header.get("data", ""),
        "remedy": header.get("remedy", ""),
        "symmetric": _is_symmetric(arrays) if symmetric is None else symmetric,
        "is_frame": False,
        "row_labels": None,
        "column_labels": None,
    }


def _of_completion(header: dict[str, Any]) -> dict[str, Any]:
    old, typical = dict(header["certificate"]), header["typical_size"]
    entries, sigma, trivial = old.pop("entries"), old.pop("noise"), old["trivial_error"]
    run = _run(header)
    certificate = old | {
        "measurements": entries,
        "independent": entries,
        "exact_fits": old["inliers"] if sigma == 0 else 0,
        "sigma": sigma,
        "noise": sigma / typical if typical else 0.0,
        "held_out_error": old["held_out_error"] / trivial if trivial else math.inf,
        "expected_error": old["expected_error"] / trivial if trivial else math.inf,
        "objections": _objections(old["objections"], run),
        "noise_statistics": [],
        "contested": [],
    }
    return header | {
        **run,
        "certificate": certificate,
        "cutoff": None,
        "solver": "",
        "iterations": 0,
        "passes": 0.0,
        "data": "",
        "remedy": "",
        "symmetric": False,
        "attempts": [],
        "alternative": None,
    }


def _run(record: dict[str, Any]) -> dict[str, Any]:
    """The status of a result or of an attempt, under its present name, and why the run ended."""
    name = record["status"]
    return {"status": _STATUSES.get(name, name), "stopped": _STOPPED.get(name)}


def _objections(known: list[str], run: dict[str, Any]) -> list[str]:
    """The reasons against a result; earlier versions did not list all of them."""
    certified = run["status"] in ("RECOVERED", "ESTIMATED", "AMBIGUOUS")
    return known if known or certified else [_NOT_CERTIFIED]


def _is_symmetric(arrays: dict[str, Matrix]) -> bool:
    """Whether a result is one for symmetric matrices, if the file does not say that.

    The matrix of such a result is symmetric up to rounding, √10⁴ epsilons for sums of ten thousand
    products, and others with noise are not.
    """
    left, right = arrays["left"], arrays["right"]
    if left.shape != right.shape:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = left @ right.T
        rounding = 100 * float(np.finfo(left.dtype).eps) * float(np.linalg.norm(matrix))
        return float(np.linalg.norm(matrix - matrix.T)) <= rounding
