"""Queries of SQL that are drawn whole, of which `grammar.toml` has the texts."""

from __future__ import annotations

from verification.random_plans.columns import FLAT, Scope
from verification.random_plans.conditions import literal, say
from verification.random_plans.expressions import GRAMMAR
from verification.random_plans.queries import Queries
from verification.random_plans.sources import Query

TEXTS: list[str] = GRAMMAR["texts"].splitlines()


def text_of(draws: Queries) -> Query:
    """Draw a query, of whose result the columns are not known."""
    table, scope = draws.table()
    other = table if draws.chance(0.5) else draws.table()[0]
    flat = [c.name for c in scope.columns if c.kind in FLAT]
    shown = draws.dice.choice(flat)
    template = draws.dice.choice(TEXTS)
    draws.did(f"text {template[:60]}")
    texts = scope.of("text") or scope.of(*FLAT)
    text = draws.dice.choice(texts)
    arrays = [c.ref for c in scope.of("array")]
    number = draws.dice.choice(scope.of("num"))
    sql = template.format(
        t=table.upper() if draws.ignores_case and draws.chance(0.3) else table,
        u=other,
        k=scope.unique[0].ref if scope.unique else flat[0],
        a=shown.upper() if draws.ignores_case and draws.chance(0.2) else shown,
        b=draws.dice.choice(flat),
        n=number.ref,
        s=text.ref,
        l=literal(draws.value(text), text.type),
        r=draws.dice.choice(arrays) if arrays else f"array({number.ref})",
        x=draws.dice.choice(_nested(scope) or flat),
        c=say(draws.condition(scope)),
        d=say(draws.condition(scope)),
    )
    return Query(sql, (), Scope(()))


def _nested(scope: Scope) -> list[str]:
    """Return nested columns, their fields, and what is made of maps."""
    found = []
    for column in scope.columns:
        # Fields of the items of an array are arrays.
        parts = column.item if column.kind == "array" else column
        for each in parts.fields:
            found += [column.ref, each.ref, each.ref.upper(), *(f.ref for f in each.fields)]
        if column.kind == "map":
            found += [f"map_keys({column.ref})", f"map_values({column.ref})"]
    return found
