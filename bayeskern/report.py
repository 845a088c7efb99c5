"""A comparison as JSON, and as one HTML page that needs no network."""

import base64
import html
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from bayeskern.tables import COLUMNS, cells, verdicts


def as_json(comparison: Any) -> str:
    """Everything in the table, for machines."""
    table = comparison.table()
    rows = {
        name: {
            k: (None if isinstance(v, float) and not np.isfinite(v) else v) for k, v in row.items()
        }
        for name, row in table.to_dict("index").items()
    }
    return json.dumps(
        {
            "models": rows,
            "pairs": comparison.pairs().to_dict("records"),
            "failures": {n: m.failure for n, m in comparison.models.items() if m.failure},
            "classes": comparison.classes,
            "settings": comparison.settings,
        },
        indent=2,
        default=str,
    )


def write_report(comparison: Any, folder: Any, *, title: str, X: Any = None, y: Any = None) -> Path:
    """Write ``report.html``, ``table.csv`` and the posteriors as netCDF into a folder.

    Returns the path of the page.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    comparison.table().to_csv(folder / "table.csv", index_label="model")
    trees = posteriors(comparison)
    for name, tree in trees.items():
        tree.to_netcdf(folder / f"{name}.nc")
    page = folder / "report.html"
    page.write_text(_page(comparison, title, _pictures(comparison, X, y), trees), encoding="utf-8")
    return page


def posteriors(comparison: Any) -> dict[str, Any]:
    """The DataTree of every model that has one."""
    found = {}
    for name, m in comparison.working.items():
        model = m.fitted.steps[-1][1] if hasattr(m.fitted, "steps") else m.fitted
        tree = getattr(model, "idata_", None)
        if tree is not None:
            found[name] = tree
    return found


def _pictures(comparison: Any, X: Any, y: Any) -> list[tuple[str, str]]:
    """Captions and PNGs as base64."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from bayeskern import plots

    drawn = []

    def keep(caption: str, ax: Any) -> None:
        figure = ax.figure
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110)
        plt.close(figure)
        drawn.append((caption, base64.b64encode(buffer.getvalue()).decode()))

    keep("Error of each model, cross-validated, with 90 % intervals", plots.errors(comparison))
    best = list(comparison.working)[:4]
    keep(
        "Reliability: are 70 % sure predictions right 70 % of the time?",
        plots.reliability(comparison, names=best),
    )
    X = None if X is None else np.asarray(X)
    if X is not None and X.ndim == 2 and X.shape[1] == 2 and X.dtype.kind == "f":
        for name in best[:2]:
            ax = plots.decision_regions(comparison.models[name].fitted, X, y)
            keep(f"Decision regions of {name}", ax)
    pair = _bayesian_and_margin(comparison)
    if pair and X is not None:
        bayesian, margin = pair
        ax = plots.margin_against_probability(
            comparison.models[margin].fitted, comparison.models[bayesian].fitted, X, y
        )
        keep(f"Bayesian versus margin, point by point: {bayesian} against {margin}", ax)
    return drawn


def _bayesian_and_margin(comparison: Any) -> tuple[str, str] | None:
    trees = posteriors(comparison)
    margins = [n for n in comparison.working if "svm" in n]
    return (next(iter(trees)), margins[0]) if trees and margins else None


def _summaries(trees: dict[str, Any]) -> str:
    """Posterior summaries of the hyperparameters of each model."""
    import arviz as az

    parts = []
    for name, tree in trees.items():
        posterior = tree["posterior"]
        small = [
            v
            for v in posterior.data_vars
            if posterior[v].size <= 30 * posterior[v].shape[0] * posterior[v].shape[1] and v != "f"
        ]
        attrs = {
            k: tree.attrs[k]
            for k in ("method", "draws", "log_evidence", "evidence_kind")
            if k in tree.attrs
        }
        facts = "".join(
            f"<li>{html.escape(k)}: {html.escape(str(v))}</li>" for k, v in attrs.items()
        )
        body = ""
        if small:
            frame = az.summary(tree, var_names=small, kind="stats")
            body = f"<div class='wide'>{frame.to_html(border=0)}</div>"
        parts.append(f"<h3>{html.escape(name)}</h3><ul>{facts}</ul>{body}")
    return "".join(parts)


_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap; }
th, td { border-bottom: 1px solid #ccc; }
th:first-child, td:first-child { text-align: left; }
th button { font: inherit; font-weight: 600; cursor: pointer; }
th button { background: none; border: 0; padding: 0; }
figure { margin: 1rem 0; break-inside: avoid; } img { max-width: 100%; height: auto; }
figcaption { color: #444; }
pre { overflow-x: auto; background: #f5f5f5; padding: .6rem; }
@media print { body { max-width: none; } }
"""

_SCRIPT = """
document.querySelectorAll('#models th button').forEach(function (button, column) {
  button.addEventListener('click', function () {
    var body = document.querySelector('#models tbody');
    var rows = Array.from(body.rows);
    var up = button.dataset.up !== 'yes';
    var value = function (row) {
      var text = row.cells[column].dataset.value;
      var number = parseFloat(text);
      return isNaN(number) ? (column === 0 ? text : Infinity) : number;
    };
    rows.sort(function (a, b) {
      var x = value(a), y = value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
    });
    button.dataset.up = up ? 'yes' : 'no';
    rows.forEach(function (row) { body.appendChild(row); });
  });
});
"""


def _page(
    comparison: Any, title: str, pictures: list[tuple[str, str]], trees: dict[str, Any]
) -> str:
    table = comparison.table()
    heads = ["model", *(head for head, _ in COLUMNS.values())]
    head = "".join(f"<th><button type='button'>{html.escape(h)}</button></th>" for h in heads)
    rows = ""
    for name, row in table.iterrows():
        line = f"<td data-value='{html.escape(str(name))}'>{html.escape(str(name))}</td>"
        for key, text in zip(COLUMNS, cells(row), strict=True):
            line += f"<td data-value='{row[key]}'>{html.escape(text)}</td>"
        rows += f"<tr>{line}</tr>"
    said = "".join(f"<li>{html.escape(line)}</li>" for line in verdicts(comparison))
    failed = "".join(
        f"<p>{html.escape(n)} could not be fitted: {html.escape(m.failure)}</p>"
        for n, m in comparison.models.items()
        if m.failure
    )
    figures = "".join(
        f"<figure><img alt='{html.escape(c)}' src='data:image/png;base64,{png}'>"
        f"<figcaption>{html.escape(c)}</figcaption></figure>"
        for c, png in pictures
    )
    certificates = "".join(
        f"<li>{html.escape(n)}: risk at most {m.facts['certificate']:.3f} with probability"
        f" {1 - comparison.settings['delta']:g} ({html.escape(m.facts['certificate_name'])})</li>"
        for n, m in comparison.working.items()
        if "certificate" in m.facts
    )
    told = comparison.settings
    settings = html.escape(json.dumps(told, indent=2, default=str))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{html.escape(title)}</h1>
<p>{told["n"]} points, classes {html.escape(" and ".join(map(str, comparison.classes)))};
{told["folds"]}-fold cross-validation, repeats: {told["repeats"]};
the same folds for every model. Click a heading to sort.</p>
<div class="wide"><table id="models">
<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>
{failed}<h2>Which is better?</h2><ul>{said}</ul>
<h2>Pictures</h2>{figures}
<h2>Posteriors</h2>{_summaries(trees)}
<h2>Certificates</h2><ul>{certificates or "<li>none that says more than 1</li>"}</ul>
<h2>To reproduce</h2><pre>{settings}</pre>
<script>{_SCRIPT}</script></body></html>
"""
