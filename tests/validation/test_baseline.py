"""A table of verdicts against an earlier one."""

import pandas as pd
import pytest
from streamlb.validation.baseline import Baseline, BaselineError, changes, chosen_from, read_baseline
from streamlb.validation.claim import Claim
from streamlb.validation.judging import Decision
from streamlb.validation.verdicts import Judged, write_verdicts


def table(*rows):
    return pd.DataFrame(rows, columns=["claim", "verdict", "shape", "value"])


BEFORE = table(
    ("A-1", "reproduced", "holds", "holds"), ("A-2", "differs", "fails", ""), ("B-1", "undecided", "", "undecided")
)


def test_equal_tables_have_no_changes_in_any_order():
    assert changes(BEFORE, BEFORE) == []
    assert changes(BEFORE, BEFORE[::-1]) == []


def test_changed_new_and_missing_claims_are_named():
    after = table(
        ("A-1", "in shape", "holds", "fails"), ("B-1", "undecided", "", "undecided"), ("B-2", "differs", "", "fails")
    )
    assert [str(change) for change in changes(BEFORE, after)] == [
        "A-1: verdict reproduced -> in shape, value holds -> fails",
        "B-2: new, differs",
        "A-2: missing, was differs",
    ]
    assert [
        str(change) for change in changes(BEFORE, table(("A-1", "reproduced", "", "holds"), *BEFORE.values[1:]))
    ] == ["A-1: shape holds -> not stated"]


def test_tables_without_the_words_on_aspects_are_compared_by_verdict():
    assert changes(BEFORE[["claim", "verdict"]], BEFORE) == []


def test_only_the_chosen_claims_are_compared():
    assert chosen_from(BEFORE, None) is BEFORE
    assert chosen_from(BEFORE, "a-*, B-9")["claim"].tolist() == ["A-1", "A-2"]


def test_both_files_of_a_validation_can_be_read(tmp_path):
    BEFORE.to_parquet(tmp_path / "verdicts.parquet")
    BEFORE.to_csv(tmp_path / "verdicts.csv", index=False)
    for name in ("verdicts.parquet", "verdicts.csv"):
        assert changes(read_baseline(tmp_path / name), BEFORE) == []


def test_missing_and_foreign_files_are_refused_by_name(tmp_path):
    with pytest.raises(BaselineError, match="no-such-file' is not there"):
        read_baseline(tmp_path / "no-such-file")
    (tmp_path / "text.parquet").write_text("not a table")
    with pytest.raises(BaselineError, match=r"text.parquet' cannot be read as a table of verdicts: "):
        read_baseline(tmp_path / "text.parquet")
    pd.DataFrame({"claim": ["A"]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(BaselineError, match=r"is no table of verdicts: it has no column 'verdict'"):
        read_baseline(tmp_path / "other.parquet")
    table(*BEFORE.values, BEFORE.values[0]).to_csv(tmp_path / "twice.csv")
    with pytest.raises(BaselineError, match="has 'A-1' twice"):
        read_baseline(tmp_path / "twice.csv")


def test_nulls_count_as_empty_texts(tmp_path):
    """As in a file that another tool has written, or that was filtered and saved."""
    BEFORE.replace("", None).to_parquet(tmp_path / "verdicts.parquet")
    assert BEFORE.replace("", None).isna().any().any()
    assert changes(read_baseline(tmp_path / "verdicts.parquet"), BEFORE) == []


def judged_as(verdicts, name="DC-F1"):
    """Return a claim with these verdicts by reading."""
    words = {"reproduced": "holds", "differs": "fails"}
    decisions = {reading: Decision(word, "", words[word], "m", "") for reading, word in verdicts.items()}
    claim = Claim(name, "DC", "b", "w", "s", "c", "k", None, None, readings=tuple(verdicts))
    return Judged(claim, decisions, pd.DataFrame({"seed": [1]}), 0.0)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_flips_under_other_readings_are_changes(tmp_path, suffix):
    old = [judged_as({"ours": "differs", "letter": "reproduced", "gone": "differs"}), judged_as({"": "differs"}, "B")]
    new = [judged_as({"ours": "differs", "letter": "differs", "new": "reproduced"}), judged_as({"": "differs"}, "B")]
    write_verdicts(old, tmp_path)
    baseline = Baseline(tmp_path / f"verdicts.{suffix}")
    assert baseline.changes(old) == []
    assert [str(change) for change in baseline.changes(new)] == [
        "DC-F1: holds under letter -> new",
        "DC-F1 under the reading 'letter': verdict reproduced -> differs, value holds -> fails",
        "DC-F1 under the reading 'new': new, reproduced",
        "DC-F1 under the reading 'gone': missing, was differs",
    ]
    assert baseline.changes(new[1:], "B") == []
    (tmp_path / f"readings.{suffix}").unlink()
    assert [str(change) for change in Baseline(tmp_path / f"verdicts.{suffix}").changes(new)] == [
        "DC-F1: holds under letter -> new"
    ]
