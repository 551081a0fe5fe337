"""Shell tests whose scratch files go when the test has passed."""

import glob
import os
import shutil

import lit.formats
import lit.Test
import lit.TestRunner


class ScratchTest(lit.formats.ShTest):
    """`ShTest` that removes what a passed test wrote to `%t` and beside it.

    Tests of whole steps write some 100 MB each, all of them 13 GB. A failed test keeps
    its files; `lit --param keep=1` keeps all.
    """

    def execute(self, test, litConfig):
        result = super().execute(test, litConfig)
        passed = result.code if isinstance(result, lit.Test.Result) else result[0]
        if passed is lit.Test.PASS and "keep" not in litConfig.params:
            remove_scratch(lit.TestRunner.getTempPaths(test)[1])
        return result


def remove_scratch(base):
    """Removes the files and folders whose paths start with `base`."""
    for path in glob.glob(glob.escape(base) + "*"):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
