"""A status and a certificate in words: for the terminal, the report page and the documentation.

The words depend on plain data only. They are in this package so that ``repr(result)`` can use them;
the computations are in ``robustrank.certificate``.
"""

from __future__ import annotations

import math

from robustrank.result.certificate import Certificate
from robustrank.result.status import Status


def explain(status: Status, certificate: Certificate) -> str:
    """The evidence for or against a result, in one to three sentences."""
    if fits_up_to_noise(status, certificate):
        return f"{noise_sentence(certificate)}."
    exact = exact_sentence(certificate)
    if certificate.required > certificate.independent:
        return (
            f"{exact}. No result can be certified with so few measurements: at least "
            f"{certificate.required:,} are required."
        )
    if certificate.exact_fits >= certificate.required:
        text = f"{exact}; at least {certificate.required:,} are required"
    elif math.isfinite(certificate.evidence) and certificate.noise > certificate.tolerance:
        text = noise_sentence(certificate)
        if certificate.evidence < certificate.required_evidence:
            text += (
                f". The evidence for this is {certificate.evidence:.0f}; at least "
                f"{certificate.required_evidence:.0f} is required"
            )
    else:
        text = f"{exact}. At least {certificate.required:,} are required"
    if certificate.unidentified:
        text += f". No measurement depends on {certificate.unidentified} of the matrix"
    return ". ".join([text, *map(_capitalized, certificate.objections)]) + "."


def _capitalized(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def exact_sentence(certificate: Certificate) -> str:
    """The number of measurements that are fitted exactly."""
    return (
        f"{certificate.exact_fits:,} of {counted_measurements(certificate)} are fitted "
        f"exactly (relative residual at most {certificate.tolerance:.0e})"
    )


def counted(count: int, noun: str) -> str:
    """A number with a noun: 1 row, 2 rows."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def counted_measurements(certificate: Certificate) -> str:
    """The number of measurements that count: repetitions count as one."""
    repeated = certificate.independent < certificate.measurements
    return f"{certificate.independent:,} {'independent ' if repeated else ''}measurements"


def fits_up_to_noise(status: Status, certificate: Certificate) -> bool:
    """Whether the result fits the inliers up to noise rather than exactly."""
    return status is Status.SETTLED or (status is Status.AMBIGUOUS and not certificate.is_exact)


def noise_sentence(certificate: Certificate) -> str:
    """The number of measurements that are fitted within the noise, and the noise level."""
    return (
        f"{certificate.inliers:,} of {counted_measurements(certificate)} fit within the "
        f"noise, σ ≈ {certificate.sigma:.3g} ({100 * certificate.noise:.2g}% of a typical "
        "measurement)"
    )
