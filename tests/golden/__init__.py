"""What releases of a known log look like: digest, certificate and ledger row of each mechanism.

`python -m tests.golden` writes the files anew. Do that only for a change that the changelog names.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from discreet.certificate import Certificate
from discreet.ledger.errors import RefusedError
from discreet.ledger.ledger import Ledger
from discreet.log.events import EventLog
from discreet.log.samples import PERSON
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import mechanism, mechanism_class
from discreet.privacy.guarantee import Budget

FOLDER = Path(__file__).parent
LOG = FOLDER / "log.parquet"
EXPECTED = FOLDER / "releases.json"
SEED = 7
SOURCE = "golden"

_PUBLIC = {"alphabet": "from-log"}

RELEASES: dict[str, tuple[str, dict[str, Any]]] = {
    "amun": ("amun", {}),
    "amun, published": ("amun", {"fidelity": "published"}),
    "choice": ("choice", {"candidates": "travas,headtail"}),
    "ddpm": ("ddpm", {"steps": 4, "width": 8, "strides": 10}),
    "ddpm, published": ("ddpm", {"fidelity": "published", "steps": 4, "width": 8}),
    "df-laplace": ("df-laplace", _PUBLIC),
    "df-laplace, published": ("df-laplace", {**_PUBLIC, "fidelity": "published"}),
    "dpim": ("dpim", _PUBLIC),
    "dpim, published": ("dpim", {**_PUBLIC, "fidelity": "published"}),
    "headtail": ("headtail", {}),
    "headtail, public names": ("headtail", _PUBLIC),
    "headtail, people": ("headtail", {"cases_per_individual": 2}),
    "headtail, clear model": ("headtail", {"clear_model": True, "epsilon": 4.0}),
    "headtail, sampled tail": ("headtail", {"tail_sample": 0.5, "epsilon": 4.0}),
    "laplace": ("laplace", {**_PUBLIC, "max_length": 6}),
    "laplace, published": ("laplace", {**_PUBLIC, "fidelity": "published", "max_length": 4}),
    "sacofa": ("sacofa", {**_PUBLIC, "rules": "learn", "max_length": 6}),
    "sacofa, published": ("sacofa", {**_PUBLIC, "fidelity": "published", "max_length": 4}),
    "sapa": ("sapa", {**_PUBLIC, "epsilon": 4.0}),
    "sapa, published": ("sapa", {**_PUBLIC, "fidelity": "published", "epsilon": 4.0}),
    "sequence": ("sequence", {"steps": 4, "max_length": 8, **_PUBLIC}),
    "travag": ("travag", {"steps": 4}),
    "travag, published": ("travag", {"fidelity": "published", "steps": 4}),
    "travas": ("travas", {}),
    "travas, published": ("travas", {"fidelity": "published"}),
    "utravas": ("utravas", {}),
    "utravas, published": ("utravas", {"fidelity": "published", "runs": 3}),
    "whole": ("whole", {}),
    "whole, attributes": ("whole", {"attributes": ("org:resource",), "epsilon": 4.0}),
    "whole, people": ("whole", {"cases_per_individual": 2, "epsilon": 4.0}),
    "whole over travas": ("whole", {"variants": "travas"}),
}
"""Each golden release: a mechanism and its parameters."""


def in_engine(name: str) -> bool:
    """Whether a golden release reads no single events, so that an engine can hold them."""
    return mechanism_class(RELEASES[name][0]).reads != "events" and "published" not in name


def built(name: str) -> Mechanism:
    """The mechanism of a golden release."""
    owner, parameters = RELEASES[name]
    return mechanism(owner, **parameters)


def reading(name: str) -> dict[str, Any]:
    """How the log is read for a golden release."""
    return {"individual": PERSON} if "people" in name else {}


def found(name: str, log: EventLog, folder: Path) -> dict[str, Any]:
    """What a golden release of the log looks like now."""
    chosen = built(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        released = chosen.release(log, insecure_seed=SEED)
    kind = released.artefact
    suffix = chosen.suffixes[0] if not isinstance(kind, EventLog) else ".parquet"
    if ".parquet" in chosen.suffixes:
        suffix = ".parquet"
    certificate = released.write(folder / f"{len(list(folder.iterdir()))}{suffix}")
    return {
        "digest": certificate.content_sha256,
        "certificate": stated(certificate),
        "entry": entered(chosen, log, folder),
    }


def stated(certificate: Certificate) -> dict[str, Any]:
    """A certificate but for its digests and the versions that it was written with."""
    values = certificate.to_dict()
    for name in ("versions", "seal_sha256", "content_sha256"):
        del values[name]
    return _plain(values)


def entered(chosen: Mechanism, log: EventLog, folder: Path) -> dict[str, Any]:
    """The ledger's entry for a release, but for what is fresh in each."""
    promise = chosen.promise(log)
    with Ledger(folder / "golden.db", create=True, user="golden") as ledger:
        cap = Budget(10_000, 0.9)
        ledger.set_budget(SOURCE, cap, neighbours=promise.neighbours, unit=promise.unit)
        try:
            entry = ledger.book(
                SOURCE, promise, mechanism=chosen.name, parameters=chosen.settings, purpose="golden"
            )
        except RefusedError as error:
            return {"refused": str(error)}
        finally:
            ledger.close()
            (folder / "golden.db").unlink()
    content = entry.content()
    for name in ("time", "previous", "run"):
        del content[name]
    return _plain(content)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """As JSON gives it back."""
    plain: dict[str, Any] = json.loads(json.dumps(values))
    return plain


def expected() -> dict[str, Any]:
    """The golden releases."""
    held: dict[str, Any] = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return held


@cache
def arithmetic() -> str:
    """A digest of how this machine computes with floats; where it differs, so may releases."""
    import scipy.special
    import torch

    values = np.linspace(1e-3, 30, 1 << 12)
    some = [np.exp(-values), np.log(values), np.power(values, 1 / 3), np.sin(values)]
    some += [np.cumsum(values), values.reshape(64, 64) @ values.reshape(64, 64)]
    some += [scipy.special.logsumexp(values.reshape(64, 64), axis=1)]
    tensor = torch.from_numpy(values.astype(np.float32)).reshape(64, 64)
    some += [torch.tanh(tensor @ tensor / 1e4).numpy(), torch.softmax(tensor, 1).numpy()]
    digest = hashlib.sha256(torch.__version__.encode())
    for array in some:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
