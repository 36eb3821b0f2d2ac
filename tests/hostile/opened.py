"""Opens files with readers and says what happened: one JSON line each. Run in a process of its own, with bounds.

python opened.py FOLDER MEGABYTES SECONDS [READER ...]
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

from corpus import anything, saved

from coterie.benchmarks.fuzz_readers import READERS
from coterie.errors import CoterieError


class TooSlow(BaseException):
    """The alarm went off."""


def slow(*_: object) -> None:
    raise TooSlow


def opened(reader, path: Path, megabytes: int, seconds: float) -> dict[str, object]:
    """What one reader makes of one file."""
    began, said = time.process_time(), io.StringIO()
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + (megabytes << 20), most))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    fault, told = "", ""
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            reader.read(path)
    except CoterieError as error:
        told = str(error)
    except TooSlow:
        fault = "took too long"
        told = "".join(traceback.format_exc()[-1500:])
    except BaseException as error:
        fault, told = type(error).__name__, "".join(traceback.format_exc()[-1500:])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (before, most))
    took = time.process_time() - began
    return {"reader": reader.name, "file": path.name, "fault": fault, "told": told, "seconds": round(took, 2)}


COSTLY = ("run's", "model's", "adapter's", "GGUF")
"""Readers that take a tenth of a second. What others are meant for is dealt out among them instead of read by each."""


def main() -> None:
    folder, megabytes, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    chosen = [reader for reader in READERS if any(word in reader.name for word in sys.argv[4:])]
    costly = [reader for reader in chosen if any(word in reader.name for word in COSTLY)]
    common, dealt = {name for name, _ in anything()}, {name for name, _ in saved()}
    signal.signal(signal.SIGPROF, slow)
    for reader in chosen:
        sample = folder / f"sample{reader.suffix}"
        sample.write_bytes(reader.sample())
        reader.read(sample)  # compiles and imports what it needs, and what other readers need for this
    for reader in {reader.read: reader for reader in chosen}.values():  # not twice the same, for another sample
        alike = [other for other in costly if other.suffix == reader.suffix]
        for k, path in enumerate(sorted((folder / "files").iterdir())):
            if reader in costly and path.name not in common:
                turn = alike[k % len(alike)] if path.name in dealt else reader
                if path.suffix != reader.suffix or turn is not reader:
                    continue
            print(json.dumps(opened(reader, path, megabytes, seconds)), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
