"""A comparison as text: the table that a terminal shows, and what it means in words."""

from typing import Any

import numpy as np

COLUMNS = {
    "error": ("error", "{:.3f}"),
    "log_loss": ("log loss", "{:.3f}"),
    "brier": ("Brier", "{:.3f}"),
    "ece": ("ECE", "{:.3f}"),
    "auc": ("AUC", "{:.3f}"),
    "elpd_cv": ("elpd (CV)", "{:.1f}"),
    "elpd_loo": ("elpd (LOO)", "{:.1f}"),
    "log_evidence": ("log evidence", "{:.1f}"),
    "n_support": ("vectors", "{:.0f}"),
    "certificate": ("certificate", "{:.3f}"),
    "fit_s": ("fit, s", "{:.2f}"),
    "peak_mb": ("memory, MB", "{:.0f}"),
}


def _cell(value: Any, pattern: str) -> str:
    return "–" if value is None or not np.isfinite(value) else pattern.format(value)


def cells(row: Any) -> list[str]:
    """The cells of one model's row, as text."""
    out = [_cell(row[key], pattern) for key, (_, pattern) in COLUMNS.items()]
    half = (row["error_high"] - row["error_low"]) / 2
    out[0] += f" ± {half:.3f}"
    if row["evidence_kind"]:
        place = list(COLUMNS).index("log_evidence")
        out[place] += f" ({row['evidence_kind']})"
    return out


def text_table(comparison: Any) -> str:
    """Table of the models and what the paired tests say, for a terminal."""
    table = comparison.table()
    heads = ["model", *(head for head, _ in COLUMNS.values())]
    rows = [[name, *cells(row)] for name, row in table.iterrows()]
    keep = [k for k in range(len(heads)) if k == 0 or any(not r[k].startswith("–") for r in rows)]
    widths = [max(len(r[k]) for r in [heads, *rows]) for k in keep]
    lines = [
        "  ".join(
            r[k].ljust(w) if k == 0 else r[k].rjust(w) for k, w in zip(keep, widths, strict=True)
        ).rstrip()
        for r in [heads, *rows]
    ]
    lines.insert(1, "  ".join("─" * w for w in widths))
    lines += ["", *verdicts(comparison)]
    lines += [
        f"{name}: not fitted, {m.failure}" for name, m in comparison.models.items() if m.failure
    ]
    return "\n".join(lines)


def verdicts(comparison: Any) -> list[str]:
    """What the paired comparison says of the first model against each other, in words."""
    names = list(comparison.working)
    rope = comparison.settings["rope"]
    lines = []
    for other in names[1:]:
        d = comparison.paired(names[0], other)
        lines.append(
            f"{names[0]} against {other}: better with probability {d.lower:.2f}, within"
            f" ±{rope:g} of its error {d.equivalent:.2f}, worse {d.higher:.2f}"
        )
    return lines
