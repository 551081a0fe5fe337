"""Executes the PTX of generated kernels, thread by thread, and compares what it leaves
with the same kernels of the host, bit by bit: ptx.py PTX LIBRARY TYPE

PTX and LIBRARY are what zero-compile writes with --emit=ptx --target=cuda and with
--emit=program of one model; TYPE is the type of its 16-bit elements, bf16 or f16. Knows
the instructions that the lowering emits; any other is an error.
"""

import collections
import ctypes
import itertools
import math
import operator
import random
import re
import struct
import sys

# Two launches that cut the elements in different ways: (blocks, threads of a block).
GRIDS = ((2, 32), (5, 7))
GUARD = 256  # bytes behind the host's buffers
PITCH = 1 << 40  # between the buffers' addresses
# Where a buffer begins in its place, behind what is aligned to vectors: all of them, and
# each alone, as far as its elements are aligned then.
STARTS = (0, 2, 4, 8)
WIDEST = [0]  # access so far, bytes
LIMIT = 200000  # instructions of a thread

fmaf = ctypes.CDLL("libm.so.6").fmaf
fmaf.argtypes, fmaf.restype = [ctypes.c_float] * 3, ctypes.c_float


class Unknown(Exception):
    pass


def f32(bits):
    return struct.unpack("<f", struct.pack("<I", bits & 0xffffffff))[0]


def b32(value):
    """Rounded once: a double holds sums, products and quotients of two f32 well enough."""
    return struct.unpack("<I", struct.pack("<f", ctypes.c_float(value).value))[0]


def f16(bits):
    return struct.unpack("<e", struct.pack("<H", bits & 0xffff))[0]


def b16(value):
    if math.isnan(value):
        return 0x7fff
    try:
        return struct.unpack("<H", struct.pack("<e", value))[0]
    except OverflowError:
        return 0xfc00 if value < 0 else 0x7c00


def divide(a, b):
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * \
            math.copysign(1, b)
    return a / b


def signed(bits, width):
    bits &= (1 << width) - 1
    return bits - (1 << width) if bits >> (width - 1) else bits


def on_floats(width, body):
    load, store = (f32, b32) if width == 32 else (f16, b16)
    return lambda *words: store(body(*map(load, words)))


def on_pairs(body):
    half = on_floats(16, body)
    return lambda a, b: half(a, b) | half(a >> 16, b >> 16) << 16


def compare(body, load):
    return lambda a, b: body(load(a), load(b))


def to_integer(bits):
    """Toward zero, and to the nearest that there is."""
    value = f32(bits)
    return 0 if math.isnan(value) else int(max(-2.0**31, min(2.0**31 - 1, value)))


def floor(value):
    return value if math.isnan(value) or math.isinf(value) else math.floor(value)


# Of registers' contents, as whole numbers; results are cut to the register's size.
OPERATIONS = {
    "add.s32": operator.add, "add.s64": operator.add, "sub.s32": operator.sub,
    "sub.s64": operator.sub, "and.b64": operator.and_, "and.b32": operator.and_,
    "or.b64": operator.or_, "or.b32": operator.or_,
    "mul.wide.u32": lambda a, b: (a & 0xffffffff) * (b & 0xffffffff),
    "mul.wide.s32": lambda a, b: signed(a, 32) * signed(b, 32),
    "mad.lo.s32": lambda a, b, c: a * b + c, "mad.lo.s64": lambda a, b, c: a * b + c,
    "mul.lo.s64": operator.mul, "mul.lo.s32": operator.mul,
    "shl.b32": lambda a, b: a << b if b < 32 else 0,
    "shl.b64": lambda a, b: a << b if b < 64 else 0,
    "bfe.u32": lambda a, at, count: a >> at & ((1 << count) - 1),
    "cvt.u64.u32": lambda a: a & 0xffffffff, "cvt.u32.u16": lambda a: a & 0xffff,
    "cvt.u16.u32": lambda a: a & 0xffff,
    "cvta.to.global.u64": lambda a: a,
    "cvt.f32.f16": lambda a: b32(f16(a)),
    "cvt.rn.f16.f32": lambda a: b16(f32(a)),
    "cvt.rn.f16x2.f32": lambda a, b: b16(f32(a)) << 16 | b16(f32(b)),
    "cvt.rmi.f32.f32": on_floats(32, floor),
    "cvt.rzi.s32.f32": to_integer,
    "add.rn.f16": on_floats(16, operator.add), "mul.rn.f16": on_floats(16, operator.mul),
    "sub.rn.f16": on_floats(16, operator.sub),
    **{f"{name}.rn.f16x2": on_pairs(body) for name, body in
       (("add", operator.add), ("mul", operator.mul), ("sub", operator.sub))},
    "add.rn.f32": on_floats(32, operator.add), "sub.rn.f32": on_floats(32, operator.sub),
    "mul.rn.f32": on_floats(32, operator.mul), "div.rn.f32": on_floats(32, divide),
    "rcp.rn.f32": on_floats(32, lambda a: divide(1.0, a)),
    "fma.rn.f32": on_floats(32, fmaf),
    "neg.f32": lambda a: a ^ 0x80000000, "abs.f32": lambda a: a & 0x7fffffff,
    "selp.f32": lambda a, b, p: a if p else b, "selp.b16": lambda a, b, p: a if p else b,
    "selp.b32": lambda a, b, p: a if p else b,
    "setp.nan.f32": lambda a, b: math.isnan(f32(a)) or math.isnan(f32(b)),
    "mov.u32": lambda a: a, "mov.b32": lambda a: a, "mov.b64": lambda a: a,
    "mov.b16": lambda a: a,
}
LOADS = {"u64": lambda bits: bits, "b64": lambda bits: bits, "u32": lambda bits: bits,
         "b32": lambda bits: bits, "s64": lambda bits: signed(bits, 64),
         "s32": lambda bits: signed(bits, 32), "f32": f32}
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    for kind in LOADS:  # no order with a NaN, but that it is not equal: "neu" in PTX
        if (name, kind) != ("ne", "f32"):
            OPERATIONS[f"setp.{name}.{kind}"] = compare(getattr(operator, name), LOADS[kind])
OPERATIONS["setp.neu.f32"] = compare(operator.ne, f32)
BITS = {"%rd": 64, "%rs": 16, "%r": 32, "%p": 1}


def decode(word):
    """A constant as its bits; a register, or what else it is, as its name."""
    if word.startswith("0f"):
        return int(word[2:], 16)
    return int(word, 0) if re.fullmatch(r"-?\d+", word) else word


def mask_of(register):
    match = re.match(r"%(rd|rs|r|p)\d", register) if isinstance(register, str) else None
    return (1 << BITS[match.group(0)[:-1]]) - 1 if match else 0


class Memory:
    """Buffers, each far from the next. Without contents they are zeros of any size; where
    they end, and the sizes of accesses, are noted."""

    def __init__(self, starts, contents=None):
        self.contents, self.starts = contents, starts
        self.ends, self.widths = [0] * len(starts), [set() for _ in starts]
        self.writers = collections.Counter()

    def place(self, address, size):
        buffer = address // PITCH - 1
        if not 0 <= buffer < len(self.ends) or address % size:
            raise Unknown(f"an access of {size} bytes at {address:#x}")
        offset = address % PITCH - self.starts[buffer]
        if offset < 0:
            raise Unknown(f"an access of {size} bytes before buffer {buffer}")
        self.ends[buffer] = max(self.ends[buffer], offset + size)
        return buffer, offset

    def check_vector(self, address, size, count):
        if address % (size * count):
            raise Unknown(f"a vector of {size * count} bytes at {address:#x}")
        self.widths[address // PITCH - 1].add(size * count)

    def load(self, address, size):
        buffer, offset = self.place(address, size)
        if self.contents is None:
            return 0
        return int.from_bytes(self.contents[buffer][offset:offset + size], "little")

    def store(self, address, size, value):
        buffer, offset = self.place(address, size)
        self.writers[address] += 1
        if self.contents is not None:
            self.contents[buffer][offset:offset + size] = \
                (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


class Kernel:
    def __init__(self, name, body):
        self.name, self.labels, self.code = name, {}, []
        self.buffers = len(re.findall(r"\.param", body.split(")")[0]))
        for line in body[body.index("{") + 1:].splitlines():
            line = line.split("//")[0].strip().rstrip(";").strip()
            if not line or line.startswith((".reg", ".pragma", ".loc", "}")):
                continue
            if line.endswith(":"):
                self.labels[line[:-1]] = len(self.code)
                continue
            guard = re.match(r"@(!?)(%p\d+)\s+", line)
            text = line[guard.end():] if guard else line
            opcode, _, rest = text.partition(" ")
            if opcode == "bra.uni":
                opcode = "bra"
            words = [decode(word.strip()) for word in re.split(r",(?![^{]*\})", rest)
                     if word.strip()]
            self.code.append((guard.groups() if guard else None, opcode, words,
                              OPERATIONS.get(opcode), mask_of(words[0]) if words else 0))

    def run(self, memory, grid):
        for block in range(grid[0]):
            for thread in range(grid[1]):
                self.run_thread(memory, {"%tid.x": thread, "%ctaid.x": block,
                                         "%ntid.x": grid[1], "%nctaid.x": grid[0]})

    def run_thread(self, memory, registers):
        def value(word):
            return registers[word] if isinstance(word, str) else word

        at = 0
        for _ in range(LIMIT):
            guard, opcode, words, operation, mask = self.code[at]
            at += 1
            if guard and bool(registers[guard[1]]) == (guard[0] == "!"):
                continue
            if operation and mask and not (opcode == "mov.b32" and isinstance(words[1], str)
                                           and words[1].startswith("{")):
                registers[words[0]] = int(operation(*map(value, words[1:]))) & mask
            elif opcode == "ret":
                return
            elif opcode == "bra":
                at = self.labels[words[0]]
            elif opcode == "ld.param.b64":
                number = int(re.search(r"(\d+)\]$", words[1]).group(1))
                registers[words[0]] = PITCH * (number + 1) + memory.starts[number]
            elif access := re.fullmatch(r"(ld|st)\.global\.(?:v([24])\.)?b(\d+)", opcode):
                size, count = int(access.group(3)) // 8, int(access.group(2) or 1)
                address, names = words[::-1] if access.group(1) == "ld" else words
                base, _, offset = address.strip("[]").partition("+")
                place = value(base) + (int(offset) if offset else 0)
                memory.check_vector(place, size, count)
                if count > 1:
                    names = [decode(name.strip()) for name in names.strip("{}").split(",")]
                for i, name in enumerate(names if count > 1 else [names]):
                    if access.group(1) == "st":
                        memory.store(place + i * size, size, value(name))
                    elif name != "_":
                        registers[name] = memory.load(place + i * size, size)
            elif opcode == "mov.b32" and words[1].__class__ is str and words[1].startswith("{"):
                low, high = (value(decode(part.strip()))
                             for part in words[1].strip("{}").split(","))
                registers[words[0]] = low & 0xffff | (high & 0xffff) << 16
            elif opcode == "mov.b32" and words[0].startswith("{"):
                for i, part in enumerate(words[0].strip("{}").split(",")):
                    if part.strip() != "_":
                        registers[part.strip()] = value(words[1]) >> 16 * i & 0xffff
            else:
                raise Unknown(f"{self.name}: no such instruction here: {opcode}")
        raise Unknown(f"{self.name}: a thread does not end")


class Generated(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p),
                ("run", ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p),
                                         ctypes.c_int64, ctypes.c_int64)),
                ("extent", ctypes.c_int64), ("grain", ctypes.c_int64)]


def host_kernels(path):
    library = ctypes.CDLL(path)
    count = ctypes.c_int64.in_dll(library, "zero_generated_kernel_count").value
    kernels = (Generated * count).in_dll(library, "zero_generated_kernels")
    return {kernel.name.decode(): kernel for kernel in kernels}


def fill(buffer, width, kind, numbers):
    """Values of a few units, zeros and large ones."""
    for at in range(0, len(buffer) - width + 1, width):
        value = numbers.choice((numbers.uniform(-4, 4),) * 20 + (0.0, -0.0, 90.0, -90.0))
        bits = b32(value) if width == 4 else b32(value) >> 16 if kind == "bf16" else b16(value)
        buffer[at:at + width] = bits.to_bytes(width, "little")


def starts_of(widths):
    """Lists of where the buffers begin, whose elements have these sizes."""
    for start in STARTS:
        together = [start if start % width == 0 else 0 for width in widths]
        yield together
        for i in range(len(widths) if start else 0):
            yield [together[i] if i == j else 0 for j in range(len(widths))]


def check(kernel, host, kind):
    """The number of bytes that the kernel wrote."""
    # Where vectors are not aligned, accesses have the sizes of elements.
    probe = Memory([8] * kernel.buffers)
    kernel.run(probe, GRIDS[0])
    if any(count > 1 for count in probe.writers.values()):
        sys.exit(f"{kernel.name}: writes an element more than once")
    numbers = random.Random(7)
    start = []
    for end, widths in zip(probe.ends, probe.widths):
        start.append(bytearray(end))
        if len(widths) != 1:
            sys.exit(f"{kernel.name}: accesses of several sizes in a buffer: {widths}")
        fill(start[-1], min(widths), kind, numbers)
    guarded = [ctypes.create_string_buffer(bytes(each) + b"\xa5" * GUARD, len(each) + GUARD)
               for each in start]
    addresses = (ctypes.c_void_p * len(guarded))(*map(ctypes.addressof, guarded))
    host.run(addresses, 0, host.extent)
    widths = [min(each) for each in probe.widths]
    for grid, starts in itertools.product(GRIDS, starts_of(widths)):
        memory = Memory(starts, [bytearray(each) for each in start])
        kernel.run(memory, grid)
        if any(count > 1 for count in memory.writers.values()):
            sys.exit(f"{kernel.name}: writes an element more than once")
        WIDEST[0] = max([WIDEST[0]] + [max(widths) for widths in memory.widths if widths])
        for i, (wanted, found) in enumerate(zip(guarded, memory.contents)):
            if wanted.raw[len(found):] != b"\xa5" * GUARD:
                sys.exit(f"{kernel.name}: the host's buffer {i} goes on behind the device's")
            if bytes(found) != wanted.raw[:len(found)]:
                at = next(k for k in range(len(found)) if found[k] != wanted.raw[k])
                sys.exit(f"{kernel.name}: buffer {i} differs from byte {at} on, as {grid[0]} "
                         f"blocks of {grid[1]} threads, {starts} bytes into lines")
    return sum(end for i, end in enumerate(probe.ends)
               if any(address // PITCH - 1 == i for address in probe.writers))


def main():
    path, library, kind = sys.argv[1:]
    with open(path) as file:
        text = file.read()
    hosts = host_kernels(library)
    parts = re.split(r"\.visible \.entry (\S+?)\(", text)[1:]
    kernels = [Kernel(name, body) for name, body in zip(parts[::2], parts[1::2])]
    if not kernels or {kernel.name for kernel in kernels} != set(hosts):
        sys.exit(f"kernels {[kernel.name for kernel in kernels]}, the host's {list(hosts)}")
    for kernel in kernels:
        print(f"{kernel.name}: {check(kernel, hosts[kernel.name], kind)} bytes equal")
    print(f"{len(kernels)} kernels: equal bit by bit; the widest access has "
          f"{WIDEST[0]} bytes")


if __name__ == "__main__":
    try:
        main()
    except Unknown as error:
        sys.exit(f"ptx.py: {error}")
