"""Images with salt and pepper, one in each row of a table; two methods that know images."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from experiments.rows import Row
from experiments.tables.filled import Filled
from experiments.tables.hiding import Mask
from experiments.tables.measure import finite, rms, rounded
from experiments.tables.seeds import Seeded
from experiments.tables.sources import Matrix, images

_WRONG = 0.1  # of the pixels; half of them black, half of them white
_RANKS = (2, 5, 10, 20, 40)
_SWEEPS = 50


@dataclass(frozen=True, eq=False)
class PictureProblem:
    """Images with wrong pixels."""

    truth: Matrix
    given: Matrix
    wrong: Mask
    size: tuple[int, int]

    @functools.cached_property
    def peers(self) -> Row:
        """The errors of a 3 × 3 median filter and of PCA that knows the correct pixels."""
        filtered = median_filter(self.given.reshape(-1, *self.size), size=(1, 3, 3))
        told = min(rms(known_pixels(self.given, self.wrong, r) - self.truth) for r in _RANKS)
        median = rms(filtered.reshape(self.truth.shape) - self.truth)
        return {"median filter": rounded(median), "PCA": rounded(told)}

    def about(self) -> Row:
        """The errors of the two methods that know images."""
        return dict(self.peers)

    def scored(self, filled: Filled) -> Row:
        """The root mean square error of all pixels, if wrong ones are replaced."""
        if not finite(filled.values, self.truth.shape):
            return {"failure": "the values are not finite or have another shape"}
        return {"error": rounded(rms(filled.values - self.truth))}


@dataclass(frozen=True)
class PictureCell(Seeded):
    """Draws of salt and pepper on the same images."""

    name: str

    @property
    def key(self) -> str:
        """The setting as one line."""
        return f"{self.name} with salt and pepper {_WRONG:g}"

    def draw(self, trial: int) -> PictureProblem:
        """The problem of a trial."""
        return _drawn(self, trial)


@functools.lru_cache(maxsize=4)
def _drawn(cell: PictureCell, trial: int) -> PictureProblem:
    rng, pictures = np.random.default_rng(cell.seed(trial)), images(cell.name)
    truth = pictures.reshape(len(pictures), -1)
    salted = rng.random(truth.shape) < _WRONG
    given = np.where(salted, rng.integers(0, 2, truth.shape), truth)
    height, width = pictures.shape[1:]
    return PictureProblem(truth, given, given != truth, (height, width))


def known_pixels(table: Matrix, wrong: Mask, rank: int) -> Matrix:
    """Wrong pixels predicted by principal components of the correct ones, found iteratively."""
    values = np.where(wrong, np.nan, table)
    values = np.where(wrong, np.nan_to_num(np.nanmean(values, axis=0)), table)
    for _ in range(_SWEEPS):
        mean = values.mean(axis=0)
        U, s, V = np.linalg.svd(values - mean, full_matrices=False)
        fitted = mean + (U[:, :rank] * s[:rank]) @ V[:rank]
        values = np.where(wrong, fitted, table)
    return values


PICTURES = (PictureCell("digits"), PictureCell("faces"))
