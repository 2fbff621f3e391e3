"""``python -m skmtl`` is ``skmtl``."""

from skmtl.cli import main

if __name__ == "__main__":
    main()
