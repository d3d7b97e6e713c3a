"""Figures of a result: each function draws on axes of matplotlib, and returns them.

They are the figures of the report page. matplotlib is imported when a function is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from robustrank.report import require
from robustrank.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from robustrank.report.arrays import Arrays
    from robustrank.report.canvas import Sketch
    from robustrank.report.cell_map import NamedTable

__all__ = [
    "cells",
    "components",
    "convergence",
    "groups",
    "matrix",
    "outliers",
    "ranks",
    "residuals",
    "rows",
    "singular_values",
]


def matrix(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the recovered matrix as an image, with a color scale below it.

    Rows and columns that are undecided are grayed out. The rows and columns have the labels of the
    data frame, if the data was one. A matrix with more than 240 rows or columns is drawn with one
    entry for each block.

    Parameters
    ----------
    result
        The result.
    ax
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    robustrank.plot.outliers : The observed entries, with outliers marked.
    robustrank.report.write_report : A page with all figures.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant_entries(40, 30, 2, 800, outliers=0.1, rng=1)
    >>> ax = rr.plot.matrix(rr.complete(planted.incomplete))
    >>> ax.get_images()[0].get_array().shape
    (40, 30, 4)
    """
    arrays = _arrays(result)
    from robustrank.report.images import Images

    return _drawn(Images.of(arrays).of_recovered(), ax)


def outliers(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw where the outliers are.

    Of a completion, the observed entries are drawn as an image, with outliers marked. Other
    measurements have no place in the matrix: the share that is rejected is drawn for blocks of
    successive measurements, which shows a faulty sensor if its measurements are next to each other.

    Parameters
    ----------
    result
        The result.
    ax
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    robustrank.plot.residuals : How clear the distinction between inliers and outliers is.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> ax = rr.plot.outliers(rr.recover(planted.A, planted.y, rank=2))
    >>> ax.get_xlabel(), len(ax.patches)
    ('index of the measurement', 40)
    """
    arrays = _arrays(result)
    if result.of_entries:
        from robustrank.report.images import Images

        return _drawn(Images.of(arrays).of_observed(), ax)
    from robustrank.report.counts import rejected_by_index

    return _drawn(rejected_by_index(arrays), ax)


def groups(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the rejected share of each group of measurements, such as a sensor.

    Parameters
    ----------
    result
        A result of ``recover`` that was computed with ``groups``.
    ax
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the result has no groups.

    See Also
    --------
    robustrank.result.GroupTable : What is wrong with each group.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, rng=1)
    >>> sensor = np.arange(400) % 8
    >>> result = rr.recover(planted.A, np.where(sensor == 5, 0.0, planted.y), groups=sensor)
    >>> ax = rr.plot.groups(result)
    >>> [float(bar.get_height()) for bar in ax.patches[-1:]]
    [1.0]
    """
    if result.groups is None:
        raise ValueError("the result has no groups; expected one that was computed with groups=")
    require("matplotlib", "robustrank.plot")
    from robustrank.report.counts import rejected_by_group

    return _drawn(rejected_by_group(result.groups), ax)


def residuals(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the absolute residuals of inliers and outliers, and the cutoff.

    Parameters
    ----------
    result
        The result.
    ax
        The axes to draw on; by default those of a new figure. The horizontal axis is log₁₀ of the
        absolute residual, labeled with the residuals.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    robustrank.plot.outliers : Where the outliers are.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> ax = rr.plot.residuals(rr.recover(planted.A, planted.y, rank=2))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['380 inliers', '20 rejected']
    """
    arrays = _arrays(result)
    from robustrank.report.histogram import residuals as sketch

    return _drawn(sketch(arrays), ax)


def singular_values(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the singular values of the matrix, largest first.

    Parameters
    ----------
    result
        The result.
    ax
        The axes to draw on; by default those of a new figure. If the values differ much, the
        vertical axis is log₁₀ of them, labeled with the values.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    robustrank.plot.ranks : The ranks that were compared.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> ax = rr.plot.singular_values(rr.recover(planted.A, planted.y, rank=2))
    >>> len(ax.lines[0].get_ydata())
    2
    """
    require("matplotlib", "robustrank.plot")
    from robustrank.report.curves import singular_values as sketch

    return _drawn(sketch(result.singular_values()), ax)


def convergence(result: Result, *others: Result, ax: Axes | None = None) -> Axes:
    """Draw the misfit against the iterations of the solver.

    Parameters
    ----------
    result
        A result of ``recover``.
    *others
        Results of other solvers, to compare with.
    ax
        The axes to draw on; by default those of a new figure. The vertical axis is log₁₀ of the
        misfit, labeled with the misfit.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If no result has a history, because it is one of ``complete`` or ``robust_pca``.

    See Also
    --------
    robustrank.Result : Its ``history`` is drawn.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> results = [rr.recover(planted.A, planted.y, 2, solver=s) for s in ("auto", "median-tgd")]
    >>> ax = rr.plot.convergence(*results)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('iterations', 'misfit')
    """
    if not any(len(one.history) for one in (result, *others)):
        raise ValueError("the result has no history; expected a result of recover")
    require("matplotlib", "robustrank.plot")
    from robustrank.report.curves import convergence as sketch

    return _drawn(sketch([result, *others]), ax)


def ranks(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the error of predictions for each rank that was compared, with the chosen one marked.

    Parameters
    ----------
    result
        A result that was computed without a given rank.
    ax
        The axes to draw on; by default those of a new figure. The vertical axis is log₁₀ of the
        error, labeled with the error.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the result has no rank table, because its rank was given.

    See Also
    --------
    robustrank.RankTable : The numbers that are drawn.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> ax = rr.plot.ranks(rr.recover(planted.A, planted.y))
    >>> ax.lines[1].get_xdata().tolist()
    [2]
    """
    if result.rank_table is None:
        raise ValueError(
            "the result has no rank_table; expected one that was computed without rank="
        )
    require("matplotlib", "robustrank.plot")
    from robustrank.report.curves import ranks as sketch

    return _drawn(sketch(result.rank_table), ax)


def cells(result: Result, rows: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw which cells of a table are wrong or missing.

    Wrong cells are red if they are above what the other cells of their row predict, and blue if
    they are below it; missing ones are gray, and wrong rows are marked by a dot. Of a large table,
    at most 40 rows and 30 columns are drawn, those with the most wrong and missing cells.

    Parameters
    ----------
    result
        A result of ``clean``.
    rows
        The rows to draw instead, in this order, such as those of a time series: a slice of their
        numbers, or a list of their labels (of their numbers, if the table has no labels). More than
        240 rows are drawn in blocks, of which the cell farthest from what is expected is seen.
    ax
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the result is not that of a table, or there are no rows to draw.
    IndexError, KeyError
        If a row is not one of the table.

    See Also
    --------
    robustrank.Result.cells : The numbers that are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> rng = np.random.default_rng(1)
    >>> size = rng.standard_normal((200, 1))
    >>> X = size * [1, 20, 0.3, 500] + rng.standard_normal((200, 4)) * [0.3, 5, 0.1, 100]
    >>> X[7, 1] = 400  # a typing error
    >>> ax = rr.plot.cells(rr.clean(X))
    >>> ax.get_images()[0].get_array().shape
    (12, 4, 4)
    >>> ax = rr.plot.cells(rr.clean(X), slice(0, 100))
    >>> ax.get_images()[0].get_array().shape
    (100, 4, 4)
    """
    named = _named_table(result)
    from robustrank.report.cell_map import cell_map, row_numbers

    return _drawn(cell_map(named, None if rows is None else row_numbers(result, rows)), ax)


def rows(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw how unusual the rows of a table are.

    Dots far up are rows whose cells do not fit together; dots far to the right fit together, but
    are unusually large. The lines are the distances that 99 % of normal rows do not exceed.

    Parameters
    ----------
    result
        A result of ``clean``.
    ax
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the result is not that of a table.

    See Also
    --------
    robustrank.Result.rows : The numbers that are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> rng = np.random.default_rng(1)
    >>> size = rng.standard_normal((200, 1))
    >>> X = size * [1, 20, 0.3, 500] + rng.standard_normal((200, 4)) * [0.3, 5, 0.1, 100]
    >>> X[7, 1] = 400  # a typing error
    >>> X[11] = [5, -100, 2, -3000]  # a row that does not fit together
    >>> ax = rr.plot.rows(rr.clean(X))
    >>> [text.get_text() for text in ax.get_legend().get_texts()][-1]
    '1 wrong as a whole'
    """
    named = _named_table(result)
    from robustrank.report.table_charts import rows as sketch

    return _drawn(sketch(named), ax)


def components(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the loadings of the components of a table, with their share of the variance.

    Each column is in units of its own spread. At most 30 columns and six components are drawn,
    those with the largest loadings and variances.

    Parameters
    ----------
    result
        A result of ``clean``.
    ax
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the result is not that of a table.

    See Also
    --------
    robustrank.plot.rows : The distances of the rows along the components, and from them.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> rng = np.random.default_rng(1)
    >>> size = rng.standard_normal((200, 1))
    >>> X = size * [1, 20, 0.3, 500] + rng.standard_normal((200, 4)) * [0.3, 5, 0.1, 100]
    >>> X[7, 1] = 400  # a typing error
    >>> ax = rr.plot.components(rr.clean(X))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['0', '1', '2', '3']
    """
    named = _named_table(result)
    from robustrank.report.cell_map import components as sketch

    return _drawn(sketch(named), ax)


def _named_table(result: Result) -> NamedTable:
    require("matplotlib", "robustrank.plot")
    from robustrank.report.cell_map import NamedTable

    return NamedTable.of(result)


def _arrays(result: Result) -> Arrays:
    require("matplotlib", "robustrank.plot")
    from robustrank.report.arrays import Arrays

    return Arrays.of(result)


def _drawn(sketch: Sketch, ax: Axes | None) -> Axes:
    """A figure of the report on axes, with its legend above them."""
    from robustrank.report.canvas import add_legend

    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=sketch.size, layout="constrained")
    ax.set_axisbelow(True)
    sketch.paint(ax)
    add_legend(ax, sketch.keys, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    return ax
