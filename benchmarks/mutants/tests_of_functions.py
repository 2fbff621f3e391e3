"""Which tests enter which functions, and how many seconds of CPU they take: a plugin of pytest that writes it down."""

import json
import sys
import threading
import time
from pathlib import Path


class Recorder:
    """Functions of a folder that each test enters, as ``file:qualified name``."""

    def __init__(self, root: Path, file: Path) -> None:
        self._prefix, self._file = str(root) + "/", file
        self._entered: set[tuple[str, str]] = set()
        self._tests: dict[str, dict] = {}
        self._start = 0.0

    def _trace(self, frame, _event, _argument):
        code = frame.f_code
        if code.co_filename.startswith(self._prefix):
            self._entered.add((code.co_filename, code.co_qualname))

    def pytest_runtest_logreport(self, report):
        test = self._tests.setdefault(report.nodeid, {"seconds": 0.0, "functions": [], "passed": True})
        test["passed"] &= report.passed
        if report.when == "teardown":
            test["seconds"] = round(time.process_time() - self._start, 3)
            cut = len(self._prefix)
            test["functions"] = sorted(f"{name[cut:]}:{function}" for name, function in self._entered)
            self._entered.clear()

    def pytest_runtest_setup(self, item):
        self._entered.clear()
        self._start = time.process_time()
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def pytest_runtest_teardown(self, item):
        sys.settrace(None)
        threading.settrace(None)

    def pytest_sessionfinish(self):
        """Add what passed to what is known; tests of these files that are gone are forgotten."""
        files = {name.split("::")[0] for name in self._tests}
        old = json.loads(self._file.read_text()) if self._file.exists() else {}
        kept = {name: test for name, test in old.items() if name.split("::")[0] not in files}
        kept |= {name: test for name, test in self._tests.items() if test["passed"]}
        self._file.write_text(json.dumps(kept))
