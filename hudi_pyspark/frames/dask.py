"""A read as a DataFrame of Dask (extra ``dask``)."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING

import dask.dataframe as dd
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_pyspark.frames.dataset import HudiDataset, HudiFragment


@dataclass(frozen=True, repr=False)
class _Part:
    """A pickled fragment: of a dataset Dask would ask for its files, to name the frame."""

    pickled: bytes


def to_dask(dataset: HudiDataset) -> dd.DataFrame:
    """Return a DataFrame with a partition per fragment; types are Arrow's, alike in all of them."""
    meta = dataset.schema.empty_table().to_pandas(types_mapper=pd.ArrowDtype)
    parts = [_Part(pickle.dumps(fragment)) for fragment in dataset.get_fragments()]
    if not parts:
        return dd.from_pandas(meta, npartitions=1)
    return dd.from_map(_read, parts, meta=meta, label="hudi")


def _read(part: _Part, columns: Sequence[str] | None = None) -> pd.DataFrame:
    fragment: HudiFragment = pickle.loads(part.pickled)
    return fragment.to_table(columns=columns).to_pandas(types_mapper=pd.ArrowDtype)
