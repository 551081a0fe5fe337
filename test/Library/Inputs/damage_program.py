"""Copies a library, its program with another format version: damage_program.py FROM TO NAME

NAME is of a parameter, and so stands in the program only.
"""

import sys

with open(sys.argv[1], "rb") as file:
    content = bytearray(file.read())
begin = content.rindex(b"ZRTP", 0, content.index(sys.argv[3].encode()))
content[begin + 4] = 99
with open(sys.argv[2], "wb") as file:
    file.write(content)
