"""Tables in archives of tar: read where they are alone in it, and refused with a sentence where it is damaged."""

import gzip
import tarfile

import pandas as pd
import pytest

from skmtl.tables import read_blocks, read_table


@pytest.mark.parametrize(
    "content", [b"hello", b"x" * 1024, gzip.compress(b"x" * 3000)], ids=["short", "long", "packed"]
)
@pytest.mark.parametrize("ending", [".tar", ".tar.gz", ".tar.bz2", ".tar.xz"])
def test_a_damaged_archive_of_tar_is_said_to_be(ending, content, tmp_path):
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path.name} is damaged, or not what its ending says"):
        read_table(path)


@pytest.mark.parametrize("kind", [tarfile.DIRTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_an_archive_of_tar_without_a_file_has_no_table(kind, tmp_path):
    member = tarfile.TarInfo("t.csv")
    member.type = kind
    with tarfile.open(tmp_path / "t.tar", "w") as archive:
        archive.addfile(member)
    with pytest.raises(ValueError, match=r"t\.tar is damaged, or not what its ending says"):
        read_table(tmp_path / "t.tar")


@pytest.mark.parametrize("ending", [".tar", ".tar.gz"])
@pytest.mark.parametrize("n_members", [1, 2])
def test_an_archive_of_tar_holds_one_table(n_members, ending, tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    frame.to_csv(tmp_path / "one.csv", index=False)
    path = tmp_path / f"t{ending}"
    with tarfile.open(path, "w:gz" if ending.endswith("gz") else "w") as archive:
        for number in range(n_members):
            archive.add(tmp_path / "one.csv", f"{number}.csv")
    if n_members == 1:
        pd.testing.assert_frame_equal(read_table(path), frame)
    else:
        with pytest.raises(ValueError, match=f"{path.name} must hold one file"):
            read_table(path)


@pytest.mark.parametrize("ending", [".tar", ".TAR", ".csv.tar.gz", ".tar.bz2", ".tar.xz"])
def test_an_archive_of_tar_is_not_read_in_blocks(ending, tmp_path):
    """Its bytes, names of members among them, would be taken for the table."""
    pytest.importorskip("dask.dataframe")
    (tmp_path / "one.csv").write_text("a,b\n1,2\n3,4\n")
    path = tmp_path / f"t{ending}"
    with tarfile.open(path, f"w:{ending.lower().rpartition('.')[2]}".replace(":tar", "")) as archive:
        archive.add(tmp_path / "one.csv", "one.csv")
    with pytest.raises(ValueError, match=f"{path.name} is an archive, which is read whole; unpack it"):
        read_blocks(path)


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zip"])
def test_a_packed_table_is_one_block(ending, tmp_path):
    """Without a warning about it."""
    pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    frame.to_csv(tmp_path / f"t.csv.{ending}", index=False)
    blocks = read_blocks(tmp_path / f"t.csv.{ending}")
    pd.testing.assert_frame_equal(blocks.compute(), frame)
    assert blocks.npartitions == 1
