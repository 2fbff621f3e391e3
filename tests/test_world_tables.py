"""Tables as the programs of the world write them: marks, encodings, workbooks, dates, ids and many categories."""

import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from skmtl import MultiTaskClassifier, MultiTaskRegressor, load_model, save_model
from skmtl.tables import (
    ColumnRoles,
    make_model,
    make_problem,
    predict_frame,
    predict_table,
    read_problem,
    read_table,
)
from skmtl.tables.csv_files import TableFormat
from skmtl.tables.dates import CalendarParts, find_format, read_dates
from skmtl.tables.files import read_with_notes
from skmtl.tables.hashing import HashedCategories


def german(number):
    return f"{number:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


@pytest.fixture
def export(rng):
    """What a German program exports, as it is meant."""
    n = 60
    return pd.DataFrame(
        {
            "Kundennummer": rng.permutation(np.arange(70000, 70000 + n)),
            "Datum": pd.date_range("2021-02-27", periods=n, freq="D"),
            "Stadt": rng.choice(["K\u00f6ln", "M\u00fcnchen"], n),
            "Fl\u00e4che, m\u00b2": rng.normal(90.0, 20.0, n).round(2),
            "Umsatz": rng.normal(20000.0, 9000.0, n).round(2),
            "Kosten": rng.normal(9000.0, 3000.0, n).round(2),
        }
    )


@pytest.fixture
def written(export, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = export.assign(Datum=export["Datum"].dt.strftime("%d.%m.%Y"))
    for name in ("Fl\u00e4che, m\u00b2", "Umsatz", "Kosten"):
        text[name] = text[name].map(german)
    return text.to_csv(index=False, sep=";")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_a_german_export_is_read_as_it_is_meant(export, written, tmp_path, encoding):
    (tmp_path / "table.csv").write_bytes(written.encode(encoding))
    frame, notes, _ = read_with_notes("table.csv")
    numbers = ["Kundennummer", "Fl\u00e4che, m\u00b2", "Umsatz", "Kosten"]
    pd.testing.assert_frame_equal(frame[numbers], export[numbers])
    assert frame["Stadt"].tolist() == export["Stadt"].tolist()
    assert frame["Datum"].tolist() == export["Datum"].dt.strftime("%d.%m.%Y").tolist()
    assert "Columns are separated by semicolons." in notes
    assert "Numbers have a decimal comma." in notes
    assert "Points stand between thousands." in notes
    assert any("cp1252" in note for note in notes) == (encoding == "latin-1")


def test_columns_of_the_export_are_what_they_are(export, written, tmp_path):
    (tmp_path / "table.csv").write_text(written, encoding="utf-8")
    # A comma has cut a name in two, as it does on the command line.
    problem = read_problem("table.csv", ColumnRoles(["Fl\u00e4che", "m\u00b2", "Umsatz"], ignore=["Kosten"]))
    assert problem.Y.columns.tolist() == ["Fl\u00e4che, m\u00b2", "Umsatz"]
    assert problem.features.dates == {"Datum": "%d.%m.%Y"}
    assert problem.features.categories == ["Stadt"]
    assert "look like an id" in problem.features.left_out["Kundennummer"]
    assert (problem.X["Datum"] == export["Datum"]).all()
    asked = read_problem("table.csv", ColumnRoles(["Umsatz"], features=["Kundennummer"]))
    assert asked.features.numbers == ["Kundennummer"]


@pytest.mark.parametrize(
    ("text", "marks", "expected"),
    [
        ("a,b\n1.5,2\n2.5,3\n", {}, [1.5, 2.5]),
        ('a,b\n"1,234.5",2\n"2,000.0",3\n', {}, [1234.5, 2000.0]),
        ('a,b\n"1,5",2\n"2,25",3\n', {}, [1.5, 2.25]),
        ("a;b\n1.234;2\n2.000;3\n", {}, [1.234, 2.0]),  # nothing shows that the point is no decimal one
        ("a;b\n1.234;2,5\n2.000;3,5\n", {}, [1234.0, 2000.0]),  # a decimal comma elsewhere does
        ("a;b\n1.234;2\n2.000;3\n", {"decimal": ","}, [1234.0, 2000.0]),
        ("a;b\n1 234,5;2\n2 000,0;3\n", {"decimal": ",", "thousands": " "}, [1234.5, 2000.0]),
        ("a;b\n1\u202f234,5;2\n2\u00a0000,0;3\n", {"decimal": ",", "thousands": " "}, [1234.5, 2000.0]),
        ("a|b\n1'234.5|2\n2'000.0|3\n", {"thousands": "'"}, [1234.5, 2000.0]),
        ("a\tb\n-1,5e3\t2\n+2,\t3\n", {"decimal": ","}, [-1500.0, 2.0]),
    ],
)
def test_numbers_with_other_marks(tmp_path, text, marks, expected):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    assert read_table(tmp_path / "t.csv", **marks)["a"].tolist() == expected


def test_what_only_looks_like_a_number_stays_text(tmp_path):
    (tmp_path / "t.csv").write_text("day;version;amount\n01.02.2021;1.2.3;1,5\n11.12.2021;1.10.0;2,5\n")
    frame = read_table(tmp_path / "t.csv")
    assert frame["day"].tolist() == ["01.02.2021", "11.12.2021"]
    assert frame["version"].tolist() == ["1.2.3", "1.10.0"]
    assert frame["amount"].tolist() == [1.5, 2.5]
    assert read_table(tmp_path / "t.csv", text=["amount"])["amount"].tolist() == ["1,5", "2,5"]


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("t.xls", b"\xd0\xcf\x11\xe0", "an old workbook of Excel; save it as CSV"),
        ("t.ods", b"PK", "a workbook of LibreOffice"),
        ("t.dta", b"x", "a file of Stata"),
        ("t.csv", b"PK\x03\x04rest", "a workbook or an archive by its content"),
        ("t.csv", b"\xd0\xcf\x11\xe0rest", "an old workbook of Excel by its content"),
        ("t.csv", b"PAR1rest", "a Parquet file by its content"),
        ("t.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is no text by its content"),
        ("t.csv", b"a,b\n1,2\n1,2,3,4\n", r"\(line 3 has 4 fields instead of 2\); check its quotes"),
    ],
)
def test_files_of_other_programs_are_refused_by_name(tmp_path, name, content, part):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=part):
        read_table(tmp_path / name)


def test_a_workbook_is_read_or_says_what_is_missing(tmp_path, export, monkeypatch):
    path = tmp_path / "t.xlsx"
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "openpyxl", None)
        path.write_bytes(b"PK")
        with pytest.raises(ImportError, match="needs openpyxl, which is not installed"):
            read_table(path)
    pytest.importorskip("openpyxl")
    with pytest.raises(ValueError, match="no workbook, or it is damaged"):
        read_table(path)
    with pd.ExcelWriter(path) as book:
        export.to_excel(book, sheet_name="first", index=False)
        export.head(3).to_excel(book, sheet_name="second", index=False)
    frame, notes, _ = read_with_notes(path)
    pd.testing.assert_frame_equal(frame, export, check_dtype=False)
    assert notes == ["The first of 2 sheets was read, 'first'."]
    assert zipfile.is_zipfile(path)


# Dates ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "written", "second"),
    [
        (["2021-03-04", "2021-12-31"], "ISO8601", "2021-12-31"),
        (["2021-03-04T10:00:00Z", "2021-12-31T12:30:00+02:00"], "ISO8601", "2021-12-31 10:30"),
        (["4.3.2021", "31.12.2021"], "%d.%m.%Y", "2021-12-31"),
        (["04.03.2021 10:15", "31.12.2021 23:00"], "%d.%m.%Y %H:%M", "2021-12-31 23:00"),
        (["3/4/2021", "12/31/2021"], "%m/%d/%Y", "2021-12-31"),
        (["4/3/2021", "31/12/2021"], "%d/%m/%Y", "2021-12-31"),
        (["2021/03/04", "2021/12/31"], "%Y/%m/%d", "2021-12-31"),
        (["1.2.3", "1.10.0"], None, None),
        (["31.02.2021", "01.01.2021"], None, None),
        (["today", "2021-01-01"], None, None),
    ],
)
def test_dates_are_known_by_how_they_are_written(values, written, second):
    column = pd.Series([*values, None])
    assert find_format(column) == written
    if written:
        moments = read_dates("day", column, written)
        assert moments[1] == pd.Timestamp(second)
        assert pd.isna(moments[2])


def test_parts_of_the_calendar():
    days = pd.DataFrame({"day": [*pd.date_range("2019-12-30", periods=800, freq="6h"), pd.NaT]})
    parts = CalendarParts().fit(days)
    values = pd.DataFrame(parts.transform(days), columns=parts.get_feature_names_out())
    assert values.iloc[-1].isna().all()
    values, moments = values.iloc[:-1], days["day"].iloc[:-1]
    np.testing.assert_allclose(values["day_trend"], (moments - moments[0]) / pd.Timedelta(days=365.25), atol=1e-9)
    for number, name in enumerate(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]):
        assert ((values[f"day_{name}"] == 1.0) == (moments.dt.day_of_week == number)).all()
    # Noon is half a day from midnight.
    np.testing.assert_allclose(values["day_day_cos"], np.cos(2 * np.pi * moments.dt.hour / 24), atol=1e-6)
    np.testing.assert_allclose(values["day_year_sin"] ** 2 + values["day_year_cos"] ** 2, 1.0)
    # Whole days have no time of day.
    assert not any("day_day" in name for name in CalendarParts().fit(days[:-1:4]).get_feature_names_out())


def test_a_season_is_learned_from_dates_and_saved(rng, tmp_path):
    day = pd.Series(pd.date_range("2020-01-01", periods=500, freq="D"))
    wave = np.sin(np.arange(500) / 58.09)
    frame = pd.DataFrame({"day": day.dt.strftime("%d.%m.%Y"), "sales": 3 * wave + 0.1 * rng.normal(size=500)})
    problem = make_problem(frame, ColumnRoles(["sales"]))
    model = make_model(problem.features, MultiTaskRegressor(alpha=1e-4)).fit(problem.X, problem.Y)
    assert model.score(problem.X, problem.Y) > 0.95
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    new = pd.DataFrame({"day": ["01.04.2021", None]})
    pd.testing.assert_frame_equal(predict_frame(again, new), predict_frame(model, new))
    # The same day as a date, and in another order.
    as_dates = pd.DataFrame({"day": pd.to_datetime(["2021-04-01", None])})
    np.testing.assert_allclose(predict_frame(again, as_dates), predict_frame(model, new))
    with pytest.raises(ValueError, match=r"held dates written like 31\.12\.2021 .* and now '2021-04-01'"):
        predict_frame(again, pd.DataFrame({"day": ["2021-04-01"]}))


# Ids, categories, infinite values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("customer_id", range(1000, 1060), "id"),
        ("PatientID", [i // 2 for i in range(60)], "id"),
        ("Kundennummer", range(60), "id"),
        ("Kundennr", range(0, 180, 3), "id"),
        ("Artikel-Nr.", range(0, 180, 3), "id"),
        ("shuffled", [(7 * i) % 60 + 500 for i in range(60)], "id"),
        ("year", range(1950, 2010), "number"),  # in order: it may be time
        ("income", [(7919 * i) % 100003 for i in range(60)], "number"),  # far apart: it is an amount
        ("idea", [i % 30 for i in range(60)], "number"),
        ("class_id", [i % 3 for i in range(60)], "number"),  # few: a code of something
        ("share_id", [i / 60 for i in range(60)], "number"),
    ],
)
def test_ids_are_known_and_left_out(name, values, kind):
    frame = pd.DataFrame({name: list(values), "x": np.arange(60) % 7 + 0.5, "y": np.arange(60) % 5 + 0.5})
    problem = make_problem(frame, ColumnRoles(["y"]))
    assert (name in problem.features.left_out) == (kind == "id")
    assert (name in problem.features.numbers) == (kind == "number")
    said = " ".join(problem.notes)
    assert ("look like an id" in said) == (kind == "id")
    assert ("counts the rows" in said) == (name == "year")


def test_many_categories_are_used_and_names_are_not(rng):
    n = 400
    street = rng.integers(0, 60, n)
    effect = rng.normal(size=60)
    frame = pd.DataFrame({"street": [f"Street {k}" for k in street], "who": [f"Name {i}" for i in range(n)]})
    frame["x"] = rng.normal(size=n)
    frame["y"] = frame["x"] + effect[street] + 0.1 * rng.normal(size=n)
    problem = make_problem(frame, ColumnRoles(["y"]))
    assert problem.features.many == ["street"]
    assert "rather a name than a category" in problem.features.left_out["who"]
    assert "1 text of many values: hashed" in " ".join(problem.notes)
    model = make_model(problem.features, MultiTaskRegressor(alpha=1e-3))
    held_out = np.arange(n) % 4 == 0
    model.fit(problem.X[~held_out], problem.Y[~held_out])
    assert model.score(problem.X[held_out], problem.Y[held_out]) > 0.8
    # A street that nobody knows is no error.
    assert np.isfinite(predict_frame(model, frame.head(2).assign(street=["Elsewhere", None])).to_numpy()).all()


def test_hashing_depends_on_the_text_alone():
    column = pd.DataFrame({"a": ["x", "y", None, "x"]})
    hashed = HashedCategories(16).fit(column)
    values = hashed.transform(column)
    np.testing.assert_array_equal(values[0], values[3])
    assert not np.array_equal(values[0], values[1])
    np.testing.assert_array_equal(hashed.transform(column.iloc[::-1]), values[::-1])
    assert len(hashed.get_feature_names_out()) == 16


@pytest.mark.parametrize("n_columns", [2**26, 129, 0, -1, 8.0, "8", None])
def test_hashing_takes_no_more_columns_than_it_ever_makes(n_columns):
    """A model file that was changed could ask for any amount of memory."""
    hashed = HashedCategories(n_columns).fit(pd.DataFrame({"a": ["x"]}))
    with pytest.raises(ValueError, match="n_columns="):
        hashed.transform(pd.DataFrame({"a": ["x"]}))


def test_infinite_values_are_said():
    frame = pd.DataFrame({"a": [np.inf, -np.inf, *np.arange(28) / 3], "y": np.arange(30) / 7})
    assert "2 infinite values of 'a' count as missing." in " ".join(make_problem(frame, ColumnRoles(["y"])).notes)


def test_large_numbers_are_written_in_thousands():
    n = np.arange(3000)
    columns = {"a": np.where(n % 2, np.inf, n / 7), "name": [f"person {k}" for k in n], "y": n / 3, "z": n / 7}
    frame = pd.DataFrame(columns)
    frame.loc[:1199, "y"] = np.nan
    said = " ".join(make_problem(frame, ColumnRoles(["y", "z"])).notes)
    assert "1,200 of 6,000 labels are missing" in said
    assert "text with 3,000 different values in 3,000 rows" in said
    assert "1,500 infinite values of 'a'" in said


def test_a_constant_target_is_said_and_none_but_constant_ones_are_refused(rng):
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=["x", "y", "z"]).assign(same=3.0)
    about = " ".join(make_problem(frame, ColumnRoles(["y", "same"])).notes)
    assert "In 'same' all labels are the same: nothing can be learned there" in about
    with pytest.raises(ValueError, match=r"'same' is 3\.0 in every row"):
        make_problem(frame, ColumnRoles(["same"]))


def test_a_task_of_a_long_table_and_a_class_whose_labels_are_all_the_same_are_said(rng):
    frame = pd.DataFrame({"x": rng.normal(size=30), "task": ["a", "b", "c"] * 10, "y": rng.normal(size=30)})
    frame.loc[frame["task"] == "b", "y"] = 3.0
    roles = ColumnRoles(["y"], task_column="task")
    assert any(note.startswith("In 'b' all labels are the same") for note in make_problem(frame, roles).notes)
    with pytest.raises(ValueError, match="within each task all labels are the same"):
        make_problem(frame.assign(y=frame["task"].map({"a": 1.5, "b": 2.5, "c": 3.5})), roles)
    classes = pd.DataFrame({"x": frame["x"], "u": frame["x"] > 0, "v": True, "w": False})
    notes = make_problem(classes, ColumnRoles(["u", "v", "w"])).notes
    assert any(note.startswith("In each of 'v', 'w' all labels are the same") for note in notes)
    with pytest.raises(ValueError, match="within each task all labels are the same"):
        make_problem(classes, ColumnRoles(["v", "w"]))


@pytest.mark.parametrize("pair", [("yes", "no"), ("Ja", "Nein"), (" TRUE", "false"), ("y", "n")])
def test_several_targets_of_yes_and_no_are_classes(pair, rng):
    truth = rng.random((40, 2)) < 0.4
    frame = pd.DataFrame({"x": truth[:, 0] + 0.1 * rng.normal(size=40)})
    frame["a"], frame["b"] = (np.where(column, *pair).astype(object) for column in truth.T)
    frame.loc[3, "b"] = None
    problem = make_problem(frame, ColumnRoles(["a", "b"]))
    assert problem.classification
    assert any("'a', 'b' hold words such as yes and no, which are 1 and 0" in note for note in problem.notes)
    expected = truth.astype(float)
    expected[3, 1] = np.nan
    np.testing.assert_array_equal(problem.Y, expected)
    # One target alone has classes of these names, and other words are refused.
    assert set(make_problem(frame, ColumnRoles(["a"])).Y) == set(pair)
    with pytest.raises(ValueError, match="target 'b' holds text such as 'perhaps'"):
        make_problem(frame.assign(b=["perhaps"] * 20 + [pair[1]] * 20), ColumnRoles(["a", "b"]))


def test_few_groups_are_refused(rng):
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["x", "y"]).assign(who=np.arange(40) % 4, visit=range(40))
    with pytest.raises(ValueError, match="'who' has 4 different values"):
        make_problem(frame, ColumnRoles(["y"], groups="who"))
    problem = make_problem(frame.assign(who=np.arange(40) % 5), ColumnRoles(["y"], groups="who"))
    assert problem.features.names == ["x", "visit"]
    assert "5 groups" in " ".join(problem.notes)
    assert problem.take([3, 1]).groups.tolist() == [3, 1]


# Predictions ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def kinds(rng):
    frame = pd.DataFrame({"x": rng.normal(size=60), "colour": rng.choice(["red", "blue"], 60)})
    return frame.assign(kind=np.where(frame["x"] > 0, "high", "low"), id=[f"{k:04d}" for k in range(60)])


def test_ids_pass_through_and_unseen_categories_are_said(kinds, tmp_path):
    model = make_model(
        make_problem(kinds, ColumnRoles(["kind"], ignore=["id"])).features,
        MultiTaskClassifier(loss="logistic"),
        target="kind",
    ).fit(kinds, kinds["kind"])
    kinds.assign(colour=["green", "mauve"] * 30).to_csv(tmp_path / "new.csv", index=False)
    with pytest.warns(
        UserWarning, match="'colour' has values in 60 rows that were not there at the fit: 'green', 'mauve'"
    ):
        values = predict_table(model, tmp_path / "new.csv", keep=["id"])
    assert values.columns.tolist() == ["id", "kind"]
    # Zeros in front are part of an id.
    assert values["id"].tolist() == kinds["id"].tolist()
    kinds.to_csv(tmp_path / "new.csv", index=False)
    chances = predict_table(model, tmp_path / "new.csv", kind="probabilities")
    assert chances.columns.tolist() == ["kind: high", "kind: low"]
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    named = predict_table(model, tmp_path / "new.csv")["kind"]
    assert (named == np.where(chances["kind: high"] > 0.5, "high", "low")).all()
    scores = predict_table(model, tmp_path / "new.csv", kind="scores")["kind"]
    assert ((scores > 0) == (named == "low")).all()
    with pytest.raises(ValueError, match="column 'id' is to be kept twice; name it once"):
        predict_table(model, tmp_path / "new.csv", keep=["id", "id"])
    with pytest.raises(ValueError, match="'kind' is a column to keep and a target"):
        predict_table(model, tmp_path / "new.csv", keep=["kind"])


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_ids_that_look_like_a_gap_or_a_number_pass_through(ending, kinds, tmp_path):
    """NA is the code of Namibia, and Null is a name; of what is only passed on nothing but the empty cell is a gap."""
    odd = ["NA", "None", "null", "nan", "N/A", "007", "1e5", "1,5", "TRUE", None]
    frame = kinds.assign(id=(odd * 6)[:60])
    problem = make_problem(kinds, ColumnRoles(["kind"], ignore=["id"]))
    model = make_model(problem.features, MultiTaskClassifier(), target="kind").fit(problem.X, problem.Y)
    path = tmp_path / f"new.{ending}"
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False)
    values = predict_table(model, path, keep=["id", "colour"])
    assert values["id"].fillna("").tolist() == frame["id"].fillna("").tolist()
    assert values["colour"].tolist() == frame["colour"].tolist()


@pytest.mark.parametrize("long", [False, True])
def test_a_target_called_as_the_end_of_an_interval_is_not_lost(long, rng, tmp_path):
    """The low end of one column would stand in the place of another's prediction."""
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["x", "u", "u high"])
    if long:
        frame = frame.melt("x", var_name="task", value_name="high")
    roles = ColumnRoles(["high"], task_column="task") if long else ColumnRoles(["u", "u high"])
    problem = make_problem(frame, roles)
    model = make_model(problem.features, MultiTaskRegressor(alpha=0.1), target=problem.target)
    model.fit(problem.X, problem.Y, **({"tasks__tasks": problem.tasks} if long else {}))
    frame.to_csv(tmp_path / "new.csv", index=False)
    asked = {"task_column": "task"} if long else {}
    with pytest.raises(ValueError, match="high' is a target, and the end of an interval would be called so too"):
        predict_table(model, tmp_path / "new.csv", interval=0.5, **asked)
    assert predict_table(model, tmp_path / "new.csv", **asked).columns[-1].endswith("high")


def test_numbers_have_no_probabilities(kinds):
    model = MultiTaskRegressor().fit(kinds[["x"]], kinds["x"])
    with pytest.raises(ValueError, match="the model predicts numbers, which have no probabilities"):
        predict_frame(model, kinds[["x"]], kind="probabilities")


def test_marks_that_cannot_be_told_apart_are_refused():
    for marks, part in [
        ({"decimal": ";"}, "no decimal mark"),
        ({"thousands": "."}, "both '.'"),
        ({"thousands": "12"}, "no mark between thousands"),
        ({"delimiter": ",", "decimal": ","}, "delimiter and decimal mark are both"),
        ({"encoding": "none"}, "is not known"),
    ]:
        with pytest.raises(ValueError, match=part):
            TableFormat(**marks).check()
