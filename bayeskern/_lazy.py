"""Load a module's public names on first use, so that an import costs nothing."""

import importlib
import sys
from collections.abc import Callable
from typing import Any


def attach(package: str, homes: dict[str, list[str]]) -> tuple[Callable, Callable, list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package.

    ``homes`` maps a submodule to the names it lends to the package; an empty list lends the
    submodule itself. A home that starts with "bayeskern." is taken as it is, from elsewhere.
    """
    owner = {name: home for home, names in homes.items() for name in names}
    public = sorted([*owner, *(home for home, names in homes.items() if not names)])

    def __getattr__(name: str) -> Any:
        if name in owner:
            home = owner[name]
            path = home if home.startswith("bayeskern.") else f"{package}.{home}"
            value = getattr(importlib.import_module(path), name)
        elif name in homes:
            value = importlib.import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)  # the second look-up is an ordinary one
        return value

    return __getattr__, lambda: public, public
