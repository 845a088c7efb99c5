"""The command ``bayeskern``: compare, fit, predict, certify, on a CSV file or a named data set."""

import argparse
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MOST_ROWS = 5000  # exact kernel methods hold an n x n matrix


class Table(NamedTuple):
    """Inputs and labels to learn from."""

    X: Any
    y: np.ndarray
    features: list[str]
    title: str


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 with a sentence on what was wrong."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except (ValueError, OSError) as error:
        print(f"bayeskern: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bayeskern", description="Bayesian and margin classifiers with kernels."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        return sub

    def data(sub: argparse.ArgumentParser) -> None:
        sub.add_argument(
            "data", nargs="?", default="ripley", help="a CSV file or a data set's name"
        )
        sub.add_argument("--target", help="column of the labels; the last one by default")
        sub.add_argument("--seed", type=int, default=0)

    sub = command("compare", _compare, "Put models side by side and write a report.")
    data(sub)
    sub.add_argument("--models", help="names separated by commas; all by default")
    sub.add_argument("--out", default="bayeskern-report", help="folder of the report")
    sub.add_argument("--folds", type=int, default=5)
    sub.add_argument("--repeats", type=int, default=1)
    sub.add_argument("--jobs", type=int, default=None, help="processes for joblib")
    sub.add_argument("--json", action="store_true", help="print JSON instead of a table")

    sub = command("fit", _fit, "Fit one model and save it.")
    data(sub)
    sub.add_argument("--model", default="gp")
    sub.add_argument("--out", default="model.bayeskern")

    sub = command("predict", _predict, "Predict with a saved model, as CSV on standard output.")
    sub.add_argument("model")
    sub.add_argument("data", help="a CSV file with the features the model was fitted on")
    sub.add_argument("--trust", action="store_true", help="load a file that holds Python objects")

    sub = command("certify", _certify, "Bound the risk of one model.")
    data(sub)
    sub.add_argument("--model", default="gp")
    sub.add_argument("--delta", type=float, default=0.05)

    command("datasets", _datasets, "List the data sets that come with the package.")

    sub = command("zoo", _zoo, "List the reference posteriors, or score a method against them.")
    sub.add_argument("method", nargs="?", help="such as 'EP()', or 'all'; none lists the entries")
    sub.add_argument("--seed", type=int, default=0)
    return parser


# -- data --------------------------------------------------------------------------------------


def read_table(source: str, target: str | None = None) -> Table:
    """Read a CSV file, or load a named data set with two classes."""
    from bayeskern import datasets

    path = Path(source)
    if source in datasets.names() and not path.exists():
        record = datasets.load(source)
        return Table(record.X, np.asarray(record.y), list(record.feature_names), source)
    if not path.exists():
        near = difflib.get_close_matches(source, datasets.names(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "; see bayeskern datasets"
        raise ValueError(f"{source!r} is neither a file nor a data set{hint}")
    return read_csv(path, target)


def read_csv(path: Path, target: str | None) -> Table:
    """Read features and labels; text becomes indicator columns, missing values are refused."""
    frame = _frame(path)
    name = str(frame.columns[-1]) if target is None else target
    if name not in frame.columns:
        near = difflib.get_close_matches(name, [str(c) for c in frame.columns], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        shown = ", ".join(map(str, frame.columns[:8]))
        raise ValueError(f"{path} has no column {name!r}{hint}; it has {shown}")
    if frame[name].isna().any():
        raise ValueError(f"column {name!r} has {int(frame[name].isna().sum())} missing labels")
    y = frame.pop(name).to_numpy()
    kinds = len(np.unique(y.astype(str)))
    if kinds != 2:
        raise ValueError(f"column {name!r} must hold two classes, got {kinds}")
    if len(frame) > MOST_ROWS:
        raise ValueError(
            f"{path} has {len(frame)} rows, and exact kernel methods hold a matrix of their square;"
            f" sample {MOST_ROWS} of them, or use SVMClassifier or RVMClassifier from Python"
        )
    X, features = numeric(frame, path)
    return Table(X, y, features, path.name)


def numeric(frame: Any, path: Path) -> tuple[np.ndarray, list[str]]:
    """Return a matrix of numbers and the names of its columns."""
    import pandas as pd

    empty = [c for c in frame.columns if frame[c].isna().all()]
    if empty:
        print(f"left out {', '.join(map(repr, empty))}: all values missing", file=sys.stderr)
        frame = frame.drop(columns=empty)
    missing = [c for c in frame.columns if frame[c].isna().any()]
    if missing:
        raise ValueError(
            f"{path} has missing values in {', '.join(map(repr, missing[:5]))};"
            " fill them in or drop those rows first"
        )
    text = [c for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c])]
    wide = [c for c in text if frame[c].nunique() > 20]
    if wide:
        raise ValueError(
            f"column {wide[0]!r} holds text with {frame[wide[0]].nunique()} different values;"
            " drop it, or use a string kernel from Python"
        )
    frame = pd.get_dummies(frame, columns=text, dtype=float)
    constant = [c for c in frame.columns if frame[c].nunique() <= 1]
    if constant:
        print(f"left out {', '.join(map(repr, constant))}: constant", file=sys.stderr)
        frame = frame.drop(columns=constant)
    if frame.shape[1] == 0:
        raise ValueError(f"{path} has no feature that varies")
    return frame.to_numpy(dtype=float), [str(c) for c in frame.columns]


def _frame(path: Path) -> Any:
    import pandas as pd

    try:
        frame = pd.read_csv(path)
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"{path} could not be read as CSV: {str(error).splitlines()[0]}") from None
    if frame.shape[0] < 2 or frame.shape[1] < 2:
        raise ValueError(f"{path} needs a header, two rows and two columns, got {frame.shape}")
    return frame


# -- commands ----------------------------------------------------------------------------------


def _compare(arguments: argparse.Namespace) -> None:
    from bayeskern.comparison import compare
    from bayeskern.report import as_json, write_report

    table = read_table(arguments.data, arguments.target)
    names = arguments.models.split(",") if arguments.models else None
    comparison = compare(
        names,
        table.X,
        table.y,
        folds=arguments.folds,
        repeats=arguments.repeats,
        random_state=arguments.seed,
        n_jobs=arguments.jobs,
        progress=sys.stderr.isatty() and not arguments.json,
    )
    title = f"bayeskern: models compared on {table.title}"
    page = write_report(comparison, arguments.out, title=title, X=table.X, y=table.y)
    if arguments.json:
        print(as_json(comparison))
        return
    print(f"{table.title}: {len(table.y)} points, {len(table.features)} features\n")
    print(comparison)
    print(f"\nThe report, with pictures and posteriors: {page}")


def _fit(arguments: argparse.Namespace) -> None:
    from bayeskern.saving import save
    from bayeskern.standard import model_named

    table = read_table(arguments.data, arguments.target)
    model = model_named(arguments.model).fit(table.X, table.y)
    path = save(model, arguments.out, features=table.features)
    print(f"{arguments.model} fitted to {len(table.y)} points of {table.title}, saved as {path}")


def _predict(arguments: argparse.Namespace) -> None:
    import pandas as pd

    from bayeskern.saving import load, read_features

    model = load(arguments.model, trust=arguments.trust)
    names = read_features(arguments.model)
    frame = pd.get_dummies(pd.read_csv(arguments.data), dtype=float)
    missing = [n for n in names if n not in frame.columns]
    if missing:
        raise ValueError(f"{arguments.data} lacks the columns {', '.join(map(repr, missing[:5]))}")
    X = frame[names].to_numpy(dtype=float)
    out = pd.DataFrame(model.predict_proba(X), columns=[f"p({c})" for c in model.classes_])
    out.insert(0, "predicted", model.predict(X))
    out.to_csv(sys.stdout, index=False)


def _certify(arguments: argparse.Namespace) -> None:
    from bayeskern.classic.bounds import certify
    from bayeskern.comparison import last_step
    from bayeskern.standard import model_named

    table = read_table(arguments.data, arguments.target)
    fitted = model_named(arguments.model).fit(table.X, table.y)
    model, X = last_step(fitted, table.X)
    print(certify(model, X, table.y, delta=arguments.delta))


def _datasets(arguments: argparse.Namespace) -> None:
    from bayeskern import datasets

    for name in datasets.names():
        record = datasets.load(name)
        print(f"{name:18} {len(record.y):5} points  {record.description.splitlines()[0]}")


def _zoo(arguments: argparse.Namespace) -> None:
    from bayeskern import zoo

    if arguments.method is None:
        for name in zoo.list():
            card = zoo.load(name).card
            print(f"{name:24} {card['level']:13} {card['title']}")
        return
    known = zoo.methods()
    if arguments.method != "all" and arguments.method not in known:
        raise ValueError(f"there is no method {arguments.method!r}; say all, {', '.join(known)}")
    for name in known if arguments.method == "all" else [arguments.method]:
        print(zoo.check(known[name], random_seed=arguments.seed, name=name), end="\n\n", flush=True)
