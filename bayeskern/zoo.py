"""The zoo: small posteriors with references that no method of the package made.

Each entry of ``models/`` tells one posterior twice, in plain PyMC and as a problem, with its data,
a card and a reference. `check` holds any method to all of them.
"""

import builtins
import hashlib
import importlib.util
import json
import math
import textwrap
import time
import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

FAMILY = 1e-4
"""Chance that an exact method fails an entry by bad luck, over all that is compared there."""

QUANTILES = {"q05": 0.05, "q50": 0.5, "q95": 0.95}


@dataclass(frozen=True)
class Entry:
    """One posterior: model, problem, data, card and reference.

    Attributes
    ----------
    name : str
        Its folder's name.
    folder : Path
        Where it is read from.
    """

    name: str
    folder: Path

    def __str__(self) -> str:
        return self.name

    def model(self) -> Any:
        """Return the posterior in plain PyMC, without bayeskern."""
        return self._module("model").model(self.data)

    def problem(self) -> Any:
        """Return the same posterior as a problem."""
        return self._module("problem").problem(self.data)

    def log_density(self, mode: str | None = None) -> Callable[[Mapping[str, Any]], Any]:
        """Return the problem's log density at points of the plain model.

        ``mode`` is PyTensor's, such as "FAST_COMPILE".
        """
        module, problem = self._module("problem"), self.problem()
        if hasattr(module, "log_density"):
            return module.log_density(problem, mode)
        return problem.model.compile_logp(mode=mode)

    @cached_property
    def data(self) -> dict[str, np.ndarray]:
        """Columns of the data."""
        table = np.genfromtxt(self.folder / "data.csv", delimiter=",", names=True)
        names = table.dtype.names or ()
        return {name: np.asarray(table[name], dtype=float) for name in names}

    @cached_property
    def card(self) -> dict[str, Any]:
        """Title, chapter, question, source, reference level and expected errors."""
        return tomllib.loads((self.folder / "card.toml").read_text())

    @cached_property
    def reference(self) -> dict[str, Any]:
        """Log evidence, log densities, means, sds, quantiles; refused if edited by hand."""
        content = json.loads((self.folder / "reference.json").read_text())
        stated = content.pop("checksum", None)
        plain = json.dumps(content, sort_keys=True, separators=(",", ":"))
        found = hashlib.sha256(plain.encode()).hexdigest()
        if stated != found:
            raise ValueError(
                f"the reference of {self.name} does not match its checksum, so it was edited;"
                " run its make_reference.py"
            )
        return content

    def _module(self, part: str) -> Any:
        path = self.folder / f"{part}.py"
        name = f"bayeskern_zoo_{self.name}_{part}".replace("-", "_")
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ValueError(f"{path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def _folder() -> Path:
    """Return the folder of the entries: in the wheel, or beside the package in its sources."""
    here = Path(__file__).parent
    inside = here / "_models"
    return inside if inside.is_dir() else here.parent / "models"


def list() -> builtins.list[str]:
    """Return the names of all entries.

    >>> "bayespoint-gram3" in list()
    True
    """
    return sorted(path.parent.name for path in _folder().glob("*/card.toml"))


def load(name: str) -> Entry:
    """Return one entry.

    >>> entry = load("gp-regression-fixed")
    >>> entry.card["level"], round(entry.reference["log_evidence"], 6)
    ('exact', -7.059855)
    """
    names = list()
    if name not in names:
        import difflib

        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
        raise ValueError(f"there is no entry {name!r}; {hint}")
    return Entry(name, _folder() / name)


def methods() -> dict[str, Any]:
    """Return the package's own methods, by the names that cards use."""
    import bayeskern as bk

    exact = {"exact": True}
    return {
        "Exact()": bk.Exact(),
        "Conjugate()": bk.Conjugate(),
        "Laplace()": bk.Laplace(),
        "EP()": bk.EP(),
        "EvidenceMax(Exact(), starts=16)": bk.EvidenceMax(bk.Exact(), starts=16),
        "EvidenceMax(Laplace(), starts=16)": bk.EvidenceMax(bk.Laplace(), starts=16),
        "EvidenceMax(EP(), starts=16)": bk.EvidenceMax(bk.EP(), starts=16),
        "HyperImportance(Exact())": bk.HyperImportance(bk.Exact()),
        "HyperNUTS(Exact())": bk.HyperNUTS(bk.Exact()),
        "HyperNUTS(Laplace())": bk.HyperNUTS(bk.Laplace()),
        "HyperNUTS(EP())": bk.HyperNUTS(bk.EP()),
        "HyperNUTS(Laplace(), exact=True)": bk.HyperNUTS(bk.Laplace(), **exact),
        "HyperImportance(EP(), exact=True)": bk.HyperImportance(bk.EP(), **exact),
        "EllipticalSlice()": bk.EllipticalSlice(),
        "NUTS()": bk.NUTS(),
        "ConeHMC()": bk.ConeHMC(),
        "ConeSlice()": bk.ConeSlice(),
        "Billiard()": bk.Billiard(),
        "KernelGibbs()": bk.KernelGibbs(),
        "PerceptronSampling()": bk.PerceptronSampling(),
        "SparseBayes()": bk.SparseBayes(),
        "SparseSequential()": bk.SparseSequential(),
        "SparseVariational()": bk.SparseVariational(),
    }


# -- the scorecard -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Score:
    """How one method did on one entry.

    Attributes
    ----------
    entry : str
        Name of the entry.
    outcome : {"ran", "refused", "failed"}
        A method refuses what it does not treat; anything else that is raised is a failure.
    mean_error, sd_error : float
        Largest error of a mean in posterior sds, and of an sd as a part of it.
    z, z_limit : float
        Largest error of a mean, sd or quantile in Monte Carlo errors, and what an exact method
        exceeds with probability 1e-4; NaN if the method draws nothing.
    noise : float
        Largest Monte Carlo error of a mean, in posterior sds.
    evidence_error, evidence_se : float
        Error of the log evidence, NaN if the method has none, and its Monte Carlo error.
    ess_per_second : float
        Least effective sample size for each second of CPU time; NaN if nothing is drawn.
    cpu_seconds : float
        CPU time.
    message : str
        Why it was refused or failed, or what it warned of.
    """

    entry: str
    outcome: str
    mean_error: float = math.nan
    sd_error: float = math.nan
    z: float = math.nan
    z_limit: float = math.nan
    noise: float = math.nan
    evidence_error: float = math.nan
    evidence_se: float = 0.0
    ess_per_second: float = math.nan
    cpu_seconds: float = math.nan
    message: str = ""


@dataclass(frozen=True)
class Scorecard:
    """Scores of one method on many entries; prints as a table."""

    method: str
    scores: tuple[Score, ...]

    @property
    def failures(self) -> tuple[Score, ...]:
        """Entries on which the method raised something other than a refusal."""
        return tuple(score for score in self.scores if score.outcome == "failed")

    @property
    def worst_z(self) -> float:
        """Largest error in Monte Carlo errors, over all entries; NaN if nothing was drawn."""
        return max((s.z for s in self.scores if not math.isnan(s.z)), default=math.nan)

    def __getitem__(self, entry: str) -> Score:
        for score in self.scores:
            if score.entry == entry:
                return score
        raise KeyError(entry)

    def __str__(self) -> str:
        ran = [s for s in self.scores if s.outcome == "ran"]
        head = (
            f"{'entry':24} {'mean':>8} {'sd':>8} {'z':>5} {'evidence':>9} {'ESS/s':>8} {'CPU s':>7}"
        )
        lines = [self.method, head]
        for s in ran:
            lines.append(
                f"{s.entry:24} {_short(s.mean_error):>8} {_short(s.sd_error):>8}"
                f" {_short(s.z, '.1f'):>5} {_short(s.evidence_error, '+.1e'):>9}"
                f" {_short(s.ess_per_second, '.0f'):>8} {_short(s.cpu_seconds, '.2f'):>7}"
                + (f"  {textwrap.shorten(s.message, 50)}" if s.message else "")
            )
        refused = sum(s.outcome == "refused" for s in self.scores)
        lines += [f"{s.entry:24} failed: {s.message}" for s in self.failures]
        lines.append(f"{len(ran)} ran, {refused} refused, {len(self.failures)} failed")
        return "\n".join(lines)


def _short(value: float, form: str = ".1e") -> str:
    return "" if math.isnan(value) else format(value, form)


def check(
    method: Any,
    entries: Iterable[str] | None = None,
    *,
    random_seed: int = 0,
    name: str | None = None,
) -> Scorecard:
    """Run a method over the zoo and score it against the references.

    Parameters
    ----------
    method : Inference or callable
        One of the package's methods, or a function of a problem that returns a DataTree with a
        group ``posterior``; it may raise a ``ValueError`` for what it does not treat, and put
        ``log_evidence`` into ``attrs``.
    entries : iterable of str, optional
        Names of entries; all by default.
    random_seed : int, default=0
        For methods of the package.
    name : str, optional
        What to call the method.

    Examples
    --------
    >>> import bayeskern as bk
    >>> card = bk.zoo.check(bk.Exact(), ["gp-regression-fixed", "gp-logit-threepoint"])
    >>> card["gp-regression-fixed"].mean_error < 1e-10, card["gp-logit-threepoint"].outcome
    (True, 'refused')
    """
    names = list() if entries is None else [*entries]
    scores = tuple(_score(method, load(each), random_seed) for each in names)
    return Scorecard(name or str(getattr(method, "__name__", repr(method))), scores)


def _score(method: Any, entry: Entry, random_seed: int) -> Score:
    problem = entry.problem()
    if hasattr(method, "check"):
        try:
            method.check(problem)
        except ValueError as refusal:
            return Score(entry.name, "refused", message=str(refusal))
    start = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if hasattr(method, "run"):
                tree = method.run(problem, random_seed=random_seed)
            else:
                tree = method(problem)
    except ValueError as refusal:
        outcome = "failed" if hasattr(method, "check") else "refused"
        return Score(entry.name, outcome, message=str(refusal))
    except Exception as error:
        return Score(entry.name, "failed", message=f"{type(error).__name__}: {error}")
    seconds = max(time.process_time() - start, 1e-6)
    said = [str(w.message) for w in caught if "bayeskern" in w.filename]
    return compare(entry, tree, cpu_seconds=seconds, message="; ".join(dict.fromkeys(said)))


def compare(entry: Entry, tree: Any, *, cpu_seconds: float = math.nan, message: str = "") -> Score:
    """Score a result against the reference of its entry.

    Every variable that both know is compared. Where the group ``fit`` holds the mean and variance
    of ``f`` in closed form, those are compared and not the draws made from them.
    """
    posterior = tree["posterior"]
    known = {k: v for k, v in entry.reference["variables"].items() if k in posterior}
    if not known:
        missing = ", ".join(entry.reference["variables"])
        return Score(entry.name, "failed", message=f"the posterior has none of {missing}")
    errors = [
        _errors(posterior[name].transpose("chain", "draw", ...).values, reference, tree, name)
        for name, reference in known.items()
    ]
    zs = np.concatenate([e["z"] for e in errors])
    drawn = zs.size > 0
    attrs, log_evidence = tree.attrs, entry.reference["log_evidence"]
    ess = min((e["ess"] for e in errors if not math.isnan(e["ess"])), default=math.nan)
    return Score(
        entry.name,
        "ran",
        mean_error=max(e["mean"] for e in errors),
        sd_error=max(e["sd"] for e in errors),
        z=float(zs.max()) if drawn else math.nan,
        z_limit=_limit(zs.size) if drawn else math.nan,
        noise=max(e["noise"] for e in errors),
        evidence_error=float(attrs.get("log_evidence", math.nan)) - log_evidence,
        evidence_se=math.hypot(
            float(attrs.get("log_evidence_se", 0.0)), entry.reference["log_evidence_mcse"]
        ),
        ess_per_second=ess / cpu_seconds,
        cpu_seconds=cpu_seconds,
        message=message,
    )


def _limit(size: int) -> float:
    from scipy.stats import norm

    return float(norm.isf(FAMILY / 2 / size))


def _errors(draws: np.ndarray, reference: Mapping[str, Any], tree: Any, name: str) -> dict:
    """Errors of one variable: means in sds, sds relative, both and quantiles in MCSEs."""
    import arviz as az

    draws = draws.reshape(*draws.shape[:2], -1)
    ref = {key: np.ravel(np.asarray(value, dtype=float)) for key, value in reference.items()}
    fixed = np.ptp(draws, axis=(0, 1)).max() == 0  # a point estimate
    closed = name == "f" and "fit" in tree and "variance" in tree["fit"]
    if fixed or closed:
        mean, sd = draws.mean(axis=(0, 1)), np.zeros(draws.shape[-1])
        if closed:
            mean = tree["fit"]["mean_vector"].values
            sd = np.sqrt(tree["fit"]["variance"].values)
        return {
            "mean": float(np.abs((mean - ref["mean"]) / ref["sd"]).max()),
            "sd": float(np.abs(sd / ref["sd"] - 1).max()),
            "z": np.empty(0),
            "noise": 0.0,
            "ess": math.nan,
        }
    mean, sd = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1), ddof=1)
    columns = [draws[..., i] for i in range(draws.shape[-1])]
    count = draws.shape[0] * draws.shape[1]
    # resampled draws repeat, so they know less than their number says
    inflate = math.sqrt(max(1.0, count / tree.attrs.get("importance_ess", count)))

    def z(off: np.ndarray, **kind: Any) -> np.ndarray:
        mcse = inflate * np.array([float(az.mcse(c, **kind)) for c in columns])
        with np.errstate(divide="ignore"):
            return np.abs(off) / np.hypot(mcse, ref["mcse"])

    zs = [z(mean - ref["mean"], method="mean"), z(sd - ref["sd"], method="sd")]
    for key, level in QUANTILES.items():
        off = np.quantile(draws, level, axis=(0, 1)) - ref[key]
        zs.append(z(off, method="quantile", prob=level))
    noise = [inflate * float(az.mcse(c)) / s for c, s in zip(columns, ref["sd"], strict=True)]
    return {
        "mean": float(np.abs((mean - ref["mean"]) / ref["sd"]).max()),
        "sd": float(np.abs(sd / ref["sd"] - 1).max()),
        "z": np.concatenate(zs),
        "noise": float(max(noise)),
        "ess": min(float(az.ess(c)) for c in columns) / inflate**2,
    }
