"""Queries of SQL that are drawn whole: what the syntax knows beside the parts of `queries`."""

from __future__ import annotations

from verification.random_plans.columns import FLAT, Scope
from verification.random_plans.conditions import literal, to_sql
from verification.random_plans.queries import Queries

# {t}, {u}: tables or views. {k}, {a}, {b}: columns; no two rows have one {k}. {n}: a number, {s}: a
# text, {r}: an array, {x}: a nested column or field. {c}, {d}: conditions. {l}: a literal of {s}.
TEXTS = """
SELECT count(*) FROM {t}
SELECT COUNT( * ), count({a}) FROM {t} WHERE {c}
SELECT {a}, count({n}) FROM {t} GROUP BY ALL
SELECT {t}.{a}, {x} AS again FROM {t} WHERE {c}
SELECT o.{a}, {x} FROM {t} o
SELECT {x}, {k} FROM {t} WHERE {c}
SELECT {a}, CASE WHEN {c} THEN 1 WHEN {d} THEN 2 END AS x FROM {t}
SELECT {a}, {x} FROM {t} WHERE CASE WHEN {c} THEN {d} ELSE {b} IS NULL END
SELECT {a} FROM {t} WHERE COALESCE({c}, {d})
SELECT CASE WHEN {c} THEN {a} ELSE {a} END AS one, if({d}, 1, 2) FROM {t}
SELECT {a} FROM {t} NATURAL JOIN {u}
SELECT o.{a} FROM {t} o LEFT SEMI JOIN (SELECT {k} FROM {u} WHERE {b} IS NOT NULL) p ON o.{k} = p.{k}
SELECT {k}, y.{b} FROM (SELECT * FROM {t} WHERE {c}) JOIN (SELECT {k}, {b} FROM {t}) y USING ({k})
SELECT {t}.{k} FROM {t} CROSS JOIN (VALUES (1), (2)) AS v (n) WHERE v.n = 1
SELECT {a} FROM {t} o WHERE EXISTS (SELECT * FROM {u} WHERE {k} = o.{k})
SELECT {a}, (SELECT max({n}) FROM {u}) FROM {t} WHERE {n} < (SELECT max({n}) FROM {u})
SELECT (SELECT count(*) FROM {u} p WHERE p.{a} <=> o.{a}) FROM {t} o
WITH x AS (SELECT {a}, {k} AS o FROM {t}), y AS (SELECT * FROM x) SELECT o FROM y, {u} WHERE o = {k}
WITH {t} AS (SELECT {k}, {a} FROM {u}) SELECT * FROM {t}
WITH x (one, two) AS (SELECT {a}, {b} FROM {t}) SELECT one FROM x JOIN {u} ON two = {u}.{b}
WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT {a} FROM r, {t}
SELECT {k}, {a} FROM {t} EXCEPT SELECT {k}, {a} FROM {t} WHERE {c}
(SELECT {a} FROM {t} WHERE {c}) UNION ALL (SELECT {a} FROM {t} WHERE {d})
SELECT {k}, {a} FROM (SELECT * FROM {t} ORDER BY {k} LIMIT 9) WHERE {c}
SELECT {k} FROM (SELECT {k}, explode_outer({r}) AS e, {n} FROM {t} WHERE {c}) WHERE e IS NOT NULL OR {n} > 0
SELECT o FROM (SELECT {a} FROM {t}) p(o)
FROM {t} SELECT {a} WHERE {c}
SELECT {a} FROM {t} |> ORDER BY {a} |> LIMIT 2
SELECT n FROM (TABLE {t}) LATERAL VIEW explode(array(1, 2)) e AS n
SELECT count(n) FROM (SELECT {k}, {s} FROM {t}) PIVOT (count(*) AS n FOR {s} IN ({l}, 'apac')) AS n (k, n, o)
SELECT * FROM (SELECT {a}, {s} AS z FROM {t}) PIVOT (count(1) FOR z IN ({l} AS one, 'apac' AS two))
SELECT what, value FROM {t} UNPIVOT (value FOR what IN ({s}, _hoodie_file_name))
SELECT what, value FROM {t} UNPIVOT INCLUDE NULLS (value FOR what IN ({a}))
SELECT /*+ BROADCAST({t}) */ {a} FROM {t} /* isn't {b} */ WHERE {c} -- don't
SELECT 'from {b}, "x" -- *' AS text, {a} FROM {t} WHERE {s} <> 'it''s'
SELECT `{a}` AS `a b`, {b} AS `select` FROM `{t}`
SELECT "{a}", {b} FROM {t}
SELECT r'\\\\' || {s} FROM {t} WHERE {s} LIKE '%'
SELECT struct(*) AS everything FROM {t}
SELECT to_json(struct({a}, {b})) FROM {t}
SELECT {a}, {n} FROM {t} ORDER BY {n} DESC, {k} LIMIT 4 OFFSET 1
SELECT max_by({a}, {k}), first({b}, true) FILTER (WHERE {c}) IS NULL FROM {t} WHERE {d}
SELECT extract(YEAR FROM current_date()) > 1, {a} FROM {t} WHERE {n} IS DISTINCT FROM 5
SELECT IDENTIFIER('{a}') FROM {t}
SELECT {a} FROM IDENTIFIER('{t}')
SELECT {a} FROM {t} WHERE {c} AND missing = 1
SELECT {a} missing, missing.x FROM {t}
SELECT {a} AS {b}, {b} AS {a} FROM {t} WHERE {c}
SELECT {b}, CAST({b} AS string) || 'x' AS {b} FROM {t} WHERE {b} IS NOT NULL
SELECT length({s}) AS count, {a} AS sum FROM {t} ORDER BY count, {k}
SELECT {a} FROM {t} o, LATERAL (SELECT {b} AS i FROM {u} p WHERE p.{k} = o.{k}) WHERE i IS NOT NULL
SELECT {a} FROM {t} TABLESAMPLE (100 PERCENT)
SELECT count(DISTINCT {a}), count({t}.*) FROM {t}
SELECT {a} FROM {t} VERSION AS OF 1
SELECT transform(array({n}), v -> coalesce(v, {n})) FROM {t}
SELECT {a}, sum(1) OVER w FROM {t} WINDOW w AS (PARTITION BY {b})
""".strip().splitlines()  # noqa: E501  (a query, a line)


def text_of(draws: Queries) -> str:
    """Draw a query."""
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
    return template.format(
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
        c=to_sql(draws.condition(scope)),
        d=to_sql(draws.condition(scope)),
    )


def _nested(scope: Scope) -> list[str]:
    """Return nested columns, their fields, and what is made of maps."""
    found = []
    for column in scope.columns:
        # Fields of the items of an array are arrays.
        parts = column.item(column.ref, column.name) if column.kind == "array" else column
        for each in parts.fields:
            found += [column.ref, each.ref, each.ref.upper(), *(f.ref for f in each.fields)]
        if column.kind == "map":
            found += [f"map_keys({column.ref})", f"map_values({column.ref})"]
    return found
