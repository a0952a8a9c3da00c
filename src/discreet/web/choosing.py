"""Choices of what to share, by which mechanism and at which budget: from a form to a mechanism.

Fields, their ranges and their help come from the parameters that each mechanism declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.language import translate
from discreet.log.reading import Reading
from discreet.mechanisms import DEFAULT_MECHANISM
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.whole.declared_attributes import read_attributes
from discreet.parameters import Parameter, ParameterError
from discreet.privacy.wording import certainty, strength_of
from discreet.releasing.catalogue import mechanism_class, mechanism_names
from discreet.releasing.request import Output, Payment, Product, Request, default_mechanism

FROM_LOG = "from-log"
"""Value of `alphabet` for the log's own activities, which makes the guarantee conditional."""

HIDDEN = ("options",)
"""Parameters that are not offered: they may name files on the server."""

MAIN = ("epsilon", "delta", "cases_per_individual", "alphabet")
"""Parameters that forms ask for with every mechanism, apart from its expert options."""

# Tuned
LEVELS = (0.1, 0.3, 1.0, 3.0)
"""Values of ε that forms offer, each with an explanation; advice tries the same ones."""


@dataclass(frozen=True)
class Shared:
    """A kind of product that can be shared, with its recommended mechanism and its suffixes."""

    name: str
    returns: str
    recommended: str
    suffixes: tuple[str, ...]


# Products
SHARED = {
    one.name: one
    for one in (
        Shared("log", "log", "whole", (".xes", ".csv", ".parquet", ".xes.gz", ".csv.gz")),
        Shared(
            "variants",
            "variants",
            DEFAULT_MECHANISM,
            (".xes", ".csv", ".parquet", ".xes.gz", ".csv.gz"),
        ),
        Shared("map", "follows", "df-laplace", (".json", ".svg", ".csv", ".dot", ".mmd")),
        Shared("model", "process tree", "dpim", (".bpmn", ".ptml", ".svg", ".json", ".mmd")),
    )
}


TIMES = {"log": True, "variants": False}
"""Whether times are released, for the products that are logs."""


def split_attributes(lines: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The columns declared by their kind alone, and the lines that say more."""
    plain = [line for line in lines if "=" not in line]
    kinds = {one.column: one.kind for one in read_attributes(tuple(plain))}
    return dict(kinds), [line for line in lines if "=" in line]


def words(name: str) -> tuple[str, str]:
    """The title of a product, and what it is good for."""
    return {
        "log": (
            translate("A whole log"),
            translate("Cases with activities and times, and the columns you name."),
        ),
        "variants": (
            translate("The variants"),
            translate(
                "Which sequences of activities there are and how often. Anybody can make a map or "
                "a model of them, which costs nothing more."
            ),
        ),
        "map": (
            translate("A process map"),
            translate(
                "Which activity follows which, and how often. The names of the activities must be "
                "public: list them below."
            ),
        ),
        "model": (
            translate("A process model"),
            translate(
                "A process tree. The names of the activities must be public: list them below. The "
                "number of cases becomes public."
            ),
        ),
    }[name]


def reason(name: str) -> str:
    """The reason why a mechanism is recommended."""
    return {
        "whole": translate(
            "whole is recommended: variants by headtail, and every time drawn from noisy tables."
        ),
        DEFAULT_MECHANISM: translate(
            "headtail is recommended: it comes nearest to the log at the same budget. travas "
            "invents nothing."
        ),
        "df-laplace": translate("df-laplace is the one that releases a map."),
        "dpim": translate("dpim is the one that releases a model."),
    }[name]


def offered(what: str) -> list[str]:
    """The mechanisms that release a product without training a model, recommended one first."""
    from discreet.mechanisms.trained.base import Generative

    kind = SHARED[what]
    found = [
        name
        for name in mechanism_names()
        if mechanism_class(name).returns == kind.returns
        and not issubclass(mechanism_class(name), Generative)
        and name != kind.recommended
    ]
    return [kind.recommended, *found]


def level_words(epsilon: float) -> str:
    """How much an ε protects, and how sure a guess can become."""
    from discreet.privacy.wording import vocabulary

    level = vocabulary().levels[strength_of(epsilon, 0.0)]
    return translate(
        "%(level)s: somebody undecided whether a certain case, or person, is in the log can be at "
        "most %(sure)s%% sure afterwards",
        level=level[:1].upper() + level[1:],
        sure=certainty(epsilon),
    )


def short_words(epsilon: float) -> str:
    """How much an ε protects, in a few words."""
    from discreet.privacy.wording import vocabulary

    return translate(
        "%(level)s, a guess at most %(sure)s%% sure",
        level=vocabulary().levels[strength_of(epsilon, 0.0)],
        sure=certainty(epsilon),
    )


def declared_by(name: str) -> dict[str, Parameter]:
    """The declared parameters of a mechanism, by name."""
    return mechanism_class(name).parameters()


def expert(name: str) -> list[Parameter]:
    """The expert options of a mechanism: its parameters without MAIN and HIDDEN."""
    return [one for one in declared_by(name).values() if one.name not in (*MAIN, *HIDDEN)]


def usual(*, timed: bool = True) -> str:
    """The default product of a log, shared unless the user chooses another."""
    name = default_mechanism(timed=timed)
    return next(what for what, kind in SHARED.items() if kind.recommended == name)


def chosen(given: Mapping[str, Any], *, timed: bool = True) -> dict[str, Any]:
    """The checked choice of a form or program: what, mechanism, parameters, suffix.

    If it does not say what to share, that follows from the mechanism, or else from whether the log
    has times.
    """
    named = given.get("mechanism")
    fitting = (one for one in SHARED if named and named in offered(one))
    what = str(given.get("what") or next(fitting, usual(timed=timed)))
    if what not in SHARED:
        raise ParameterError(f"what must be one of {', '.join(SHARED)}, not {what!r}")
    name = str(given.get("mechanism") or SHARED[what].recommended)
    if name not in offered(what):
        raise ParameterError(
            f"{name!r} does not release this; choose one of {', '.join(offered(what))}"
        )
    suffix = str(given.get("suffix") or SHARED[what].suffixes[0])
    if suffix not in SHARED[what].suffixes:
        raise ParameterError(f"suffix must be one of {', '.join(SHARED[what].suffixes)}")
    declared = declared_by(name)
    parameters = {}
    for key, value in dict(given.get("parameters") or {}).items():
        if key not in declared or key in HIDDEN:
            raise ParameterError(f"{name} has no parameter {key!r} that can be set here")
        read = _value(declared[key], value)
        if read is not None:
            parameters[key] = read
    choice = {"what": what, "mechanism": name, "suffix": suffix, "parameters": parameters}
    if given.get("unit") is not None:
        choice["unit"] = _unit(given["unit"], parameters)
    build(choice)
    return choice


def _unit(named: Any, parameters: Mapping[str, Any]) -> str:
    """The unit to be protected, as stated; it must agree with the bound on cases per person."""
    if named not in ("case", "individual"):
        raise ParameterError(f"unit is case or individual, not {named!r}")
    if (named == "individual") != ("cases_per_individual" in parameters):
        raise ParameterError(
            translate(
                "To protect people, say how many cases of each count; to protect single cases, "
                "leave that empty."
            )
        )
    return str(named)


def check_people(choice: Mapping[str, Any], reading: Mapping[str, Any]) -> None:
    """Refuse to protect single cases if a column names people, unless that was chosen."""
    column, unit = reading.get("individual"), choice.get("unit")
    if column and unit != "case" and "cases_per_individual" not in choice["parameters"]:
        raise ParameterError(
            translate(
                "The column “%(column)s” names people: choose who is protected, any one person "
                "(with how many cases each) or any one case only.",
                column=column,
            )
        )


def product_of(choice: Mapping[str, Any]) -> Product:
    """The product of a choice; a recommended mechanism is left to the rule for the default."""
    name, times = choice["mechanism"], TIMES.get(choice["what"])
    usual = times is not None and name == SHARED[choice["what"]].recommended
    return Product(
        None if usual else name,
        choice["parameters"],
        times if usual else None,
        cases_alone=choice.get("unit") == "case",
    )


def request_of(
    log: Path, reading: Mapping[str, Any], choice: Mapping[str, Any], payment: Payment, stem: str
) -> Request:
    """The request that releases a choice from a log, to a file with this stem."""
    return Request(
        log=str(log),
        reading=Reading(**reading),
        product=product_of(choice),
        payment=payment,
        output=Output(f"{stem}{choice['suffix']}"),
    )


def build(choice: Mapping[str, Any]) -> Mechanism:
    """The mechanism of a choice; refuses one that protects hardly anybody."""
    built = product_of(choice).resolved().mechanism
    built.target.refuse_if_too_weak()
    return built


def _value(parameter: Parameter, given: Any) -> Any:
    """The value of a parameter from a form (texts) or a program (JSON); None if not given.

    No text ever names a file here: lists are given line by line.
    """
    if given is None or given == "" or given == []:
        return None
    if parameter.type is tuple:
        lines = given.splitlines() if isinstance(given, str) else given
        if not isinstance(lines, list):
            raise ParameterError(f"{parameter.name} must be a list of texts")
        texts = [str(line).strip() for line in lines if str(line).strip()]
        if parameter.name == "alphabet" and texts == [FROM_LOG]:
            return FROM_LOG
        return texts or None
    if isinstance(given, str) and parameter.type in (int, float, bool):
        text = given.strip()
        if parameter.type is bool:
            return text in ("true", "on", "yes")
        try:
            given = parameter.type(text.replace(",", "."))
        except ValueError:
            raise ParameterError(f"{parameter.name} must be a number, not {text!r}") from None
    value = parameter.check(given)
    return None if value == parameter.default and parameter.name not in MAIN else value
