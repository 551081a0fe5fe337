"""Runs the ranks of an executable as on two machines: two_hosts.py EXECUTABLE RANKS ARGUMENT...

Half of the ranks are in one network namespace and half in another, with one cable between
them and addresses of their own. Needs root and the command `ip`.
"""

import os
import subprocess
import sys

FIRST, SECOND = (f"zero-{name}-{os.getpid()}" for name in "ab")
ADDRESSES = {FIRST: "10.77.0.1", SECOND: "10.77.0.2"}


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def connect():
    # Names of interfaces are short.
    ends = {name: f"z{index}{os.getpid() % 10 ** 8}"
            for index, name in enumerate(ADDRESSES)}
    ip("link", "add", ends[FIRST], "netns", FIRST, "type", "veth",
       "peer", "name", ends[SECOND], "netns", SECOND)
    for name, address in ADDRESSES.items():
        ip("-n", name, "addr", "add", address + "/24", "dev", ends[name])
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "link", "set", ends[name], "up")


def run(executable, ranks, arguments):
    here = ranks // 2
    processes = []
    for rank in range(ranks):
        name = FIRST if rank < here else SECOND
        places = {"RANK": rank, "WORLD_SIZE": ranks, "MASTER_ADDR": ADDRESSES[FIRST],
                  "MASTER_PORT": 29500, "LOCAL_RANK": rank % here,
                  "LOCAL_WORLD_SIZE": here if rank < here else ranks - here}
        processes.append(subprocess.Popen(
            ["ip", "netns", "exec", name, executable, *arguments],
            env={**os.environ, **{key: str(value) for key, value in places.items()}}))
    return max(abs(process.wait()) for process in processes)


def main():
    executable, ranks, *arguments = sys.argv[1:]
    made = []
    try:
        for name in ADDRESSES:
            ip("netns", "add", name)
            made.append(name)
        connect()
        return run(os.path.abspath(executable), int(ranks), arguments)
    finally:
        for name in made:
            ip("netns", "del", name)


if __name__ == "__main__":
    sys.exit(main())
