"""The only package with code that is specific to an array library.

Everything numeric is written against the array API standard; what the standard lacks is here.
"""

from robustrank.backend.arguments import (
    Seed,
    as_generator,
    as_seconds,
    check_count,
    check_not_negative,
    check_positive,
    shown,
)
from robustrank.backend.arrays import (
    Array,
    Namespace,
    check_same_device,
    epsilon,
    has_double_precision,
    is_array,
    is_numpy,
    library,
    like,
    namespace,
    reject_masked,
    to_numpy,
)
from robustrank.backend.gpu import (
    DeviceMemoryError,
    Gpu,
    ReducedPrecisionWarning,
    capture_graph,
    explain_memory_errors,
    free_memory,
    full_precision,
    gpus,
    move,
    move_to_device_of,
    on_gpu,
    run_concurrently,
)
from robustrank.backend.libraries import LIBRARIES, load_library, standard_normal
from robustrank.backend.primitives import kth_smallest, solve_positive_definite, thin_svd

__all__ = [
    "LIBRARIES",
    "Array",
    "DeviceMemoryError",
    "Gpu",
    "Namespace",
    "ReducedPrecisionWarning",
    "Seed",
    "as_generator",
    "as_seconds",
    "capture_graph",
    "check_count",
    "check_not_negative",
    "check_positive",
    "check_same_device",
    "epsilon",
    "explain_memory_errors",
    "free_memory",
    "full_precision",
    "gpus",
    "has_double_precision",
    "is_array",
    "is_numpy",
    "kth_smallest",
    "library",
    "like",
    "load_library",
    "move",
    "move_to_device_of",
    "namespace",
    "on_gpu",
    "reject_masked",
    "run_concurrently",
    "shown",
    "solve_positive_definite",
    "standard_normal",
    "thin_svd",
    "to_numpy",
]
