"""Write the table of local times that `format/parquet/legacy_calendar.py` reads.

    pip download --no-deps tzdata==2022.2      # IANA's release 2022b; unzip it
    python local_times.py FOLDER/tzdata/zoneinfo > hudi_pyspark/format/parquet/local_times.txt

A line has numbers, in seconds, and the zones that share them: the offset that `java.util.TimeZone`
takes before 1900, which is the zone's last standard one; then the offset of `java.time` at the
beginning, and any changes up to 1900, each as the instant since the epoch and the offset after it.
Spark 3 and 4 rebase with a table of their own, made with that release. What this one gives was
compared with ``RebaseDateTime.rebaseJulianToGregorianMicros`` for each zone that Spark lists.
"""

import datetime as dt
import json
import struct
import sys
import zoneinfo
from collections import defaultdict
from pathlib import Path

LAST = -2_208_988_800 + 86_400  # 1900-01-02 in UTC: no zone differs from then on
# Names that only Java has, or had.
JAVA = json.loads(Path(__file__).with_name("java_zones.json").read_text())
SYSTEM_V = ("AST4ADT", "EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT", "YST9YDT", "HST10")


def changes(path: Path) -> list[tuple[int, int]]:
    """Return the instants at which a compiled zone changes its offset, with the offset after."""
    data = path.read_bytes()
    position, width = 0, 4
    for width in (4, 8):  # the second part repeats the first in 64 bits
        isut, isstd, leap, times, types, letters = struct.unpack_from(">6l", data, position + 20)
        begin = position + 44
        position = begin + times * (width + 1) + types * 6 + letters + leap * (width + 4)
        position += isstd + isut
    instants = struct.unpack_from(f">{times}q", data, begin)
    of_types = begin + times * (width + 1)
    offsets = [struct.unpack_from(">l", data, of_types + 6 * n)[0] for n in range(types)]
    kinds = data[begin + times * width : of_types]
    found = [(-(2**63), offsets[0])]
    for instant, kind in zip(instants, kinds, strict=True):
        if offsets[kind] != found[-1][1]:
            found.append((instant, offsets[kind]))
    return found


def standard_offset(path: Path) -> int:
    """Return the least offset of a later year: Java counts summer time on top of it."""
    with path.open("rb") as file:
        zone = zoneinfo.ZoneInfo.from_file(file)
    days = (dt.datetime(2024, 1, 1, 12, tzinfo=zone) + dt.timedelta(n) for n in range(365))
    offsets = (day.utcoffset() or dt.timedelta() for day in days)
    return min(int(offset.total_seconds()) for offset in offsets)


def main(folder: Path) -> None:
    numbers = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.read_bytes()[:4] == b"TZif":
            (_, first), *others = changes(path)
            early = [number for change in others if change[0] <= LAST for number in change]
            name = str(path.relative_to(folder))
            numbers[name] = (standard_offset(path), first, *early)
    numbers |= {name: numbers[zone] for name, zone in JAVA.items()}
    for name in SYSTEM_V:
        hours = int("".join(filter(str.isdigit, name)))
        for zone in {name, name[: 3 + len(str(hours))]}:
            numbers[f"SystemV/{zone}"] = (-3600 * hours,) * 2
    shared = defaultdict(list)
    for name, of_zone in numbers.items():
        shared[of_zone].append(name)
    for of_zone, names in sorted(shared.items()):
        print(*of_zone, "|", *sorted(names))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
