"""Find the nearest vectors in Spark: the distances of Apache Hudi's `hudi_vector_search`.

Copy the function. Leave out rows without a vector; a vector of another length is an error.

    nearest = pages.where("v IS NOT NULL").withColumn("distance", distance("v", [0.0, 1.0]))
    nearest.orderBy("distance").limit(10).show()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column


def distance(column: str, query: Sequence[float], metric: str = "cosine") -> Column:
    """Return the distances of the vectors in a column of arrays from one list of numbers.

    Args:
        column: the name of an array column of numbers.
        query: the vector from which distances are measured.
        metric: ``cosine``, ``l2`` or ``dot_product``; in all of them the nearest is the least.
    """

    def dot(a: Column, b: Column) -> Column:
        products = sf.zip_with(a, b, lambda x, y: x * y)
        return sf.aggregate(products, sf.lit(0.0), lambda total, x: total + x)

    own = sf.col(column).cast("array<double>")
    given = sf.array(*(sf.lit(float(x)) for x in query))
    norms = sf.sqrt(dot(own, own)) * sf.sqrt(dot(given, given))
    differences = sf.zip_with(own, given, lambda x, y: x - y)
    distances = {
        "cosine": sf.when(norms == 0, 1.0).otherwise(1 - dot(own, given) / norms),
        "l2": sf.sqrt(dot(differences, differences)),
        "dot_product": -dot(own, given),
    }
    unequal = sf.raise_error(sf.lit(f"{column} has a vector without {len(query)} numbers"))
    is_alike = sf.size(own) == len(query)
    return sf.when(is_alike, distances[metric]).otherwise(unequal.cast("double"))
