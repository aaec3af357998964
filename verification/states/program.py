"""Random programs: frames and views are made, the table grows, statements of every kind follow.

A program is lines of Python and what each of its reads must give. The rule says which state that
is. In a session that was registered, a frame reads the newest state at each action. The rule
``newest`` says the same of views, and of frames that a running stream is joined with. The rule
``kept`` says that a view keeps the state of its first read, which is none from before it was made,
and a stream that of its first batch.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from verification.common.data import load_data
from verification.states.growth import COLUMNS, LAST

NEWEST = "newest"
KEPT = "kept"
_COLUMNS = ", ".join(COLUMNS)
_STATEMENTS = load_data(__file__, "statements.toml")


@dataclass(frozen=True)
class Named:
    """A frame or a view: how it is read, and which states it may have."""

    text: str  # of a frame in Python
    name: str = ""  # of a view in SQL; "" for a frame
    # The state that it keeps; None if it reads the newest, or keeps one that a read will show.
    state: int | None = None
    made: int = 0  # the state of when it was made, for a view that keeps that of its first read
    key: str = ""  # of a view that keeps the state of its first read; "" otherwise


@dataclass(frozen=True)
class Step:
    """A line of a program."""

    line: str  # Python
    # The state that its read must have, or at most have; None if it reads none.
    wanted: int | None = None
    # The earliest state of a view that keeps one; all reads of its key have the same.
    least: int = 0
    key: str = ""  # of a view that keeps a state; "" for a read that must have the wanted one

    @property
    def promise(self) -> str:
        """The states that its read may have, in words."""
        if not self.key:
            return f"state {self.wanted}"
        return f"one of the states {self.least} to {self.wanted}, that of all reads of {self.key}"

    def is_kept(self, state: int | str, known: dict[str, int]) -> bool:
        """Return whether a state is one that its read may have.

        The known states are those of the views that were read before, by key; this one is added.
        """
        if not self.key:
            return state == self.wanted
        if isinstance(state, str) or self.wanted is None:
            return False
        return self.least <= state <= self.wanted and known.setdefault(self.key, state) == state


@dataclass
class Program:
    """A program of a seed."""

    seed: int
    case: int
    steps: list[Step] = field(default_factory=list)
    features: Counter[str] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        """The program, with what its reads must give."""
        return "\n".join(
            step.line if step.wanted is None else f"{step.line}  # {step.promise}"
            for step in self.steps
        )

    def shorter(self) -> Iterator[Program]:
        """Yield programs without one of the steps that no other needs."""
        for place in reversed(range(len(self.steps))):
            if self.steps[place].line not in ("commit()", "create_again()"):
                rest = self.steps[:place] + self.steps[place + 1 :]
                yield Program(self.seed, self.case, rest, self.features)


class Writer:
    """Draws a program, and follows which state each of its objects has."""

    def __init__(self, seed: int, *, views: str, is_connect: bool, merges: bool) -> None:
        self.dice = random.Random(f"states {seed}")
        self._views, self._is_connect = views, is_connect
        self._writes = ["ctas", "insert", "save", "overwrite", *(["merge"] * 4 if merges else [])]
        self.program = Program(seed, self.dice.randrange(2))
        self._state = 0
        self._frames: list[Named] = []
        self._known_views: list[Named] = []
        self._count = 0

    def write(self) -> Program:
        """Return the program."""
        self._make_frame()
        self._make_view()
        ways = [
            (self._make_frame, 8), (self._make_view, 12), (self._commit, 16), (self._noise, 18),
            (self._read, 40), (self._read_together, 14), (self._write_rows, 7),
            (self._create_again, 3), (self._new_session, 3), (self._cache, 4), (self._stream, 3),
            (self._drop_and_make, 3),
        ]  # fmt: skip
        for _ in range(self.dice.randint(8, 18)):
            (way,) = self.dice.choices([w for w, _ in ways], [n for _, n in ways])
            way()
        self._commit()
        for _ in range(3):
            self._read()
        self._read_together()
        return self.program

    def _do(
        self, line: str, feature: str, wanted: int | None = None, of: Named | None = None
    ) -> None:
        self.program.features[feature] += 1
        least, key = (of.made, of.key) if of else (0, "")
        self.program.steps.append(Step(line, wanted, least, key))

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def _wanted(self, named: Named) -> int:
        return self._state if named.state is None else named.state

    def _make_frame(self) -> None:
        name = self._name("f")
        way = self.dice.random()
        if way < 0.6:
            text = "load()"
            state = None
        elif way < 0.8:
            text = "load().where(\"id > ''\")"
            state = None
        elif way < 0.9:
            text = f"load(as_of=instants[{self._state}])"
            state = self._state
        else:
            text = f"load().select({', '.join(repr(c) for c in COLUMNS)})"
            state = None
        self._do(f"{name} = {text}", "frame")
        self._frames.append(Named(name, state=state))

    def _make_view(self) -> None:
        name = self._name("v")
        way = self.dice.random()
        base: Named | None = None
        if way < 0.4:
            base = self.dice.choice(self._frames)
            self._do(f'{base.text}.createOrReplaceTempView("{name}")', "view of a frame")
        elif way < 0.6:
            using = "USING `hudi-py` OPTIONS (path '{path}')"
            self._do(f'sql("CREATE OR REPLACE TEMP VIEW {name} {using}")', "view of SQL")
        elif way < 0.7:
            base = self.dice.choice(self._frames)
            self._do(f'{base.text}.createOrReplaceGlobalTempView("{name}")', "global view")
            name = f"global_temp.{name}"
        else:
            if not self._known_views:
                return
            base = self.dice.choice(self._known_views)
            where = self.dice.choice(["", " WHERE id > ''"])
            text = f"SELECT * FROM {base.name}{where}"
            if self.dice.random() < 0.4:
                self._do(f'sql("{text}").createOrReplaceTempView("{name}")', "view of a view")
            else:
                self._do(f'sql("CREATE TEMP VIEW {name} AS {text}")', "view of a view in SQL")
        self._known_views.append(self._view(name, base))

    def _view(self, name: str, base: Named | None) -> Named:
        """Return a new view over an object, or over the table."""
        view = Named(f'spark.table("{name}")', name, base.state if base else None)
        if view.state is not None or self._views != KEPT:
            return view
        made = base.made if base and base.key else self._state
        return replace(view, made=made, key=self._name("k"))

    def _commit(self) -> None:
        if self._state < LAST:
            self._state += 1
            self._do("commit()", "commit")

    def _create_again(self) -> None:
        """Delete the table and create it: what keeps a state of it is gone."""
        self._known_views = [v for v in self._known_views if v.state is None and not v.key]
        self._frames = [f for f in self._frames if f.state is None]
        self._state = 0
        self._do("create_again()", "created again")
        if not self._frames:
            self._make_frame()
        if not self._known_views:
            self._make_view()

    def _noise(self) -> None:
        if self._known_views:
            view = self.dice.choice(self._known_views).name
            line = self.dice.choice(_STATEMENTS["noise"]).replace("{v}", view)
            self._do(line, f"statement {line.split('(')[1].split()[0][:12]}")

    def _new_session(self) -> None:
        """Continue in another session, which has the global views alone; a clone has all."""
        is_clone = self._is_connect and self.dice.random() < 0.5
        self._do("spark = clone()" if is_clone else "spark = new_session()", "session")
        self._frames = []
        # A session that opens a view itself may read a later state than another one did.
        self._known_views = [
            replace(v, key=self._name("k")) if v.key else v
            for v in self._known_views
            if is_clone or v.name.startswith("global_temp")
        ]
        self._make_frame()
        if not self._known_views:
            self._make_view()

    def _cache(self) -> None:
        frame = self.dice.choice(self._frames)
        if frame.state is not None:
            return
        name = self._name("f")
        self._do(f'{name} = {frame.text}.where("ts IS NOT NULL").cache(); {name}.count()', "cache")
        state = self._state
        if self.dice.random() < 0.5:
            self._commit()
        self._do(f"read({name})", "read of a cached frame", state)
        self._do(f"{name}.unpersist(blocking=True)", "unpersist")
        self._do(f"read({name})", "read of a cached frame", self._state)

    def _drop_and_make(self) -> None:
        """Make a view again, by a name that had another state."""
        views = [v for v in self._known_views if not v.name.startswith("global_temp")]
        if not views:
            return
        view = self.dice.choice(views)
        frame = self.dice.choice(self._frames)
        self._do(f'sql("DROP VIEW {view.name}")', "drop of a view")
        self._do(f'{frame.text}.createOrReplaceTempView("{view.name}")', "view of a frame")
        made = self._view(view.name, frame)
        self._known_views = [made if v is view else v for v in self._known_views]

    def _reading(self, named: Named) -> str:
        """Return a frame of an object, made by one of many ways."""
        if not named.name:
            return str(self.dice.choice(_STATEMENTS["frames"])).format(f=named.text)
        way = str(self.dice.choice(_STATEMENTS["views"]))
        return way.format(v=named.name, columns=_COLUMNS)

    def _objects(self) -> list[Named]:
        return [*self._frames, *self._known_views]

    def _read(self) -> None:
        named = self.dice.choice(self._objects())
        self._do(f"read({self._reading(named)})", "read", self._wanted(named), named)

    def _read_together(self) -> None:
        """Read one object twice, or two of one state, in one action: the states must not differ."""
        one = self.dice.choice(self._objects())
        same = [
            o for o in self._objects() if not o.key and self._wanted(o) == self._wanted(one)
        ]  # fmt: skip
        other = one if one.key else self.dice.choice([one, *same])
        keys = ", ".join(f"'{c}'" for c in COLUMNS)
        left, right = self._reading(one), self._reading(other)
        way = self.dice.choice(["join", "union", "minus", "in"])
        text = {
            "join": f"{left}.join({right}, [{keys}], 'full').select({keys})",
            "union": f"{left}.select({keys}).union({right}.select({keys})).distinct()",
            "minus": f"{left}.select({keys}).intersect({right}.select({keys}))",
            "in": f"{left}.join({right}.select({keys}), [{keys}], 'leftsemi')",
        }[way]
        self._do(f"read({text})", f"read together by {way}", self._wanted(one), one)

    def _write_rows(self) -> None:
        named = self.dice.choice(self._objects())
        frame = self._reading(named)
        way = self.dice.choice(self._writes)
        line = f"read(written({frame}, {way!r}))"
        self._do(line, f"written by {way}", self._wanted(named), named)

    def _stream(self) -> None:
        """A stream of files joined with a frame: each micro-batch is an action."""
        frame = self.dice.choice([f for f in self._frames if f.state is None] or [Named("load()")])
        name = self._name("s")
        begun = self._state
        self._do(f"{name} = joined_stream({frame.text})", "stream")
        self._do(f"read({name}())", "micro-batch", self._state)
        self._commit()
        wanted = begun if self._views == KEPT else self._state
        self._do(f"read({name}())", "micro-batch", wanted)
        self._do(f"{name}(None)", "stream")


def draw(seed: int, *, views: str, is_connect: bool, merges: bool = False) -> Program:
    """Draw the program of a seed; one that merges also writes by MERGE."""
    return Writer(seed, views=views, is_connect=is_connect, merges=merges).write()
