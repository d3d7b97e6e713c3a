"""NumPy's random words and normal numbers, as operations on arrays of any library.

Words: Salmon, Moraes, Dror and Shaw (2011), Parallel random numbers: as easy as 1, 2, 3. A word
depends on the seed and on its own number only, so that any words can be generated without those
before them.

Normal numbers: Marsaglia and Tsang (2000), The ziggurat method for generating random variables.
Most words give a number by themselves. One in a hundred uses words after it, and may give no
number, so that it must be found out which words begin a number.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import array_api_extra as xpx
import numpy as np

from robustrank.backend import Array, like, namespace

_MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_KEY_STEPS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ROUNDS = 10
_HALF = 2**32 - 1

_LAYERS = 256
_TAIL = 3.6541528853610087963519472518  # where the tail of the density begins
_MORE_WORDS = 0.03  # than numbers; on average 0.013 are needed
_ATTEMPTS = 16  # at a number of the tail; fewer than one in ten fail
_RESERVE = 2 * _ATTEMPTS + 1  # words at the end that may need words beyond it


def philox_words(seed: int, streams: Array, count: int) -> Array:
    """The first words of each stream, (streams, count), 64 bits each as int64.

    They are those of ``numpy.random.Philox(key=seed, counter=stream << 128)``; ``streams`` is an
    array of int64.
    """
    xp = namespace(streams)
    numbers = xp.arange(1, -(-count // 4) + 1, **like(streams))[None, :]  # the first one is 1
    zero = xp.zeros_like(streams[:, None] + numbers)
    words = numbers + zero, zero, streams[:, None] + zero, zero
    keys = [seed % 2**64, seed >> 64]
    for _ in range(_ROUNDS):
        words = _round(words, keys)
        keys = [(key + step) % 2**64 for key, step in zip(keys, _KEY_STEPS, strict=True)]
    return xp.reshape(xp.stack(words, axis=-1), (streams.shape[0], -1))[:, :count]


def _round(words: tuple[Array, ...], keys: list[int]) -> tuple[Array, ...]:
    high0, low0 = _product(words[0], _MULTIPLIERS[0])
    high1, low1 = _product(words[2], _MULTIPLIERS[1])
    return high1 ^ words[1] ^ _signed(keys[0]), low1, high0 ^ words[3] ^ _signed(keys[1]), low0


def _product(words: Array, factor: int) -> tuple[Array, Array]:
    """The upper and the lower 64 bits of a product of unsigned numbers, from products of halves."""
    low, high = words & _HALF, (words >> 32) & _HALF
    factor_low, factor_high = factor & _HALF, factor >> 32
    cross = high * factor_low
    other = low * factor_high
    middle = _upper(low * factor_low) + (cross & _HALF) + (other & _HALF)
    upper = high * factor_high + _upper(cross) + _upper(other) + (middle >> 32)
    return upper, words * _signed(factor)


def _upper(words: Array) -> Array:
    """The upper 32 bits."""
    return (words >> 32) & _HALF


def _signed(word: int) -> int:
    """The number with the same 64 bits in the range of int64."""
    return word - 2**64 if word >= 2**63 else word


@dataclass(frozen=True)
class Ziggurat:
    """The layers under the normal density, and how the bits of a word are used."""

    dtype: str
    word_bits: int
    magnitude_bits: int
    uniform_bits: int
    limits: np.ndarray[Any, Any]  # magnitudes below are accepted
    widths: np.ndarray[Any, Any]  # a number is a magnitude times this
    heights: np.ndarray[Any, Any]  # the density at the edge of each layer


@functools.cache
def ziggurat(dtype: str) -> Ziggurat:
    """The layers for float64, which uses words of 64 bits, or float32, which uses 32."""
    word_bits, magnitude_bits, uniform_bits = (64, 52, 53) if dtype == "float64" else (32, 23, 24)
    # Each layer has the area of the tail and the rectangle beside it.
    area = _TAIL * _density(_TAIL) + math.sqrt(math.pi / 2) * math.erfc(_TAIL / math.sqrt(2))
    edges = [_TAIL]
    for _ in range(_LAYERS - 2):
        edges.append(math.sqrt(-2 * math.log(area / edges[-1] + _density(edges[-1]))))
    outer = np.array([area / _density(_TAIL), *reversed(edges)])
    inner = np.array([_TAIL, 0.0, *outer[1:-1]])
    heights = np.array([1.0, *map(_density, reversed(edges))])
    unit = 2.0**magnitude_bits
    limits = np.rint(inner / outer * unit).astype(np.int64)
    widths, heights = (outer / unit).astype(dtype), heights.astype(dtype)
    return Ziggurat(dtype, word_bits, magnitude_bits, uniform_bits, limits, widths, heights)


def words_needed(entries: int, dtype: str) -> int:
    """A number of 64-bit words that is enough for so many normal numbers."""
    number = entries + math.ceil(_MORE_WORDS * entries) + 8 * _RESERVE
    return -(-number * ziggurat(dtype).word_bits // 64)


def standard_normal_from(words: Array, entries: int, dtype: str) -> Array:
    """The first normal numbers from each row of 64-bit words, (rows, entries).

    They are those of NumPy's ``Generator.standard_normal`` up to rounding errors.
    """
    xp, table = namespace(words), ziggurat(dtype)
    if table.word_bits == 32:  # the lower half is used first
        halves = [words & (2**32 - 1), (words >> 32) & (2**32 - 1)]
        words = xp.reshape(xp.stack(halves, axis=-1), (words.shape[0], -1))
    bits = _Bits(xp.reshape(words, (-1,)), words.shape[1], table)
    values, is_number = bits.numbers()
    values, is_number = (xp.reshape(each, words.shape) for each in (values, is_number))
    count = xp.cumulative_sum(xp.astype(is_number, xp.int64), axis=1)
    if int(xp.min(count[:, -_RESERVE])) < entries:
        raise RuntimeError(f"{words.shape[1]} random words give fewer than {entries} numbers")
    return xp.reshape(values[is_number & (count <= entries)], (-1, entries))


@dataclass(frozen=True)
class _Bits:
    """Rows of random words as one vector, and the numbers that they give."""

    words: Array
    length: int  # of a row
    table: Ziggurat

    def numbers(self) -> tuple[Array, Array]:
        """The number that begins at each word, and whether one does."""
        xp, table = namespace(self.words), self.table
        layer, magnitude = self.words & (_LAYERS - 1), self._magnitude(self.words)
        values = xp.astype(magnitude, getattr(xp, table.dtype)) * _at(table.widths, layer)
        values = xp.where((self.words >> 8) & 1 == 1, -values, values)
        is_number = magnitude < _at(table.limits, layer)
        (places,) = xp.nonzero(~is_number)
        if not places.shape[0]:
            return values, is_number
        layer = layer[places]
        beyond, attempts = self._tail(places)
        in_tail = layer == 0
        used = xp.where(in_tail, 1 + 2 * attempts, 2)
        begins = self._begins(places, used)
        accepted = in_tail | self._is_below_density(places, layer, values[places])
        values = xpx.at(values, places).set(xp.where(in_tail, beyond, values[places]))
        is_number = xpx.at(is_number, places).set(begins & accepted)
        for steps in range(1, int(xp.max(used))):
            taken = places[begins & (used > steps)]
            is_number = xpx.at(is_number, self._after(taken, steps)).set(False)
        return values, is_number

    def _begins(self, places: Array, used: Array) -> Array:
        """Which places begin a number, instead of being used by one before."""
        xp = namespace(places)
        ends = self._after(places, used)
        most = min(int(xp.max(used)), places.shape[0])
        begins = places >= 0
        while True:  # until it is consistent, in as many steps as such places are consecutive
            free = places >= 0
            for back in range(1, most):
                taken = begins[:-back] & (ends[:-back] > places[back:])
                free = xp.concat([free[:back], free[back:] & ~taken], axis=0)
            if bool(xp.all(free == begins)):
                return begins
            begins = free

    def _is_below_density(self, places: Array, layer: Array, values: Array) -> Array:
        """Whether a random point in the part of a layer that the density crosses is below it."""
        xp, heights = namespace(values), self.table.heights
        upper, lower = _at(heights, xp.clip(layer - 1, min=0)), _at(heights, layer)
        height = xp.astype((upper - lower) * self._uniform(places, 1) + lower, xp.float64)
        wide = xp.astype(values, xp.float64)
        return height < xp.exp(-0.5 * wide * wide)

    def _tail(self, places: Array) -> tuple[Array, Array]:
        """Numbers beyond the layers, and the number of attempts that each takes."""
        xp = namespace(places)
        begin, scale = (float(np.asarray(x, self.table.dtype)) for x in (_TAIL, 1 / _TAIL))
        beyond, attempts = self._uniform(places, 0), xp.zeros_like(places)
        for attempt in range(_ATTEMPTS):
            first, second = (self._uniform(places, 2 * attempt + k) for k in (1, 2))
            x, y = -scale * xp.log1p(-first), -xp.log1p(-second)
            good = (attempts == 0) & (y + y > x * x)
            beyond = xp.where(good, x, beyond)
            attempts = xp.where(good, attempt + 1, attempts)
            if bool(xp.all(attempts > 0)):
                break
        beyond = begin + beyond
        negative = (self._magnitude(self.words[places]) >> 8) & 1 == 1
        return xp.where(negative, -beyond, beyond), attempts

    def _magnitude(self, words: Array) -> Array:
        return (words >> 9) & (2**self.table.magnitude_bits - 1)

    def _uniform(self, places: Array, steps: int) -> Array:
        """Uniform numbers in [0, 1) from the words some steps after the places."""
        xp, bits = namespace(places), self.table.uniform_bits
        words = self.words[self._after(places, steps)] >> (self.table.word_bits - bits)
        return xp.astype(words & (2**bits - 1), getattr(xp, self.table.dtype)) * 2.0**-bits

    def _after(self, places: Array, steps: Array | int) -> Array:
        """Places some steps further on, but in the same row."""
        last = places - places % self.length + self.length - 1
        return namespace(places).minimum(places + steps, last)


def _at(table: np.ndarray[Any, Any], layer: Array) -> Array:
    return namespace(layer).asarray(table, device=like(layer)["device"])[layer]


def _density(x: float) -> float:
    return math.exp(-0.5 * x * x)
