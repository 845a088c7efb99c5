"""Save and load fitted estimators, without running code that a file brings along.

A saved model is a folder: ``model.pkl`` (the estimator without its posterior),
``posterior.nc`` (its DataTree) and ``features.json``. Unpickling runs whatever the file says, so
`load` refuses to do it unless it is told to trust the file, or the file was written on this
machine by this user (checked by a signature with a private key in the user's home).
"""

import hashlib
import hmac
import json
import os
import pickle
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def save(model: Any, path: Any, *, features: Sequence[str] = ()) -> Path:
    """Write a fitted estimator and its DataTree into the folder ``path``."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    holder = _holder(model)
    tree = getattr(holder, "idata_", None)
    if tree is not None:
        tree.to_netcdf(folder / "posterior.nc")
        del holder.idata_
    try:
        payload = pickle.dumps(model)
    finally:
        if tree is not None:
            holder.idata_ = tree
    (folder / "model.pkl").write_bytes(payload)
    (folder / "signature").write_text(_sign(payload), encoding="ascii")
    (folder / "features.json").write_text(json.dumps(list(features)), encoding="utf-8")
    return folder


def load(path: Any, *, trust: bool = False) -> Any:
    """Read what `save` wrote.

    Parameters
    ----------
    path : path
        The folder.
    trust : bool, default=False
        Load a file that this user did not write on this machine. It can run any code: be sure
        where it came from.
    """
    folder = Path(path)
    if not (folder / "model.pkl").is_file():
        raise ValueError(f"{folder} is not a saved model: it has no model.pkl")
    payload = (folder / "model.pkl").read_bytes()
    signature = folder / "signature"
    signed = signature.is_file() and hmac.compare_digest(
        signature.read_text(encoding="ascii"), _sign(payload)
    )
    if not (signed or trust):
        raise ValueError(
            f"{folder} was not saved by this user on this machine and loading it could run any"
            " code; pass trust=True if you know where it came from"
        )
    model = pickle.loads(payload)
    if (folder / "posterior.nc").is_file():
        import xarray as xr

        with xr.open_datatree(folder / "posterior.nc") as tree:
            _holder(model).idata_ = tree.load()
    return model


def read_features(path: Any) -> list[str]:
    """Return the names of the features a saved model was fitted on."""
    return json.loads((Path(path) / "features.json").read_text(encoding="utf-8"))


def _holder(model: Any) -> Any:
    """The estimator that holds the posterior: the last step of a pipeline."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _sign(payload: bytes) -> str:
    return hmac.new(_key(), payload, hashlib.sha256).hexdigest()


def _key() -> bytes:
    home = Path(os.environ.get("XDG_DATA_HOME", Path.home() / ".local" / "share")) / "bayeskern"
    path = home / "signing.key"
    if not path.is_file():
        home.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(secrets.token_bytes(32))
    return path.read_bytes()
