# SPDX-License-Identifier: Apache-2.0
"""Where the package finds its library."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import hccl

PACKAGE = pathlib.Path(hccl.__file__).parent
LIBRARIES = PACKAGE.parents[1] / "lib64"
IMPORT = "import hccl.manage.api as api; print(api._hcomm._name)"


def imported(path, **variables):
    """What a fresh interpreter prints."""
    environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
    environment.update(variables, PYTHONPATH=str(path))
    return subprocess.run([sys.executable, "-B", "-c", IMPORT], env=environment, text=True,
                          capture_output=True, timeout=50, check=False)


class Library(unittest.TestCase):
    def test_is_that_of_the_installation(self):
        done = imported(PACKAGE.parent)
        self.assertEqual(done.stdout.strip(), str(LIBRARIES / "libhcomm.so"), done.stderr)

    def test_is_searched_by_name_elsewhere_and_missed_clearly(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(PACKAGE, pathlib.Path(folder) / "hccl")
            done = imported(folder, LD_LIBRARY_PATH=str(LIBRARIES))
            self.assertEqual(done.stdout.strip(), "libhcomm.so", done.stderr)
            done = imported(folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("ValueError: load hccl lib error", done.stderr)

    def test_that_lacks_a_function_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(PACKAGE, pathlib.Path(folder) / "python" / "hccl")
            (pathlib.Path(folder) / "lib64").mkdir()
            other = pathlib.Path(folder) / "lib64" / "libhcomm.so"
            other.symlink_to(LIBRARIES / "libascendcl.so")
            done = imported(pathlib.Path(folder) / "python")
            self.assertIn("ValueError: load hccl lib error", done.stderr)


if __name__ == "__main__":
    unittest.main()
