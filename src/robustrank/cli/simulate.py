"""``robustrank simulate``: write a planted problem to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from robustrank.cli.data import MatrixShape, describe_seeded
from robustrank.cli.progress import meter
from robustrank.files import atomic_path, atomic_writer, check_writable, create_npy
from robustrank.simulate import (
    OUTLIER_MODELS,
    Planted,
    find_outlier_model,
    plant,
    plant_seeded,
    sensing_seed,
)

_MODELS = "\n".join(f"  {name:<10} {model.description}" for name, model in OUTLIER_MODELS.items())


class OutlierModelName(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """``huge`` or ``offset:0.1`` on the command line."""

    name = "NAME[:STRENGTH]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            find_outlier_model(value)
        except ValueError as error:
            self.fail(str(error).removeprefix("outlier_model="))
        return str(value)


@click.command(epilog=f"\b\nOutlier models:\n{_MODELS}")
@click.argument("output", type=click.Path(path_type=Path))
@click.option(
    "--shape", type=MatrixShape(), default="150x120", show_default=True, help="Shape of the matrix."
)
@click.option(
    "--rank", type=click.IntRange(min=1), default=5, show_default=True, help="Rank of the matrix."
)
@click.option(
    "-m",
    "--measurements",
    type=click.IntRange(min=1),
    default=2400,
    show_default=True,
    help="Number of measurements.",
)
@click.option("--outliers", type=float, default=0.05, show_default=True, help="Outlier fraction.")
@click.option(
    "--model",
    type=OutlierModelName(),
    default="huge",
    show_default=True,
    help="Distribution of the outliers; see below.",
)
@click.option(
    "--noise",
    type=float,
    default=0.0,
    show_default=True,
    help="Standard deviation of the noise, relative to that of a measurement.",
)
@click.option("--condition-number", type=float, help="Ratio of the singular values σ_1/σ_r.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    default="float64",
    show_default=True,
    help="Precision of the sensing data.",
)
@click.option("--seed", type=int, help="Random seed; the same seed gives the same problem.")
@click.option(
    "--sensing",
    type=click.Path(path_type=Path),
    help="Write the sensing data to this .npy file instead of OUTPUT; it may exceed memory.",
)
@click.option(
    "--seeded",
    type=click.Choice(["gaussian", "sign"]),
    help="Write only the seed of the sensing data, which `recover` regenerates: entries that are "
    "standard normal or ±1. OUTPUT then has kilobytes, whatever the size of A.",
)
def simulate(output: Path, sensing: Path | None, seeded: str | None, **model: Any) -> None:
    """Plant a low-rank matrix, measure it, corrupt some measurements, and write OUTPUT (.npz).

    OUTPUT contains A and y for `robustrank recover`, and the true matrix to compare with.
    """
    if sensing is not None and seeded is not None:
        raise ValueError("pass --sensing or --seeded, not both: seeded data is not stored")
    for path, suffix in ((output, ".npz"), (sensing, ".npy")):
        if path is not None and path.suffix != suffix:
            raise ValueError(f"{path} must end in {suffix}")
        if path is not None:
            check_writable(path)
    if sensing is not None:
        with atomic_path(sensing) as part:  # kept only if OUTPUT can be written too
            planted = _plant(part, None, **model)
            _write(output, planted)
    elif seeded is not None:
        planted = _plant(None, seeded, **model)
        size = model["measurements"], model["shape"]
        seed = sensing_seed(planted.seed)
        _write(output, planted, **describe_seeded(*size, seed, seeded, model["dtype"]))
    else:
        planted = _plant(None, None, **model)
        _write(output, planted, A=planted.A)
    _print_summary(planted, output, sensing)


def _write(output: Path, planted: Planted, **more: Any) -> None:
    arrays = {
        "y": planted.y,
        "truth_left": planted.left,
        "truth_right": planted.right,
        "truth_outliers": planted.outliers,
        "seed": np.asarray(planted.seed),
    }
    with atomic_writer(output) as stream:
        np.savez(stream, **arrays, **more)


def _plant(sensing: Path | None, seeded: Any, shape: tuple[int, int], **model: Any) -> Planted:
    arguments = {
        "rank": model["rank"],
        "measurements": model["measurements"],
        "outliers": model["outliers"],
        "outlier_model": model["model"],
        "noise": model["noise"],
        "condition_number": model["condition_number"],
        "dtype": model["dtype"],
        "rng": model["seed"],
    }
    with meter("measuring") as show:
        arguments["progress"] = lambda fraction: show(fraction, "")
        if seeded is not None:
            return plant_seeded(*shape, **arguments, ensemble=seeded)
        if sensing is None:
            return plant(*shape, **arguments)
        out = _reserve(sensing, (model["measurements"], *shape), model["dtype"])
        planted = plant(*shape, **arguments, out=out)
        out.flush()
        return planted


def _reserve(path: Path, shape: tuple[int, int, int], dtype: str) -> np.memmap[Any, Any]:
    try:
        return create_npy(path, shape, dtype)
    except (OSError, OverflowError, ValueError) as error:
        size = np.prod(shape, dtype=float) * np.dtype(dtype).itemsize
        raise ValueError(f"cannot create a file of {size / 1e9:,.2g} GB for A: {error}") from error


def _print_summary(planted: Planted, output: Path, sensing: Path | None) -> None:
    m, n1, n2 = len(planted.y), len(planted.left), len(planted.right)
    where = f"{output} and {sensing}" if sensing else str(output)
    click.echo(
        f"{where}: {m:,} measurements of a {n1} × {n2} matrix of rank {planted.rank}, "
        f"{int(planted.outliers.sum()):,} of them corrupted, seed {planted.seed}"
    )
    extra = f" --sensing {sensing}" if sensing else ""
    click.echo(f"next: robustrank recover {output}{extra} --rank {planted.rank}")
