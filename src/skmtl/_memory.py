"""How much memory there is, and whether an exact kernel fits into it."""

from pathlib import Path

# An exact kernel is held, decomposed and whitened: three matrices of n x n at once.
KERNEL_COPIES = 3
# Where Linux says how much memory may still be had, of the machine and of the container.
MEMINFO = Path("/proc/meminfo")
CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current"))


def memory_available() -> int | None:
    """Bytes that may still be had, of the machine and of the container; None where nobody says."""
    known = [size for size in (_of_machine(), _of_container()) if size is not None]
    return min(known, default=None)


def kernel_bytes(n_rows: int) -> int:
    """What a fit of an exact kernel needs."""
    return KERNEL_COPIES * 8 * n_rows**2


def check_kernel_fits(n_rows: int) -> None:
    """Raise ``MemoryError`` before an exact kernel is computed that memory does not hold."""
    available = memory_available()
    if available is not None and kernel_bytes(n_rows) > available:
        raise MemoryError(
            f"an exact kernel of {n_rows} rows needs {kernel_bytes(n_rows) / 2**30:.1f} GiB, and "
            f"{available / 2**30:.1f} GiB are available; approximate it on landmarks, for example n_components=1000, "
            "or use kernel='linear'."
        )


def _of_machine() -> int | None:
    try:
        lines = MEMINFO.read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


def _of_container() -> int | None:
    try:
        most, used = (int(path.read_text()) for path in CONTAINER)
    except (OSError, ValueError):
        # No container, or one without a limit, which says "max".
        return None
    return max(most - used, 0)
