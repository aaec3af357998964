"""Sizes and counts at which a read takes another way.

Both ways give the same rows; a threshold says when the second one costs less, or when the first one
would take too much memory. Code reads them as ``thresholds.NAME`` when it decides, so tests can ask
both ways for the same small table.
"""

# Planning

CHECKED_COMMITS = 1_000
"""Newest commits whose files must be there.

Reading one takes a request, and a timeline may have very many, although writers archive all but
some tens by default.
"""

PARTITIONS_AT_ONCE = 2_000
"""Partitions whose file slices are in memory together."""

LISTED_AT_ONCE = 200
"""Instants that one answer of a storage lists for sure.

Local folders are listed in parts of 32 KB, about 400 names of instants and of their checksum
files; object stores and HDFS list 1,000 at a time. A commit that completes between two parts may
be missed although a later one is seen, and a stream would never come back to it.
"""

LARGE_COMMIT = 1 << 18
"""Bytes of a commit's file from which its columns are decoded instead of its records.

It has several hundred write stats.
"""

MOST_BYTES_AS_A_WHOLE = 512 << 10
"""Bytes of a base file of the metadata table that one request reads."""

LOOKED_AT_BYTES = 4 << 20
"""Bytes of a log file, and of columns of a base file, that planning reads for record keys."""

MOST_GROUPS = 100_000
"""Groups of tasks: each is a task of Spark, and its driver keeps an account of every task."""

SEARCHED_TASKS = 1_000
"""Tasks whose kept outcomes are looked for on a disk; each takes about 0.1 ms."""

# Small slices. The fixed costs of a small slice exceed those of its rows: to open its files, to
# merge, to wait for the interpreter lock.

TINY_SLICE = 64 * 1024
"""Bytes of all files of a slice, up to which fixed costs prevail.

To read 200 slices of 10 kB took 0.31 s of processor time with one thread, and 0.36 s with four.
"""

FEWEST_JOINED_SLICES = 8
"""Fewer tiny slices are merged one by one.

A merge takes about a millisecond, whatever the number of its rows: 1,000 partitions of 20 rows took
2.4 s of processor time when they were merged one by one, and 1.0 s together.
"""

MOST_JOINED_BYTES = 1 << 24
"""Bytes of base rows that are merged together: they are in memory, and files compress well."""

SMALL_BASE_FILE = 4 << 20
"""Bytes of a base file below which it is read once, with all columns that a query requests.

To read a file twice, first keys and then columns, costs more than to decode columns of rows that
the merge drops. All 16 columns of a file of 1.3 MB took 20 ms of processor time when
the file was read once, and 26 ms when it was read twice; of a file of 3.8 MB, 48 ms and 53 ms. The
queries of TPC-H over files of 1 to 4 MB took 2 % less in all. Larger files are read twice, so that
their rows are never in memory all at once.
"""

# Base files

PAGED_COLUMN_BYTES = 1 << 16
"""Bytes of a column on average, uncompressed: smaller columns have one page."""

ROWS_OF_PAGE = 20_000
"""Rows of a page at most, by parquet-mr's default: tells in how many pages rows may be."""

MOST_PAGES = 0.7
"""Share of all pages, or of their bytes; above that, reading all pages is as fast."""

TABLE_BYTES = 64 << 20
"""Bytes of a table that is read at once, by the average size of its rows in the footer."""

# Log files

LOG_PIECE = 4 << 20
"""Bytes of a log file: few enough to hold, enough for one request to an object store."""

SEARCHED_AT_ONCE = 1 << 20
"""Bytes among which the begin of a log block is searched for."""

SMALL_BLOCK = 1 << 18
"""Bytes of a log block that is decoded with its neighbours."""

LARGEST_RUN = 1 << 20
"""Bytes of log blocks that are decoded together."""

RUN_RECORDS = 16_384
"""Avro records that are decoded together: their bytes and positions stay in the cache."""

RUN_BYTES = 1 << 25
"""Bytes of Avro records that are decoded together, unless a single record is larger."""

LEAST_CHAINS = 64
"""Chains of Avro records; fewer records are found faster one by one."""

# Merging

OUTCOME_BYTES = 128 << 20
"""Bytes of one kept outcome, and of the log records that were merged."""

FEW_KEYS = 20_000
"""Keys of changes; choosing the rows of more keys costs more than it saves."""

# Requests

FIRST_PAUSE = 0.1
"""Seconds before a request is repeated; later pauses are longer."""

LISTING_PAGE = 1_000
"""Entries in one of S3's answers to a listing."""

MOST_MESSAGE_BYTES = 127 << 20
"""The bytes of a message that gRPC allows, with room for the rest of the request."""

MOST_CREDENTIALS = 1_000
"""Locations whose credentials a process keeps; the providers of others are asked again."""

# Inspection

MOST_LOG_HEADERS = 200
"""Newest log files whose block headers a report reads; each costs some requests."""
