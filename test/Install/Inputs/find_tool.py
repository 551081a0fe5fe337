"""Prints where a package of zero finds zero-compile: find_tool.py FOLDER OF PACKAGES.

Nothing but the module that looks is loaded; others need NumPy.
"""

import importlib.util
import os
import sys
import types

os.environ["PATH"] = ""
os.environ.pop("ZERO_BIN", None)
for name in ("zero", "zero.errors", "zero.step"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["zero.errors"].Error = RuntimeError
sys.modules["zero.errors"].ArgumentError = ValueError
sys.modules["zero.step"].Step = None
spec = importlib.util.spec_from_file_location(
    "zero.compiler", sys.argv[1] + "/zero/compiler.py"
)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.find_tool("zero-compile"))
