"""Imports point one way, and what is heavy is loaded on first use."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "bayeskern"
FILES = sorted(PACKAGE.rglob("*.py"))
LAYERS = {
    **dict.fromkeys(
        ["checks", "conjugate", "covariance", "errors", "linalg", "paired", "priors"], 0
    ),
    **dict.fromkeys(["datasets", "kernels", "likelihoods"], 1),
    **dict.fromkeys(["bayes", "classic"], 2),
    "infer": 3,
    "estimators": 4,
    **dict.fromkeys(["comparison", "diagnostics", "methods", "plots", "plots_version_space"], 5),
    **dict.fromkeys(["saving", "standard", "strategies", "tables", "zoo"], 5),
    **dict.fromkeys(["cli", "report"], 6),
}
HEAVY = {"arviz", "matplotlib", "numba", "nutpie", "pymc", "pytensor", "sklearn", "xarray"}


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def part(path: Path) -> str:
    """First name below the package: a subpackage or a module."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def layer(part: str) -> int:
    """Layer of a part: private modules lie lowest, a new public one must be given one here."""
    assert part.startswith("_") or part in LAYERS, f"bayeskern.{part} has no layer yet: add it"
    return LAYERS.get(part, 0)


def imported(tree: ast.AST) -> list[str]:
    """Dotted names of all modules imported anywhere below a node."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "bayeskern":
                names += [f"bayeskern.{alias.name}" for alias in node.names]
            else:
                names.append(str(node.module))
    return names


def at_import(tree: ast.Module) -> list[str]:
    """Modules imported when the file is, that is, outside of any function."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    names, waiting = [], list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            names += imported(node)
        elif not isinstance(node, functions):
            waiting += list(ast.iter_child_nodes(node))
    return names


@pytest.mark.parametrize("path", FILES, ids=name)
class TestEveryFile:
    def test_imports_nothing_from_above(self, path):
        if path == PACKAGE / "__init__.py":
            return
        here = part(path)
        for module in imported(ast.parse(path.read_text())):
            parts = module.split(".")
            if parts[0] == "bayeskern" and len(parts) > 1:
                assert layer(parts[1]) <= layer(here), f"{name(path)} imports {module}"
                if here == "classic":
                    assert parts[1] != "bayes", f"{name(path)} imports {module}"

    def test_imports_pymc_only_inside_functions(self, path):
        if path.stem.endswith("_step"):  # step methods are subclasses of PyMC's
            return
        heavy = {module.split(".")[0] for module in at_import(ast.parse(path.read_text()))}
        assert not heavy & {"pymc", "pytensor", "nutpie"}

    def test_classic_knows_no_pymc(self, path):
        if part(path) == "classic":
            known = {module.split(".")[0] for module in imported(ast.parse(path.read_text()))}
            assert not known & {"arviz", "nutpie", "pymc", "pytensor"}

    def test_bounds_stand_alone(self, path):
        if path.parent.name == "bounds":
            allowed = ("bayeskern.checks", "bayeskern.errors", "bayeskern._lazy")
            for module in imported(ast.parse(path.read_text())):
                if module.startswith("bayeskern"):
                    ok = module in allowed or module.startswith("bayeskern.classic.bounds")
                    assert ok, f"{name(path)} imports {module}"


def loaded_by(statement: str) -> tuple[set[str], float]:
    """Top-level modules in memory after a statement in a fresh process, and its seconds."""
    code = (
        "import sys, time\n"
        "start = time.perf_counter()\n"
        f"{statement}\n"
        "print(time.perf_counter() - start, *{m.split('.')[0] for m in sys.modules})"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    ).stdout.split()
    return set(out[1:]), float(out[0])


@pytest.mark.parametrize(
    "statement",
    [
        "import bayeskern",
        "import bayeskern.classic",
        "import bayeskern as bk; 2.0 * bk.RBF() + bk.Linear()",
        "import bayeskern as bk; bk.datasets.load('ripley')",
        "import bayeskern as bk; bk.Prior('HalfNormal', sigma=1.0)",
    ],
)
def test_is_light(statement):
    modules, seconds = loaded_by(statement)
    print(f"{statement}: {seconds:.2f} s")  # shown by -s; the machine may be busy
    assert "bayeskern" in modules
    assert not modules & HEAVY


def test_every_public_name_loads():
    import bayeskern

    for public in bayeskern.__all__:
        assert getattr(bayeskern, public) is not None
    for public in bayeskern.kernels.__all__:
        assert getattr(bayeskern.kernels, public) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Rbf'"):
        bayeskern.Rbf  # noqa: B018
