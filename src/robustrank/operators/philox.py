"""The random words of NumPy's Philox generator, as operations on arrays of any library.

Salmon, Moraes, Dror and Shaw (2011), Parallel random numbers: as easy as 1, 2, 3. A word depends on
the seed and on its own number only, so that any words can be generated without those before them.
"""

from __future__ import annotations

from robustrank.backend import Array, like, namespace

_MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_KEY_STEPS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ROUNDS = 10
_HALF = 2**32 - 1


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
