"""Random queries in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, MapType, NumericType, StringType, StructType

if TYPE_CHECKING:
    import random

    from verification.random_plans.table import Table

# {t}, {u}: views. {k}, {a}, {b}: columns, one of them of the key. {n}: a number, {s}: a text.
# {c}, {d}: conditions. {x}: a nested column or field.
_QUERIES = """
SELECT {a}, {b} FROM {t} WHERE {c}
SELECT DISTINCT {a} FROM {t} WHERE {c}
SELECT * FROM {t} WHERE {c}
SELECT count(*) FROM {t}
SELECT COUNT( * ), count({a}) FROM {t} WHERE {c}
SELECT {n} * 2 AS twice, 3 * {n} FROM {t}
SELECT {a}, count(*) FROM {t} GROUP BY {a} HAVING max({n}) IS NOT NULL
SELECT {a}, sum({n}) FROM {t} GROUP BY ALL
SELECT {a}, count(*) FROM {t} GROUP BY 1 ORDER BY 1 LIMIT 3
SELECT {a}, {b}, count(*) FROM {t} GROUP BY ROLLUP ({a}, {b})
SELECT {x} FROM {t}
SELECT {t}.{a}, {x} AS again FROM {t} WHERE {c}
SELECT o.{a}, {x} FROM {t} o
SELECT o.{a} FROM {t} AS o JOIN {u} p ON o.{k} = p.{k} WHERE p.{b} IS NOT NULL
SELECT {k}, o.{a} FROM {t} o LEFT JOIN {u} USING ({k})
SELECT {a} FROM {t} NATURAL JOIN {u}
SELECT o.* FROM {t} o JOIN {t} p ON o.{k} = p.{k} AND p.{n} > 0
SELECT o.{a} FROM {t} o LEFT SEMI JOIN (SELECT {k} FROM {u} WHERE {b} > '') p ON o.{k} = p.{k}
SELECT {a} FROM {t} WHERE {k} IN (SELECT {k} FROM {u} WHERE {n} > 0)
SELECT {a} FROM {t} o WHERE EXISTS (SELECT 1 FROM {u} p WHERE p.{k} = o.{k} AND o.{b} IS NOT NULL)
SELECT {a} FROM {t} o WHERE EXISTS (SELECT * FROM {u} WHERE {k} = o.{k})
SELECT {a}, (SELECT max({n}) FROM {u}) FROM {t} WHERE {n} < (SELECT max({n}) + 1 FROM {u})
SELECT (SELECT count(*) FROM {u} p WHERE p.{a} <=> o.{a}) FROM {t} o
WITH x AS (SELECT {a}, {b} FROM {t}) SELECT x.{b}, count(*) FROM x GROUP BY x.{b}
WITH {t} AS (SELECT {k}, {a} FROM {u}) SELECT * FROM {t}
WITH x (one, two) AS (SELECT {a}, {b} FROM {t}) SELECT one FROM x JOIN {u} ON two = {u}.{b}
WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT {a} FROM r, {t}
SELECT {a} FROM {t} UNION ALL SELECT {a} FROM {u}
SELECT {a} FROM {t} UNION SELECT {b} FROM {t} WHERE {c}
SELECT * FROM {t} EXCEPT SELECT * FROM {t} WHERE {c}
SELECT {a} FROM {t} INTERSECT SELECT {a} FROM {u} WHERE {d}
(SELECT {a} FROM {t} WHERE {c}) UNION ALL (SELECT {a} FROM {t} WHERE {d})
SELECT {a}, row_number() OVER (PARTITION BY {b} ORDER BY {k}) AS r FROM {t} ORDER BY {k}, r
SELECT {a} FROM (SELECT {a}, rank() OVER (ORDER BY {n}) AS r FROM {t}) WHERE r <= 3
SELECT one, three FROM {t} AS o (one, two, three, four)
SELECT o FROM (SELECT {a} FROM {t}) p(o)
FROM {t} SELECT {a} WHERE {c}
FROM {t} |> WHERE {c} |> SELECT {a}
SELECT {a} FROM {t} |> ORDER BY {a} |> LIMIT 2
SELECT n FROM (TABLE {t}) LATERAL VIEW explode(array(1, 2)) e AS n
SELECT count(n) FROM {t} PIVOT (count(*) AS n FOR {s} IN ('emea', 'apac')) AS n (n)
SELECT {a} FROM {t} PIVOT (count(1) FOR {s} IN ('emea' AS one, 'apac' AS two))
SELECT what, value FROM {t} UNPIVOT (value FOR what IN ({k}, _hoodie_file_name))
SELECT /*+ BROADCAST({t}) */ {a} FROM {t} /* isn't {b} */ WHERE {c} -- don't
SELECT 'from {b}, "x" -- *' AS text, {a} FROM {t} WHERE {s} <> 'it''s'
SELECT `{a}` AS `a b`, {b} AS `select` FROM `{t}`
SELECT "{a}", {b} FROM {t}
SELECT r'\\' || {s} FROM {t} WHERE {s} LIKE '%'
SELECT struct(*) AS everything FROM {t}
SELECT to_json(struct({a}, {b})) FROM {t}
SELECT {a}, {n} FROM {t} ORDER BY {n} DESC, {a}, {k} LIMIT 4 OFFSET 1
SELECT max_by({a}, {k}), first({b}) FILTER (WHERE {c}) IS NULL FROM {t} WHERE {d}
SELECT CASE WHEN {c} THEN {a} ELSE {a} END AS one, if({d}, 1, 2) FROM {t}
SELECT extract(YEAR FROM current_date()) > 1, {a} FROM {t} WHERE {n} IS DISTINCT FROM 5
SELECT IDENTIFIER('{a}') FROM {t}
SELECT {a} FROM IDENTIFIER('{t}')
SELECT {a} FROM {t} WHERE {c} AND missing = 1
SELECT {a} missing, missing.x FROM {t}
SELECT {a} AS {b}, {b} AS {a} FROM {t} WHERE {c}
SELECT {b}, {b} || 'x' AS {b} FROM {t} WHERE {b} IS NOT NULL
SELECT length({s}) AS count, {a} AS sum FROM {t} ORDER BY count, {k}
SELECT any_value(count) FROM (SELECT count(*) AS count FROM {t} GROUP BY {a})
SELECT {a} FROM {t} o, LATERAL (SELECT {b} AS i FROM {u} p WHERE p.{k} = o.{k}) WHERE i > ''
SELECT {a} FROM {t} TABLESAMPLE (100 PERCENT)
SELECT {t}.{k} FROM {t} CROSS JOIN (VALUES (1), (2)) AS v (n) WHERE v.n = 1
SELECT count(DISTINCT {a}), count({t}.*) FROM {t}
SELECT {a} FROM {t} VERSION AS OF 1
SELECT {a}, array(1, 2)[0] * {n} FROM {t}
SELECT transform(array({n}), v -> v * {n}) FROM {t}
""".strip().splitlines()


def random_sql(dice: random.Random, tables: dict[str, Table]) -> str:
    """Return a query over views that have the names of tables."""
    table, other = (tables[dice.choice(sorted(tables))] for _ in range(2))
    if dice.random() < 0.5:
        other = table  # otherwise a column may be missing, which is an error on both sides
    simple = [n for n in table.types if n not in table.of(ArrayType, MapType, StructType)]
    names = {
        "t": dice.choice([table.name, table.name.upper()]),
        "u": other.name,
        "k": table.key,
        "a": _written(dice, dice.choice(simple)),
        "b": dice.choice(simple),
        "n": dice.choice(table.of(NumericType)),
        "s": dice.choice(table.of(StringType)),
        "c": table.condition(dice)[0],
        "d": table.condition(dice)[0],
        "x": dice.choice(_nested(table) or simple),
    }
    return dice.choice(_QUERIES).format(**names)


def _written(dice: random.Random, name: str) -> str:
    return name.upper() if dice.random() < 0.2 else name


def _nested(table: Table) -> list[str]:
    paths = []
    for name, kind in table.types.items():
        for inner in getattr(getattr(kind, "elementType", kind), "fields", []):
            paths += [name, f"{name}.{inner.name}", f"{name.upper()}.{inner.name.upper()}"]
            paths += [
                f"{name}.{inner.name}.{deep.name}" for deep in getattr(inner.dataType, "fields", [])
            ]
        if isinstance(kind, MapType):
            paths += [f"map_keys({name})", f"map_values({name})"]
    return paths
