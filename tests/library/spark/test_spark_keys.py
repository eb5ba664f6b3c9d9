"""A key becomes the same number in Python and in Spark SQL."""

import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from streamlb.keys import key_array
from streamlb.spark.session import spark_session


def texts():
    """Give random unicode of every width, and empty and long strings.

    Some lengths are around the hash's steps of 4, 8 and 32 bytes.
    """
    rng = random.Random(3)
    alphabets = ["abc", "äöüß", "日本語", "😀🎉", "a\0\n\t ", "".join(map(chr, range(32, 0xD7FF, 97)))]
    drawn = ["".join(rng.choices(rng.choice(alphabets), k=rng.randrange(70))) for _ in range(600)]
    return ["", "a" * 100_000, *("x" * n for n in range(70)), *drawn]


@pytest.mark.spark
def test_keys_agree_with_spark():
    rng = np.random.default_rng(4)
    strings = texts()
    integers = np.concatenate([[-(2**63), 2**63 - 1, 0, -1, 1], rng.integers(-(2**63), 2**63 - 1, 200)])
    with spark_session("local[1]") as spark:
        frame = spark.createDataFrame(pd.DataFrame({"text": strings, "blob": [text.encode() for text in strings]}))
        rows = frame.selectExpr("text", "blob", "xxhash64(text) as h", "xxhash64(blob) as b").toPandas()
        assert rows["text"].tolist() == strings
        assert key_array(rows["text"]).view(np.int64).tolist() == rows["h"].tolist()
        assert key_array([bytes(blob) for blob in rows["blob"]]).view(np.int64).tolist() == rows["b"].tolist()
        # An integer key is itself: what Spark delivers in a long column is what Python routes by.
        numbers = spark.createDataFrame(pd.DataFrame({"n": integers}))
        assert key_array(numbers.toPandas()["n"]).view(np.int64).tolist() == integers.tolist()

        def hashed(batches):
            for batch in batches:
                # Spark hands read-only Arrow batches to its workers; the same door takes them.
                yield pa.RecordBatch.from_arrays([pa.array(key_array(batch.column(0)).view(np.int64))], ["k"])

        in_worker = frame.select("text").mapInArrow(hashed, "k long").toPandas()["k"]
        assert in_worker.tolist() == rows["h"].tolist()
