"""TrainedModel: what training leaves behind, from which any number of logs can be drawn."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from discreet.certificate import Certificate, CertificateError, LedgerUse
from discreet.log.errors import LogError
from discreet.log.files import atomic_write, readable
from discreet.log.variants import Variants
from discreet.mechanisms.certified import follows_from_parameters
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.trained.base import Generative, ModelState, require_torch
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.randomness import Randomness
from discreet.releases import Release, check_target, check_unused
from discreet.training.tensors import Arrays, TensorError, pack, unpack, unpack_header

SUFFIX = ".discreet"
FORMAT = "discreet model 1"

# Tuned
LARGEST_FILE = 1 << 31
"""Largest model file that is read, in bytes."""
MOST_CASES = 10_000_000
"""Most cases drawn at once."""


class ModelError(LogError):
    """A model file that cannot be read, or must not be trusted."""


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A generative mechanism with the weights it learned, under one guarantee.

    Anything computed from it, any number of logs included, is post-processing: it carries the same
    guarantee and costs nothing more. Nothing in it is raw: weights came out of noisy steps, facts
    out of noisy counts.
    """

    mechanism: Generative
    guarantee: Guarantee
    state: ModelState
    ledger: LedgerUse = "none"
    origin: tuple[Path, ...] = field(default=(), repr=False)
    """The files of the log or model that it came from, so that no log drawn replaces them."""

    @property
    def cases(self) -> int:
        """How many cases a log gets by default: a noisy number, or one that was given."""
        return int(self.state.facts["cases"])

    def sample(self, cases: int, rng: Randomness) -> Variants:
        """This number of fresh cases."""
        if not 0 <= cases <= MOST_CASES:
            raise ParameterError(f"cases must be between 0 and {MOST_CASES:,}, not {cases:,}")
        try:
            return self.mechanism._generate(self.state, cases, rng)
        except ImportError:
            require_torch(self.mechanism.name)
            raise

    def generate(self, cases: int | None = None, *, seed: int | None = None) -> Release:
        """A log of this many cases, by default about as many as the model was trained on.

        A seed makes it repeatable and is safe: nothing but the model is read.
        """
        rng = Randomness.system() if seed is None else Randomness.seeded(seed)
        wanted = self.cases if cases is None else cases
        return Release(
            artefact=self.sample(wanted, rng),
            guarantee=self.guarantee,
            mechanism=self.mechanism.name,
            parameters=self.mechanism.settings,
            notes=(*self.mechanism._notes(), "drawn from a trained model, at no further cost"),
            seed=seed,
            ledger=self.ledger,
            origin=self.origin,
        )

    def certificate(self) -> Certificate:
        """The certificate that the model's file carries."""
        return Certificate(
            guarantee=self.guarantee,
            mechanism=self.mechanism.name,
            parameters=self.mechanism.settings,
            artefact="model",
            artificial_times=False,
            notes=self.mechanism._notes(),
            ledger=self.ledger,
            strength=self.guarantee.strength,
            warnings=self.guarantee.warnings(),
            content_sha256=_digest(self.state.tensors, self._metadata()),
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> Certificate:
        """Write the model with its certificate inside; the file appears complete or not at all.

        An existing file is replaced with `overwrite` only.
        """
        path = Path(path)
        check_target(path, (SUFFIX,))
        check_unused(path, *self.origin, force=overwrite)
        certificate = self.certificate()
        metadata = self._metadata() | {"certificate": certificate.to_json()}
        with atomic_write(path) as stream:
            stream.write(pack(self.state.tensors, metadata))
        return certificate

    @classmethod
    def load(cls, path: str | Path) -> TrainedModel:
        """Read a model; one that is damaged, tampered with or of unknown making is refused."""
        path = Path(path)
        certificate, tensors, metadata = _read(path)
        if certificate.content_sha256 != _digest(tensors, metadata):
            raise ModelError(
                f"{path.name} is not the model that was certified: its content was changed. Get "
                "the file again from where it was trained"
            )
        finding = follows_from_parameters(certificate)
        as_written = certificate.intact and certificate.to_json() == metadata["certificate"]
        if not as_written or finding.outcome == "fails":
            raise ModelError(
                f"the certificate in {path.name} was changed: what it promises cannot be trusted. "
                "Get the file again from where it was trained"
            )
        model = cls(
            mechanism=_mechanism(path, certificate),
            guarantee=certificate.guarantee,
            state=ModelState(tensors, _facts(path, metadata)),
            ledger=certificate.ledger,
            origin=(path.resolve(),),
        )
        try:
            model.mechanism._check_model(model.state)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise ModelError(
                f"{path.name} does not hold what {certificate.mechanism} needs: {error}"
            ) from error
        return model

    def _metadata(self) -> dict[str, str]:
        facts = json.dumps(self.state.facts, ensure_ascii=False, sort_keys=True, allow_nan=False)
        return {"format": FORMAT, "facts": facts}


def load_model(path: str | Path) -> TrainedModel:
    """Read a model that `discreet train` wrote."""
    return TrainedModel.load(path)


def model_certificate(path: Path) -> tuple[Certificate, str]:
    """The certificate inside a model's file, and the digest of what the file holds now."""
    certificate, tensors, metadata = _read(path)
    return certificate, _digest(tensors, metadata)


def _digest(tensors: Arrays, metadata: Mapping[str, str]) -> str:
    kept = {key: value for key, value in metadata.items() if key != "certificate"}
    return hashlib.sha256(pack(tensors, kept)).hexdigest()


def _read(path: Path) -> tuple[Certificate, Arrays, dict[str, str]]:
    """What a file holds, in the right form but not yet believed."""
    with readable(path):
        if path.stat().st_size > LARGEST_FILE:
            raise ModelError(f"{path.name} is too large for a model of discreet")
        content = path.read_bytes()
    try:
        if unpack_header(content)[1].get("format") != FORMAT:
            raise TensorError("was not written by discreet train")
        tensors, metadata = unpack(content)
        if set(metadata) != {"format", "facts", "certificate"}:
            raise TensorError("lacks its facts or its certificate")
        return Certificate.from_json(metadata["certificate"]), tensors, metadata
    except (TensorError, CertificateError) as error:
        raise ModelError(f"{path.name} is not a model of discreet: it {error}") from error


def _facts(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    try:
        facts = json.loads(metadata["facts"])
        if not 1 <= int(facts["cases"]) <= MOST_CASES:
            raise ValueError("cases is out of range")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"the facts in {path.name} cannot be used: {error}") from error
    return cast(dict[str, Any], facts)


def _mechanism(path: Path, certificate: Certificate) -> Generative:
    try:
        built = mechanism(certificate.mechanism, **certificate.parameters)
    except (ValueError, TypeError) as error:
        raise ModelError(f"{path.name} cannot be used: {error}") from error
    if not isinstance(built, Generative):
        raise ModelError(f"{path.name} names {certificate.mechanism}, which is not a trained model")
    return built
