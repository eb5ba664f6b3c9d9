"""Keys: a key is the same number whatever holds it, and what is no key gets a clear error."""

import naive
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlb.keys import key_array, key_batch, key_int

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=80)


@given(st.binary(max_size=200))
def test_xxhash64_matches_naive(data):
    assert key_int(data) % 2**64 == naive.xxhash64(data)
    assert int(key_array([data])[0]) == naive.xxhash64(data)


def test_xxhash64_known_answers():
    """Check the algorithm's published test vectors (seed 0) and Spark's documentation (seed 42)."""
    assert naive.xxhash64(b"", 0) == 0xEF46DB3751D8E999
    assert naive.xxhash64(b"abc", 0) == 0x44BC2CF5AD770999
    assert key_int("Spark") == -4294468057691064905


@given(st.lists(texts, max_size=30))
def test_every_container_of_text_agrees(keys):
    ref = np.array([naive.key_number(key) for key in keys], dtype=np.uint64)
    arrow = pa.array(keys, pa.string())
    containers = [
        keys,
        tuple(keys),
        iter(keys),
        np.array(keys, dtype=object),
        pd.Series(keys, dtype=object),
        pd.Series(keys, dtype="string"),
        pd.Series(keys, dtype="string[pyarrow]"),
        pd.Index(keys, dtype=object),
        arrow,
        arrow.cast(pa.large_string()),
        arrow.cast(pa.string_view()),
        arrow.cast(pa.binary()),
        arrow.dictionary_encode(),
        pa.chunked_array([arrow[:3], arrow[3:]]),
        pa.concat_arrays([pa.array(["padding"]), arrow])[1:],
    ]
    if not any("\0" in key for key in keys):  # pandas takes "" and "\0" for one category
        containers.append(pd.Series(keys, dtype=object).astype("category"))
    for container in containers:
        np.testing.assert_array_equal(key_array(container), ref)
    assert [key_int(key) % 2**64 for key in keys] == ref.tolist()


@given(st.lists(texts.filter(lambda text: not text.endswith("\0")), min_size=1, max_size=20))
def test_numpy_text_and_bytes_agree(keys):
    ref = [naive.key_number(key) for key in keys]
    assert key_array(np.array(keys)).tolist() == ref
    assert key_array(np.array([key.encode() for key in keys])).tolist() == ref
    assert key_array(np.array(keys, dtype=np.dtypes.StringDType())).tolist() == ref


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i8", ">u4"])
def test_integers_are_themselves_modulo_two_to_the_64(dtype):
    info = np.iinfo(dtype)
    keys = np.array([info.min, 0, 1, info.max], dtype=dtype)
    ref = [int(key) % 2**64 for key in keys]
    containers = [keys, keys[::-1][::-1], keys.tolist(), pd.Series(keys.astype(keys.dtype.newbyteorder("=")))]
    if dtype[0] != ">":
        containers += [pa.array(keys), pa.array(keys).dictionary_encode(), pd.Series(keys).astype("category")]
        containers += [pd.Series(keys, dtype=("UInt" if dtype[0] == "u" else "Int") + str(8 * keys.itemsize))]
    for container in containers:
        comp = key_array(container)
        assert comp.tolist() == ref
        assert comp.dtype == np.uint64
        assert comp.flags.c_contiguous
        assert comp.flags.writeable
    assert [key_int(key) % 2**64 for key in keys] == ref


@given(st.lists(st.integers(1, 5), max_size=4), st.sampled_from([2**64, 2**70, -(2**63) - 1]))
def test_integers_beyond_64_bits_are_refused(before, key):
    with pytest.raises(ValueError, match=f"64 bits.*got {key}$"):
        key_int(key)
    with pytest.raises(ValueError, match=f"64 bits.*got {key} at position {len(before)}"):
        key_array([*before, key])


@given(st.lists(st.integers(-(2**63), 2**64 - 1), max_size=20))
def test_python_integers_of_any_size(keys):
    ref = [key % 2**64 for key in keys]
    assert key_array(keys).tolist() == ref
    assert [key_int(key) % 2**64 for key in keys] == ref
    assert all(-(2**63) <= key_int(key) < 2**63 for key in keys)


def test_uint64_is_not_copied_and_read_only_is():
    keys = np.arange(5, dtype=np.uint64)
    assert key_array(keys) is keys or key_array(keys).base is keys
    keys.flags.writeable = False
    assert key_array(keys).flags.writeable
    assert key_array(keys.astype(np.int64)[::2]).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("keys", "position"),
    [
        ([1, 2, None], 2),
        ([1, 2.5], 1),
        ([True], 0),
        (["a", 1], 1),
        (["a", b"a"], 1),
        ([float("nan")], 0),
        (np.array([1.0, 2.0]), 0),
        (np.array([True]), 0),
        (np.array(["a", None], dtype=object), 1),
        (np.array(["a", "b", 3], dtype=object), 2),
        (np.array(["2020-01-01"], dtype="M8[D]"), 0),
        (pd.Series(["a", None]), 1),
        (pd.Series(["a", None], dtype="string"), 1),
        (pd.Series(["a", None]).astype("category"), 1),
        (pd.Series([1, None], dtype="Int64"), 1),
        (pd.Series([1.0]), 0),
        (pd.Series([True]), 0),
        (pa.array([1, None]), 1),
        (pa.array(["a", None]), 1),
        (pa.array(["a", None]).dictionary_encode(), 1),
        (pa.array([1.5]), 0),
        (pa.array([True]), 0),
        (pa.chunked_array([pa.array(["a", "b"]), pa.array(["c", None])]), 3),
        (pa.array([1.5, 1.5]).dictionary_encode(), 0),
    ],
)
def test_the_first_bad_key_is_named(keys, position):
    with pytest.raises(TypeError, match=f"keys must be .* at position {position}$"):
        key_array(keys)


def test_what_is_no_sequence_of_keys():
    with pytest.raises(TypeError, match="single str"):
        key_array("abc")
    with pytest.raises(TypeError, match="sequence of keys"):
        key_array(7)
    with pytest.raises(ValueError, match="one dimension"):
        key_array(np.zeros((2, 2), np.int64))
    with pytest.raises(ValueError, match="position 1"):
        key_array(["a", "\ud800"])
    with pytest.raises(TypeError, match="one column, a Series or an Index, got a DataFrame"):
        key_array(pd.DataFrame({"a": [1]}))
    for text in ("\ud800", np.str_("\ud800")):
        with pytest.raises(ValueError, match="key must be valid unicode"):
            key_int(text)
    for key in (1.5, None, True, np.bool_(True), float("nan"), [1]):
        with pytest.raises(TypeError, match="key must be"):
            key_int(key)


def test_empty_batches():
    for keys in ([], np.array([]), np.array([], dtype=object), pa.array([], pa.string()), pd.Series([], dtype=object)):
        assert key_array(keys).shape == (0,)
    assert key_array(pa.chunked_array([], pa.string())).shape == (0,)


def test_a_single_key_is_a_batch_of_one():
    for key in (7, -1, np.int8(3), "a", b"a"):
        batch, single = key_batch(key)
        assert single
        assert batch.tolist() == [naive.key_number(key if isinstance(key, (str, bytes)) else int(key))]
    assert key_batch([7])[1] is False
