"""``python -m benchmarks NAME``: measure speed and memory; the results are also in out/NAME.json.

``--help`` after the name lists the options.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

BENCHMARKS = {
    "foundation": "speed and memory on the CPU, compared with targets (make bench)",
    "entries": "complete and robust_pca, also relative to other packages; about ten minutes",
    "scale": "data larger than memory, and clusters; about ten minutes and a file of 2 GB",
    "threads": "small problems with and without threads of BLAS, beside a busy process",
    "ranks": "how often the rank is found if none is given, and the cost",
    "gpu": "recover on a CUDA device, with PyTorch",
}


def main() -> None:
    """Run one benchmark with the arguments that follow its name."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in BENCHMARKS:
        listed = [f"  {one:<12}{text}" for one, text in BENCHMARKS.items()]
        print("\n".join(["usage: python -m benchmarks NAME [options]", "", *listed]))
        sys.exit(0 if name in ("-h", "--help") else 2)
    if name == "ranks":  # the threads of its processes would compete for the cores
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    Path("out").mkdir(exist_ok=True)
    sys.argv = [f"python -m benchmarks {name}", *sys.argv[2:]]
    import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":  # worker processes import this module too
    main()
