"""Writes the Parquet files beside it, as pandas and pyarrow write them: python make.py"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent

city = pa.table(
    {
        "age": pa.array([40, None, 60, 70, 80], pa.int32()),
        "pain": pa.array(["none", "much", None, "none", "much"]).dictionary_encode(),
        "dose": pa.array([1.5, 0.0, 2.0, float("nan"), 4.0]),
        "smokes": pa.array([True, False, None, True, False]),
        "cost": pa.array([1, 2, 3, None, 5], pa.int64()).cast(pa.decimal128(21, 2)),
        "ill": pa.array(["no", "yes", "2", None, "1"]),
    }
)
packing = ["snappy", "zstd", "gzip", "lz4", "none", "snappy"]
pq.write_table(
    city,
    HERE / "city.parquet",
    compression=dict(zip(city.column_names, packing)),
    row_group_size=3,
)
nested = pa.table({"age": [1, 2], "visits": [[1, 2], [3]], "ill": ["0", "1"]})
pq.write_table(nested, HERE / "nested.parquet")
