"""Differentially private process mining with guarantees that hold.

>>> import discreet
>>> log = discreet.sample_log("hospital", cases=1000, seed=1)
>>> release = discreet.mechanism("travas", epsilon=1, delta=1e-6).release(log)
>>> release.guarantee.status
'proved'

Names are loaded when first used, so that importing the package is cheap.
"""

from typing import TYPE_CHECKING

from discreet._version import __version__ as __version__

if TYPE_CHECKING:
    from discreet.audits import audit as audit
    from discreet.certificate import Certificate as Certificate
    from discreet.certificate import CertificateError as CertificateError
    from discreet.errors import DiscreetError as DiscreetError
    from discreet.errors import DiscreetWarning as DiscreetWarning
    from discreet.ledger.errors import LedgerError as LedgerError
    from discreet.ledger.ledger import Ledger as Ledger
    from discreet.log.cautions import PeopleWarning as PeopleWarning
    from discreet.log.cautions import TransitionsWarning as TransitionsWarning
    from discreet.log.errors import LogError as LogError
    from discreet.log.events import EventLog as EventLog
    from discreet.log.follows import Follows as Follows
    from discreet.log.loading import read_log as read_log
    from discreet.log.samples import sample_log as sample_log
    from discreet.log.variants import Variants as Variants
    from discreet.log.writing import write_log as write_log
    from discreet.mechanisms.base import Mechanism as Mechanism
    from discreet.mechanisms.registry import mechanism as mechanism
    from discreet.mechanisms.registry import mechanism_names as mechanism_names
    from discreet.models.similarity import relative_log_similarity as relative_log_similarity
    from discreet.models.tree import Tree as Tree
    from discreet.models.writers import TreeDocument as TreeDocument
    from discreet.parameters import ParameterError as ParameterError
    from discreet.privacy.guarantee import Budget as Budget
    from discreet.privacy.guarantee import Guarantee as Guarantee
    from discreet.privacy.randomness import Randomness as Randomness
    from discreet.releases import Release as Release
    from discreet.releasing.verification import check_certificate as check_certificate
    from discreet.releasing.verification import read_certificate as read_certificate
    from discreet.releasing.way import release as release
    from discreet.training.run import train as train
    from discreet.training.trained_model import TrainedModel as TrainedModel
    from discreet.training.trained_model import load_model as load_model
    from discreet.utility.evaluation import Evaluation as Evaluation
    from discreet.utility.evaluation import evaluate as evaluate
else:
    from importlib import import_module

    _HOMES = {
        "audits": ("audit",),
        "certificate": ("Certificate", "CertificateError"),
        "models.similarity": ("relative_log_similarity",),
        "errors": ("DiscreetError", "DiscreetWarning"),
        "ledger.errors": ("LedgerError",),
        "ledger.ledger": ("Ledger",),
        "log.cautions": ("PeopleWarning", "TransitionsWarning"),
        "log.errors": ("LogError",),
        "log.events": ("EventLog",),
        "log.follows": ("Follows",),
        "log.loading": ("read_log",),
        "log.samples": ("sample_log",),
        "log.variants": ("Variants",),
        "log.writing": ("write_log",),
        "mechanisms.base": ("Mechanism",),
        "parameters": ("ParameterError",),
        "mechanisms.registry": ("mechanism", "mechanism_names"),
        "models.writers": ("TreeDocument",),
        "models.tree": ("Tree",),
        "privacy.guarantee": ("Budget", "Guarantee"),
        "privacy.randomness": ("Randomness",),
        "releases": ("Release",),
        "releasing.way": ("release",),
        "training.trained_model": ("TrainedModel", "load_model"),
        "training.run": ("train",),
        "utility.evaluation": ("Evaluation", "evaluate"),
        "releasing.verification": ("check_certificate", "read_certificate"),
    }
    _MODULES = {name: f"discreet.{home}" for home, names in _HOMES.items() for name in names}

    __all__ = ["__version__", *sorted(_MODULES)]

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module 'discreet' has no attribute {name!r}")
        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return list(__all__)
