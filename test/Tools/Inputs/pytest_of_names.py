"""Stands for PyTorch's interpreter: each file of tests that pytest gets has passed."""

import pathlib
import sys

words = sys.argv[1:]
files = [word for word in words if word.startswith("tests/")]
cases = "".join(f'<testcase classname="{file}" name="it"/>' for file in files)
pathlib.Path(words[words.index("--junitxml") + 1]).write_text(f"<suite>{cases}</suite>")
