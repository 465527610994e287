# SPDX-License-Identifier: Apache-2.0
"""docs/dev/published.md, and the sentence about it in README.md, from the rows and what came out of them."""
import re

GENERIC = "generic-nvidia"
FAMILIES = ("ring.", "collectives.", "copy.", "load.", "pairs.")
HEAD = """# Published measurements

Made from `tests/published/*.json` by `tests/published/published.py . build/muster --write-docs`; the head of that file says what a row holds.
Each row has facts that others have published of a real machine. The test `published.rows` puts them into the report of a healthy simulated
machine, lets `muster check` evaluate the report as the machine type with this GPU ("own") and as `generic-nvidia`, and compares what comes out with
what the owner says. Runs on more nodes than the test has are evaluated as runs on as many as the same thresholds are for. Where an address is not known, a source is named by its title.

"""
WORDS = """| the owner says | rows |
|---|---|
"""
SAYS = {"healthy": "healthy: no check may warn", "sick": "sick: a check must warn or fail",
        "hidden": "sick, and healthy machines have the same value, so no check may warn", "setting": "slow by a setting, on purpose",
        "unknown": "nothing, or asks", "derived": "healthy; the row has a part of the value, and a check must say so"}


def number(value, check):
    if "share_of" in check:
        return f"{100 * value:.0f} %"
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def value_for(row, check, label_of):
    """The row's lowest value that the check judges, None without one."""
    values = row.get("values", {}).get(check.get("metric"))
    if isinstance(values, dict):
        where = [value for key, value in check.get("where", {}).items() if key not in ("nodes", "ranks")]
        values = [value for label, value in values.items() if not where or label_of(label) in where]
    values = values if isinstance(values, list) else [values]
    values = [min(value) if isinstance(value, list) else value for value in values if value is not None]
    return min(values) if values and sum(check["count"].values()) and ("min" in check or "warn_below" in check) else None


def known(outcomes, label_of):
    """{type: {check: [(said, value or share, id)]}}, and {type: all of its checks}."""
    found, checks = {}, {}
    for row, kind, _, _, judged in outcomes:
        sku = row["type"] if kind == "own" else GENERIC
        for check in judged:
            if not check["check"].startswith(FAMILIES) or not ("min" in check or "warn_below" in check):
                continue
            checks.setdefault(sku, {}).setdefault(check["check"], check)
            value = value_for(row, check, label_of)
            if value is not None and "share" in check and "share_of" in check:
                value = value / check["share"]["limit"]
            elif "share_of" in check:
                value = None
            if value is not None:
                found.setdefault(sku, {}).setdefault(check["check"], []).append((row["said"], value, row["id"]))
    return found, checks


def of_types(outcomes, label_of):
    found, checks = known(outcomes, label_of)
    text = ("## What is known of each machine type\n\nThe lowest published value of a healthy machine and the highest of a sick one, for each "
            "check of one. Shares are those of the\ncheck's limit. What a sick machine has at one check need not be what is "
            "wrong with it.\n")
    for sku in sorted(checks, key=lambda name: (name == GENERIC, name)):
        text += f"\n### {sku}\n\n| check | values | healthy, lowest | sick, highest |\n|---|---|---|---|\n"
        for check, one in sorted(checks[sku].items()):
            rows = found.get(sku, {}).get(check, [])
            if rows:
                healthy = min((row for row in rows if row[0] == "healthy"), key=lambda row: row[1], default=None)
                sick = max((row for row in rows if row[0] == "sick"), key=lambda row: row[1], default=None)
                cells = (f"{number(row[1], one)} (`{row[2]}`)" if row else "" for row in (healthy, sick))
                text += f"| `{check}` | {len(rows)} | {' | '.join(cells)} |\n"
        missing = [f"`{check}`" for check in sorted(checks[sku]) if not found.get(sku, {}).get(check) and not check.startswith("pairs.")]
        text += f"\nNo published value: {', '.join(missing) or 'none'}.\n"
    return text


def of_rows(rows):
    open_rows = [row for row in rows if "now" in row]
    text = "\n## Thresholds that are not right yet\n\n| row | evaluated as | must be | comes out |\n|---|---|---|---|\n"
    text += "".join(f"| `{row['id']}` | {kind} | {row['must'][kind]} | {now} |\n" for row in open_rows for kind, now in row["now"].items())
    text += "\n## All rows\n\n| row | machine | GPUs | network | says | source |\n|---|---|---|---|---|---|\n"
    for row in rows:
        quoted = ", quoted by a check" if row.get("quoted") else ""
        text += (f"| `{row['id']}` | {row['machine']} | {row['nodes']} × {row['gpus']} {row['gpu']} | {row.get('network', '')} | {row['said']} | "
                 f"{row['source']}{quoted} |\n")
    return text


def counts(rows):
    """Rows, machines and sources: a machine is one of a source, whatever was measured there."""
    sources = {re.split(r" (?=\S+/\S)|@", row["source"])[0] for row in rows}
    return len(rows), len({(row["source"], row["machine"], row["gpu"]) for row in rows}), len(sources)


def page(rows, outcomes, label_of):
    words = "".join(f"| {SAYS[word]} | {sum(row['said'] == word for row in rows)} |\n" for word in SAYS)
    return HEAD + "{} measurements of {} machines, from {} sources.\n\n".format(*counts(rows)) + WORDS + words + "\n" + \
        of_types(outcomes, label_of) + of_rows(rows)


def sentence(rows):
    """Of README.md."""
    return "The thresholds are tested with {} published measurements of {} machines ([list](docs/dev/published.md)). It complements:".format(
        *counts(rows))
