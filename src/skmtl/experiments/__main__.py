"""``python -m skmtl.experiments synthetic|scenes|attributes --data DIR --out DIR``."""

import argparse
import os
import sys

from skmtl.experiments import EXPERIMENTS, parse_setting, run


def main() -> None:
    """Run one experiment and say where its table is."""
    parser = argparse.ArgumentParser(prog="python -m skmtl.experiments", description="The paper's tables and figures.")
    parser.add_argument("name", choices=EXPERIMENTS)
    parser.add_argument("--data", default=os.environ.get("SKMTL_DATA"), help="folder with the data (SKMTL_DATA)")
    parser.add_argument("--out", required=True, help="folder of the run; a killed run goes on there")
    parser.add_argument("--quick", action="store_true", help="a small version, of a minute or two")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one BLAS thread each (default 1)")
    parser.add_argument("--features", help="folder of other features of the attributes, with or without a sign")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", type=parse_setting, dest="options")
    given = parser.parse_args()
    options = dict(given.options) | ({} if given.features is None else {"features": given.features})
    try:
        folder = run(given.name, data=given.data, out=given.out, quick=given.quick, n_jobs=given.jobs,
                     progress=show, **options)  # fmt: skip
    except (ValueError, OSError) as error:
        sys.exit(str(error))
    print((folder / "table.md").read_text(encoding="utf-8"))


def show(done: int, total: int, what: str) -> None:
    """A line on the error stream."""
    print(f"{done}/{total} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
