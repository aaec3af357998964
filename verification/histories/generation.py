"""What is drawn for the histories of all writers: tables, columns, rows and the usual steps.

`abilities.json` says what is drawn for a writer, and how often: kinds of keys, partitions, ordering
values and steps with weights, what few tables have with its probability, and options. An option is
drawn if those before it have the values of its ``when``; weights below 1 leave it out otherwise.
The module of a writer has a `Maker` with what a table of weights cannot say. The same seed, number
and writer always give the same history.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from verification.common.data import load_data
from verification.histories.column_types import ColumnType, Json, long_text
from verification.histories.history import Column, History, Step, StepKind, version_options

PARTITION_FIELDS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "text": ("p",),
    "two": ("p", "q"),
    "number": ("q",),
    "day": ("day",),
    "ordering": ("ts",),
}
METADATA = "hoodie.metadata.enable"
_BASES = load_data(__file__, "values.toml")["ordering"]  # to which small numbers are added
_WITH_ROWS = (
    "upsert",
    "insert",
    "bulk_insert",
    "delete",
    "insert_overwrite",
    "insert_overwrite_table",
    "delete_partition",
    "bootstrap",
)


@dataclass(frozen=True)
class Abilities:
    """What is drawn for a writer, as `abilities.json` has it."""

    # Weights of kinds of steps and of methods of the maker, or weights with fields of a `Draft`.
    steps: Mapping[str, Any]
    first_steps: Mapping[str, float]
    lengths: tuple[int, int]  # least and most steps after the first
    keys: Mapping[str, float]
    orderings: Mapping[str, float]
    partitionings: Mapping[str, float]
    columns: tuple[int, int]  # least and most data columns
    sizes: Sequence[int]  # how many keys there are
    options: Sequence[Mapping[str, Any]]
    fixed_options: Mapping[str, str] = field(default_factory=dict)
    steps_of_logs: Mapping[str, Any] = field(default_factory=dict)  # likewise, of MERGE_ON_READ
    chances: Mapping[str, float] = field(default_factory=dict)
    types: Sequence[str] = ()  # of data columns; () for all
    rare_types: Sequence[str] = ()  # of a column that few tables have
    partition_values: Sequence[Sequence[str]] = (("a", "bc"),)  # one of which is drawn


@dataclass(frozen=True)
class Draft:
    """A step before its rows are drawn; they are, if its kind has some."""

    kind: str = "upsert"
    count: int = 0  # of the rows of a commit; 0 for some
    late: float = 0.2  # probability of a low ordering value
    twins: bool = False  # whether a key may come more than once in a commit
    options: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    commits: int = 0  # of a job of Flink; 0 for one to three
    deletes: float = 0.15  # probability of a delete in such a job


def abilities_of(writer: str) -> Abilities:
    """Load the abilities of a writer."""
    text = Path(__file__).with_name("abilities.json").read_text(encoding="utf-8")
    return Abilities(**json.loads(text)[writer])


@dataclass
class Maker:
    """What the steps of a history have in common while they are made."""

    random: Random
    hudi: str
    abilities: Abilities
    types: Mapping[str, ColumnType]
    version: int = 6
    columns: dict[str, str] = field(default_factory=dict)  # data columns: name to type
    partition_values: Sequence[str | None] = ()
    payload_columns: Mapping[str, str] = field(default_factory=dict)  # of the payload class
    loads_without_them: bool = False  # in the first step, which is a bulk insert then
    is_global: bool = False
    is_mor: bool = True
    made: int = 0

    def history(self, name: str, hudi: str) -> History:
        """Make a history for a writer."""
        self.draw_table()
        options = self.options()
        self.is_mor = options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ"
        steps = [self.first_step(options)]
        steps += [self.step() for _ in range(self.random.randint(*self.abilities.lengths))]
        return History(name, hudi, options, tuple(steps))

    def pick(self, **weights: float) -> str:
        return self.random.choices(list(weights), list(weights.values()))[0]

    def happens(self, name: str) -> bool:
        return self.random.random() < self.abilities.chances.get(name, 0)

    def draw_table(self) -> None:
        """Draw what the table is like, apart from its options."""
        r, abilities = self.random, self.abilities
        self.key_type = self.pick(**abilities.keys)
        several = {"two": 0.0} if "two" in abilities.orderings and self.version < 9 else {}
        self.ordering = self.pick(**{**abilities.orderings, **several})
        self.partitioning = self.pick(**abilities.partitionings)
        if self.ordering in ("long", "int") and self.happens("partitions_by_ordering"):
            self.partitioning = "ordering"
        self.has_two_keys = self.happens("two_keys")
        self.has_long_keys = self.key_type == "string" and self.happens("long_keys")
        self.has_long_ordering = self.happens("long_ordering")
        has_ends = self.happens("ends_of_ordering") and self.partitioning != "ordering"
        self.ordering_base = r.choice(_BASES["longs"]) if has_ends else 0
        self.moment_base = r.choice(_BASES["moments"]) if has_ends else _BASES["moments"][0]
        self.keys = r.choice(abilities.sizes)
        self.marks_deletes = self.happens("marks_deletes")
        self.repeats_keys = self.happens("repeats_keys")  # in several partitions
        self.partition_values = r.choice(abilities.partition_values)
        kinds = self.draw_types()
        self.columns = {f"c{i}_{kind}": kind for i, kind in enumerate(kinds)}
        if self.happens("wide_rows"):
            self.columns |= {f"w{i}": "int" for i in range(150)}

    @property
    def usual_types(self) -> list[str]:
        names = self.abilities.types or self.types
        return [name for name in names if name not in self.abilities.rare_types]

    def draw_types(self) -> list[str]:
        """Draw the types of the data columns."""
        count = self.random.randint(*self.abilities.columns)
        found = self.random.sample(self.usual_types, count)
        if self.happens("rare_type"):
            found.append(self.random.choice(self.abilities.rare_types))
        return found

    @property
    def ordering_fields(self) -> list[str]:
        return {"none": [], "two": ["ts", "seq"]}.get(self.ordering, ["ts"])

    def options(self) -> dict[str, str]:
        """Draw settings of the table and of every write."""
        write = "hoodie.datasource.write"
        named = {
            "hoodie.table.name": "t",
            f"{write}.recordkey.field": "id,sub" if self.has_two_keys else "id",
            f"{write}.partitionpath.field": ",".join(PARTITION_FIELDS[self.partitioning]),
            f"{write}.precombine.field": ",".join(self.ordering_fields),
        }
        found = {key: value for key, value in named.items() if value}
        found |= {**self.abilities.fixed_options, **self.version_options()}
        for option in self.abilities.options:
            conditions = option.get("when", {}).items()
            if all(found.get(key, "") in values for key, values in conditions):
                found |= self.draw_option(option)
        return found

    def draw_option(self, option: Mapping[str, Any]) -> dict[str, str]:
        """Draw the value of an option, with what belongs to it; nothing if it is left out."""
        values = option["values"]
        absent = max(0.0, 1 - sum(values.values()))
        value = self.pick(**values, absent=absent)
        return {} if value == "absent" else {option["name"]: value, **option.get("then", {})}

    def version_options(self) -> dict[str, str]:
        """Keep SQL commands and table services from upgrading the table."""
        return {} if release_of(self.hudi) < (1,) else version_options(self.version)

    def first_step(self, options: Mapping[str, str]) -> Step:  # noqa: ARG002  (some look at them)
        """Make the step that creates the table, with all keys or half of them."""
        kind = self.pick(**self.abilities.first_steps)
        return self.write(kind, self.keys // self.random.choice([1, 2]))

    def weights(self) -> dict[str, float]:
        """Return the names of steps that may come next."""
        of_logs = self.abilities.steps_of_logs if self.is_mor else {}
        steps = {**self.abilities.steps, **of_logs}
        return {k: v["weight"] if isinstance(v, dict) else v for k, v in steps.items()}

    def step(self) -> Step:
        """Make a further step."""
        self.made += 1
        return self.step_named(self.pick(**self.weights()))

    def step_named(self, name: str) -> Step:
        """Make what a method makes, a write with fields of its own, or a step of a kind."""
        special = getattr(self, name, None)
        if special is not None:
            return special()  # type: ignore[no-any-return]
        entry = {**self.abilities.steps, **self.abilities.steps_of_logs}.get(name)
        if isinstance(entry, dict):
            return self.write(**{k: v for k, v in entry.items() if k != "weight"})
        if name in _WITH_ROWS:
            return self.write(name)
        text = str(self.random.randint(0, 9))  # a partition or an instant to choose
        return Step(StepKind(name), options=self.version_options(), text=text)

    def write(self, kind: str = "upsert", count: int = 0, **more: Any) -> Step:
        """Make a step that a `Draft` describes."""
        draft = Draft(kind, count, **more)
        if kind not in _WITH_ROWS:
            return Step(StepKind(kind), options=draft.options, text=draft.text)
        return self.step_of(draft)

    def step_of(self, draft: Draft) -> Step:
        """Draw the rows of a step."""
        columns = self.all_columns()
        rows = self.rows(draft, columns)
        options = {**self.version_options(), **draft.options}
        files = self.random.choice([1, 2])
        return Step(StepKind(draft.kind), columns, rows, options, files, draft.text)

    def add_column(self) -> Step:
        kind = self.random.choice(self.usual_types)
        self.columns[f"a{self.made}_{kind}"] = kind
        return self.write()

    def change_type(self) -> Step:
        """Make a write whose schema gives a column a type that may follow its own."""
        names = [name for name, kind in self.columns.items() if self.types[kind].others]
        if names:
            name = self.random.choice(names)
            self.columns[name] = self.random.choice(self.types[self.columns[name]].others)
        return self.write()

    def all_columns(self) -> tuple[Column, ...]:
        ordering = {"none": "long", "two": "long"}.get(self.ordering, self.ordering)
        pairs = [("id", self.key_type), ("ts", ordering), ("seq", "int"), *self.columns.items()]
        pairs += [("p", "string"), ("q", "int"), ("day", "date")]
        if self.has_two_keys:
            pairs.insert(1, ("sub", "int"))
        if self.marks_deletes:
            pairs.append(("_hoodie_is_deleted", "boolean"))
        if self.made or not self.loads_without_them:
            pairs += self.payload_columns.items()
        return tuple(Column(name, kind) for name, kind in pairs)

    def rows(self, draft: Draft, columns: tuple[Column, ...]) -> tuple[tuple[Json, ...], ...]:
        """Draw the rows of one commit."""
        r = self.random
        numbers = range(self.keys)
        count = draft.count or r.randint(1, max(2, self.keys // 2))
        count = count if draft.twins else min(count, self.keys)
        ids = r.choices(numbers, k=count) if draft.twins else r.sample(numbers, count)
        made = [self.row(i, draft.late) for i in ids]
        return tuple(tuple(row[c.name] for c in columns) for row in made)

    def row(self, number: int, late: float) -> dict[str, Json]:
        r = self.random
        # A key keeps its partition, but for a few that then are in two; a global index moves them.
        stays = r.random() < (0.5 if self.is_global else 0.3 if self.repeats_keys else 0.9)
        place = Random(number) if stays else r
        found: dict[str, Json] = {
            "id": self.key(number),
            "sub": number % 2,
            "p": place.choice(self.partition_values),
            "q": place.randint(1, 3),
            "day": date(2024, 1, place.randint(1, 3)).isoformat(),
            "ts": self.ordering_value(late),
            "seq": r.randint(0, 3),
            "_hoodie_is_deleted": r.random() < 0.3,
        }
        if self.payload_columns:
            found |= self.payload_values()
        if self.partitioning == "ordering":
            found["ts"] = number % 4
        nulls = 1.0 if r.random() < 0.05 else 0.15  # rows of nothing but nulls, too
        for name, kind in self.columns.items():
            is_null = r.random() < nulls
            found[name] = None if is_null else self.types[kind].draw(r)
        return found

    def payload_values(self) -> dict[str, Json]:
        """Draw values of the columns that payload classes of databases look at."""
        r = self.random
        place_in_order = r.randint(0, 20)
        return {
            "Op": r.choice("IUUUDd"),
            "_change_operation_type": r.choice("cuuudD"),
            "_event_seq": f"{place_in_order // 5}.{place_in_order % 5}",
            "_event_lsn": place_in_order,
        }

    def key(self, number: int) -> Json:
        if self.key_type != "string":
            return number if self.key_type == "int" else number * 10**10
        return long_text(Random(number), f"k{number}") if self.has_long_keys else f"k{number}"

    def ordering_value(self, late: float) -> Json:
        """Lower than what is there, among it, or above it."""
        r = self.random
        if r.random() < late:
            n = r.randint(0, 8)
        else:
            n = r.randint(8, 20) if r.random() < 0.6 else 20 + self.made
        if self.ordering in ("long", "two"):
            return n + self.ordering_base
        begin = datetime.fromisoformat(self.moment_base)
        ends = ("-Infinity", "-0.0", "Infinity", "NaN")
        is_end = self.ordering == "double" and self.has_long_ordering and r.random() < 0.2
        spelled: dict[str, Json] = {
            "double": r.choice(ends) if is_end else n / 2,
            "decimal": str(n),
            "string": f"{n:03d}" + "o" * (5000 * self.has_long_ordering),
            "date": (begin.date() + timedelta(days=n)).isoformat(),
            "timestamp": (begin + timedelta(seconds=n)).isoformat(),
        }
        return spelled.get(self.ordering, n)


def release_of(hudi: str) -> tuple[int, ...]:
    """Return the numbers of a release, which compare."""
    return tuple(int(part) for part in hudi.split("."))


def truth(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"
