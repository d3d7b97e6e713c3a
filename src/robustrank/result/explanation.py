"""A status and a certificate in words: for the terminal, the report page and the documentation.

The words are a function of plain data alone, so they are kept here, where ``repr(result)`` can use
them, and not beside the computations in ``robustrank.certificate``.
"""

from __future__ import annotations

from robustrank.result.certificate import Certificate
from robustrank.result.status import Status


def explain(status: Status, certificate: Certificate) -> str:
    """The evidence for or against a result, in one or two sentences."""
    if status is Status.SETTLED:
        return f"{noise_sentence(certificate)}."
    sentences = [exact_sentence(certificate)]
    if certificate.required > certificate.measurements:
        sentences.append(
            f"No result can be certified with so few measurements; it takes "
            f"{certificate.required:,}"
        )
    elif certificate.exact_fits < certificate.required:
        sentences.append(f"To rule out chance, {certificate.required:,} are required")
    elif not certificate.determined:
        sentences.append(
            "Although that is more than chance allows, the fitted measurements do not determine "
            "every part of the matrix"
        )
    else:
        sentences[0] += f"; {certificate.required:,} are required to rule out chance"
    return ". ".join(sentences) + "."


def exact_sentence(certificate: Certificate) -> str:
    """How many measurements are fitted exactly."""
    return (
        f"{certificate.exact_fits:,} of {certificate.measurements:,} measurements are fitted "
        f"exactly (to a relative {certificate.tolerance:.0e})"
    )


def noise_sentence(certificate: Certificate) -> str:
    """How many measurements are fitted within the noise, and how large that is."""
    return (
        f"{certificate.inliers:,} of {certificate.measurements:,} measurements fit within the "
        f"noise, σ ≈ {certificate.sigma:.3g} ({100 * certificate.noise:.2g} % of a typical measurement)"
    )
