"""A read as a DataFrame of Dask (extra ``dask``)."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass

from hudi_pyspark.extras import needs_extra
from hudi_pyspark.frames.dataset import HudiDataset, HudiFragment

with needs_extra("dask"):
    import dask.dataframe as dd
    import pandas as pd


@dataclass(frozen=True, repr=False)
class _Part:
    """A pickled fragment: of a dataset Dask would ask for its files, to name the frame."""

    pickled: bytes


def to_dask(dataset: HudiDataset) -> dd.DataFrame:
    """Return a dataset as a DataFrame of Dask, with a partition per group of tasks.

    It is planned now; Dask passes on columns, but no filter. Types are Arrow's, alike in all
    partitions.
    """
    meta = dataset.schema.empty_table().to_pandas(types_mapper=pd.ArrowDtype)
    parts = [_Part(pickle.dumps(fragment)) for fragment in dataset.get_fragments()]
    if not parts:
        return dd.from_pandas(meta, npartitions=1)
    return dd.from_map(_read, parts, meta=meta, label="hudi")


def _read(part: _Part, columns: Sequence[str] | None = None) -> pd.DataFrame:
    fragment: HudiFragment = pickle.loads(part.pickled)
    return fragment.to_table(columns=columns).to_pandas(types_mapper=pd.ArrowDtype)
