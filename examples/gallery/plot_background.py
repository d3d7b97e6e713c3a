"""
Background of a surveillance clip
=================================

A fixed camera films people who walk through a scene. With one column for each frame, the matrix of
the pixels is a background of low rank, which allows for slow changes of the light, plus a
foreground that covers few pixels of each frame. ``robust_pca`` separates the two.

The clip is ``vtest.avi`` of OpenCV's sample data: 795 frames of 576 × 768 pixels. On Debian and
Ubuntu it is installed by ``apt-get install opencv-doc``; elsewhere, pass the path of a copy with
``--data``. The frames are decoded by PyAV (``pip install av``).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import robustrank as rr

Array = np.ndarray[Any, Any]

CLIP = Path("/usr/share/doc/opencv-doc/examples/data/vtest.avi")


# %%
# The frames
# ----------
#
# Every ``step``-th frame is used, converted to gray and reduced in size by averaging blocks of
# ``shrink`` × ``shrink`` pixels. The defaults leave 159 frames of 144 × 192 pixels.


def read_frames(path: Path, step: int, shrink: int) -> Array:
    """Gray frames of a clip, (frames, height, width), as float32."""
    if not path.is_file():
        sys.exit(
            f"The clip {path} does not exist. Install it with 'apt-get install opencv-doc', or "
            "pass the path of a copy of OpenCV's vtest.avi with --data."
        )
    try:
        import av  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        sys.exit(
            "PyAV, which decodes the clip, is not installed. Install it with 'pip install av'."
        )
    with av.open(str(path)) as clip:
        decoded = (frame for k, frame in enumerate(clip.decode(video=0)) if k % step == 0)
        return np.stack([_shrunk(frame.to_ndarray(format="gray"), shrink) for frame in decoded])


def _shrunk(frame: Array, factor: int) -> Array:
    height, width = (size // factor for size in frame.shape)
    blocks = frame[: height * factor, : width * factor].reshape(height, factor, width, factor)
    return np.asarray(blocks.mean(axis=(1, 3), dtype=np.float32))


# %%
# Background and foreground
# -------------------------
#
# Each row of the matrix is a frame. A matrix as large as the whole clip, 350 million pixels, is
# split by blocks of pixels and never copied.


@dataclass(frozen=True, eq=False)
class Separation:
    """Frames, and the result of ``robust_pca``."""

    frames: Array
    result: rr.Result

    def background(self, k: int) -> Array:
        """The background of a frame."""
        pixels: Array = self.result.right @ self.result.left[k]
        return pixels.reshape(self.frames.shape[1:])

    def outliers(self, k: int) -> Array:
        """The rejected pixels of a frame."""
        flags: Array = self.result.outliers[k]
        return flags.reshape(self.frames.shape[1:])


def separate(frames: Array, rank: int) -> Separation:
    """Separate the background of some frames from what moves in front of it."""
    return Separation(frames, rr.robust_pca(frames.reshape(len(frames), -1), rank))


# %%
# What can be expected
# --------------------
#
# The pixels are 8-bit numbers from a compressed clip, and the scene has soft shadows and a barrier
# tape that moves. The residuals of the background are not independent noise. The certificate
# detects this, and the status is ``INCONCLUSIVE``: the residuals have structure that a matrix of
# this rank does not describe. The separation is good enough to look at and to find moving objects,
# but it is not certified, and the boundary between a soft shadow and the background is a matter of
# definition.
#
# For comparison, the simplest background is the median of each pixel over time. It is the same in
# all frames; the low-rank background follows changes of the light.


def report(separation: Separation) -> None:
    """Print what was measured."""
    frames, result = separation.frames, separation.result
    some = range(0, len(frames), max(1, len(frames) // 50))
    median = np.median(frames[:: max(1, len(frames) // 200)], axis=0)
    constant = np.median([np.abs(frames[k] - median) for k in some])
    residual = np.median([np.abs(frames[k] - separation.background(k)) for k in some])
    print(f"frames            {frames.shape[0]} of {frames.shape[1]} × {frames.shape[2]} pixels")
    print(f"time              {result.seconds:.1f} s")
    print(f"foreground        {result.outliers.mean():.1%} of the pixels are outliers")
    print(f"typical residual  {residual:.2f} gray levels (low-rank background)")
    print(f"                  {constant:.2f} gray levels (median over time)")
    print(f"status            {result.status.name}")
    for objection in result.certificate.objections:
        print(f"objection         {objection}")


def draw(separation: Separation) -> Figure:
    """Three frames, their background and their foreground."""
    frames = separation.frames
    chosen = [len(frames) * part // 8 for part in (1, 4, 6)]
    height, width = frames.shape[1:]
    figure, axes = plt.subplots(
        3, 3, figsize=(9, 9.3 * height / width), layout="constrained", squeeze=False
    )
    for column, k in enumerate(chosen):
        background = separation.background(k)
        foreground = np.where(separation.outliers(k), np.abs(frames[k] - background), 0)
        axes[0, column].imshow(frames[k], cmap="gray", vmin=0, vmax=255)
        axes[1, column].imshow(background, cmap="gray", vmin=0, vmax=255)
        axes[2, column].imshow(foreground, cmap="Greys", vmin=0, vmax=60)
        axes[0, column].set_title(f"frame {k + 1} of {len(frames)}", fontsize=10)
    for row, label in enumerate(("original", "background", "foreground")):
        axes[row, 0].set_ylabel(label, fontsize=11)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
    return figure


# %%
# The result
# ----------


def main() -> None:
    """Separate the clip, print what was measured and draw three frames."""
    parser = argparse.ArgumentParser(description="Background of a surveillance clip.")
    parser.add_argument("--data", type=Path, default=CLIP, help="the clip (default: %(default)s)")
    parser.add_argument(
        "--rank", type=int, default=2, help="upper bound on the rank of the background"
    )
    parser.add_argument("--step", type=int, default=5, help="use every STEP-th frame")
    parser.add_argument("--shrink", type=int, default=4, help="reduce the size by this factor")
    parser.add_argument("--full", action="store_true", help="use all frames at full size")
    parser.add_argument("--out", type=Path, help="write the picture to this file")
    options = parser.parse_args()
    step, shrink = (1, 1) if options.full else (options.step, options.shrink)
    separation = separate(read_frames(options.data, step, shrink), options.rank)
    report(separation)
    figure = draw(separation)
    if options.out is None:
        plt.show()
    else:
        figure.savefig(options.out, dpi=110)


if __name__ == "__main__":
    main()
