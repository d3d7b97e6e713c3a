"""All studies by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from experiments.definition import Study
from experiments.studies.beyond import kappa, sizes, zoo
from experiments.studies.certificates import certificates
from experiments.studies.coverage import coverage
from experiments.studies.entries import entries, robust_pca
from experiments.studies.entry_certificates import entry_certificates
from experiments.studies.groups import groups
from experiments.studies.noise import noise
from experiments.studies.paper import fig1a, fig1b, fig2, fig3
from experiments.studies.planning import planning, planning_entries
from experiments.studies.solvers import solvers

QUICK = "quick"  # the end of a quick study's name

_BUILDERS: dict[str, Callable[[bool], Study[Any]]] = {
    "fig1a": fig1a,
    "fig1b": fig1b,
    "fig2": fig2,
    "fig3a": fig3("a", 0.0),
    "fig3b": fig3("b", 0.01),
    "fig3c": fig3("c", 0.1),
    "zoo": zoo,
    "kappa": kappa,
    "sizes": sizes,
    "solvers": solvers,
    "certificates": certificates,
    "entries": entries,
    "robust-pca": robust_pca,
    "entry-certificates": entry_certificates,
    "coverage": coverage,
    "noise": noise,
    "groups": groups,
    "planning": planning,
    "planning-entries": planning_entries,
}
NAMES = tuple(_BUILDERS)


def study(name: str, *, quick: bool = False, trials: int | None = None) -> Study[Any]:
    """The study with a given name; ``quick`` is the same study on small problems."""
    if name not in _BUILDERS:
        raise ValueError(f"study {name!r} is not known; expected one of {', '.join(NAMES)}")
    found = _BUILDERS[name](quick)
    if quick:
        found = replace(found, name=f"{name}-{QUICK}", title=f"{found.title} (quick)")
    return found if trials is None else replace(found, trials=trials)
