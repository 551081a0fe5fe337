#!/bin/sh
# Interesting (1) while the module holds a gelu.
grep -q nn.gelu "$1" && exit 1
exit 0
