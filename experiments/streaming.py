"""``python -m experiments streaming``: rows that arrive in batches, compared with all at once.

Wide rows: 1,000 features of rank 3, 10 and 30, and a block of wrong features that moves by a third
of its length with each row. With exact data, the row space changes once. Ordinary tables: 5 to 60
features without an exact rank, with missing cells, wrong cells and broken rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import click
import numpy as np
from sklearn.decomposition import IncrementalPCA

from robustrank.estimators import RobustImputer, RobustPCA, UncertifiedFitWarning

Matrix = np.ndarray[Any, Any]

FEATURES, ROWS, BATCH = 1_000, 11_000, 100
KINDS = {"exact": (1.0, 0.0), "exact, large": (10.0, 0.0), "noise 1 %": (1.0, 0.01)}
SHARES, RANKS = (0.1, 0.3), (3, 10, 30)
HALF_LIFE = 0.5 ** (1 / 5_000)


def wide_rows(
    rows: int, rank: int, share: float, size: float, noise: float, rng: np.random.Generator
) -> tuple[Matrix, Matrix, Matrix]:
    """Rows with a moving block of wrong features, the same without it, and the true axes."""
    axes = np.linalg.qr(rng.standard_normal((FEATURES, rank)))[0]
    clean = rng.standard_normal((rows, rank)) @ axes.T * np.sqrt(FEATURES / rank)
    clean += noise * rng.standard_normal(clean.shape)
    length = int(share * FEATURES)
    first = np.arange(rows)[:, None] * (length // 3)
    block = (np.arange(FEATURES) - first) % FEATURES < length
    wrong = size * rng.standard_normal(clean.shape) + (size if size > 1 else 0.0)
    return np.where(block, wrong, clean), clean, axes


def error_of(axes: Matrix, found: Matrix) -> float:
    """The sine of the largest angle between the true axes and those that were found (rows)."""
    return float(np.linalg.norm(axes - found.T @ (found @ axes), 2))


def batches(rows: Matrix, size: int) -> Iterator[Matrix]:
    """The rows in batches; the last one may be smaller."""
    return (rows[first : first + size] for first in range(0, len(rows), size))


def principal_axes(rows: Matrix, rank: int) -> Matrix:
    """The principal axes of rows without wrong entries, as rows."""
    centered = rows - rows.mean(axis=0)
    return np.linalg.eigh(centered.T @ centered)[1][:, -rank:].T


def exact_line(rank: int, share: float, kind: str, rows: int) -> str:
    """Errors before a change of the row space, after 5 r rows of the new one, and at the end."""
    rng = np.random.default_rng(rank)
    given, _, axes = wide_rows(rows // 2, rank, share, *KINDS[kind], rng)
    later, _, new_axes = wide_rows(rows // 2, rank, share, *KINDS[kind], rng)
    pca, peer = RobustPCA(rank, forgetting=HALF_LIFE), IncrementalPCA(rank)
    pca.partial_fit(given[: 5 * rank])
    began = time.perf_counter()
    for batch in batches(given[5 * rank :], BATCH):
        pca.partial_fit(batch)
    seconds = (time.perf_counter() - began) / (len(given) - 5 * rank) * 1000
    before = error_of(axes, pca.components_)
    for batch in batches(given, BATCH):
        peer.partial_fit(batch)
    of_peer = error_of(axes, peer.components_)
    for batch in batches(later[: 5 * rank], rank):
        pca.partial_fit(batch)
    changed = error_of(new_axes, pca.components_)
    for batch in batches(later[5 * rank :], BATCH):
        pca.partial_fit(batch)
    after = error_of(new_axes, pca.components_)
    return (
        f"| {rank} | {share:.0%} | {kind} | {before:.0e} | {changed:.0e} | {after:.0e} | "
        f"{of_peer:.2f} | {seconds:.1f} |"
    )


def noisy_line(rank: int, share: float, kind: str, rows: int) -> str:
    """The error after all rows, and that of PCA of the same rows without wrong entries."""
    rng = np.random.default_rng(rank)
    given, clean, axes = wide_rows(rows, rank, share, *KINDS[kind], rng)
    pca, peer = RobustPCA(rank), IncrementalPCA(rank)
    first = 10 * rank
    began = time.perf_counter()
    pca.partial_fit(given[:first])
    start = time.perf_counter() - began
    began = time.perf_counter()
    for batch in batches(given[first:], BATCH):
        pca.partial_fit(batch)
    seconds = (time.perf_counter() - began) / (len(given) - first) * 1000
    for batch in batches(given, BATCH):
        peer.partial_fit(batch)
    error, best = error_of(axes, pca.components_), error_of(axes, principal_axes(clean, rank))
    return (
        f"| {rank} | {share:.0%} | {error:.1e} | {best:.1e} | {error / best:.2f} | "
        f"{error_of(axes, peer.components_):.2f} | {start:.0f} | {seconds:.1f} |"
    )


def ordinary(rows: int, columns: int, seed: int) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """A table, the truth, its broken rows, and the units of its columns."""
    rng = np.random.default_rng(seed)
    rank = max(2, columns // 6)
    axes = rng.standard_normal((rank, columns)) * 0.8 ** np.arange(rank)[:, None]
    scale, center = np.exp(rng.standard_normal(columns)), 10 * rng.standard_normal(columns)
    noise = 0.5 * rng.uniform(0.5, 1.5, columns) * rng.standard_normal((rows, columns))
    truth = center + scale * (rng.standard_normal((rows, rank)) @ axes + noise)
    table = truth + np.where(rng.random(truth.shape) < 0.03, 8.0, 0.0) * scale * (
        rng.standard_normal(truth.shape)
    )
    broken = rng.random(rows) < 0.03
    independent = center + 3 * scale * rng.standard_normal(truth.shape)
    table = np.where(broken[:, None], independent, table)
    table[rng.random(table.shape) < 0.1] = np.nan
    return table, truth, broken, scale


def ordinary_line(columns: int, rows: int, size: int, draws: int) -> str:
    """Errors of hidden cells of new rows: one fit, batches, and their ratio."""
    squares, seconds = np.zeros((draws, 2)), np.zeros(2)
    for draw in range(draws):
        table, truth, broken, scale = ordinary(rows + 400, columns, 100 * columns + draw)
        rng = np.random.default_rng(draw)
        new = table[rows:].copy()
        hidden = (rng.random(new.shape) < 0.2) & ~np.isnan(new) & ~broken[rows:, None]
        new[hidden] = np.nan
        one, many = RobustImputer(), RobustImputer()
        began = time.perf_counter()
        one.fit(table[:rows])
        seconds[0] += time.perf_counter() - began
        began = time.perf_counter()
        for batch in batches(table[:rows], size):
            many.partial_fit(batch)
        seconds[1] += time.perf_counter() - began
        for k, model in enumerate((one, many)):
            residual = (model.transform(new) - truth[rows:]) / scale
            squares[draw, k] = np.mean(residual[hidden] ** 2)
    errors = np.sqrt(squares)
    ratios = errors[:, 1] / errors[:, 0]
    batch, stream = errors.mean(axis=0)
    return (
        f"| {columns} | {rows:,} | {size} | {batch:.3f} | {stream:.3f} | {ratios.mean():.3f} | "
        f"{ratios.max():.3f} | {seconds[0] / draws:.1f} | {seconds[1] / draws:.1f} |"
    )


def lines(rows: int, draws: int, ranks: tuple[int, ...]) -> Iterator[str]:
    """The three tables, in Markdown."""
    yield "| features | rows | batch | one fit | stream | ratio | largest | s (fit) | s (stream) |"
    yield "| --- " * 9 + "|"
    for columns in (5, 12, 30, 60):
        for size, count in ((50, 600), (250, 5_000)):
            yield ordinary_line(columns, min(count, rows), size, draws)
    yield ""
    yield "| rank | block | kind | error | after 5 r | end | IncrementalPCA | s / 1000 rows |"
    yield "| --- " * 8 + "|"
    for rank in ranks:
        for share in SHARES:
            for kind in ("exact", "exact, large"):
                yield exact_line(rank, share, kind, rows)
    yield ""
    yield "| rank | block | error | PCA, clean | ratio | IncrementalPCA | start | s / 1000 rows |"
    yield "| --- " * 8 + "|"
    for rank in ranks:
        for share in SHARES:
            yield noisy_line(rank, share, "noise 1 %", rows)


@click.command()
@click.option(
    "--quick", is_flag=True, help="1,000 rows, ranks 3 and 10, and one draw of each table."
)
def main(quick: bool) -> None:
    """Print the errors of batches of rows, compared with one fit."""
    warnings.simplefilter("ignore", UncertifiedFitWarning)
    for line in lines(*((1_000, 1, (3, 10)) if quick else (ROWS, 5, RANKS))):
        click.echo(line)
