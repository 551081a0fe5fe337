"""Runs every pass alone on modules that it was not made for.

usage: run_odd_modules.py <zero-opt>

Each pass succeeds or ends with an error: never with a signal, and never without a word.
"""

import re
import subprocess
import sys

TRAINING = "training #zero.training<stage = %d, ranks = 2>"
PARAMETER = "zero.parameter @a : tensor<8xf32> = #zero.ones\n"
PARTITION = """
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.sgd<>
"""
FORWARD = """
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
"""
GATHER = """
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %b = zero.wait %p : <tensor<8xf32>>
"""
BACKWARD = """
    %s = zero.loss_seed : tensor<f32>
    %g = nn.broadcast %s dims [] : (tensor<f32>) -> tensor<8xf32>
    %n = zero.gradient @a, %g : tensor<8xf32>
"""
YIELD = "    zero.yield %loss : tensor<f32>\n"


def step(training, micro, apply="", evaluate=None):
    text = "zero.step @train(%%x: tensor<8xf32>) %s {\n" % training
    text += "  zero.micro {%s  }\n  zero.apply {%s  }\n" % (micro, apply)
    if evaluate is not None:
        text += "  zero.evaluate {%s  }\n" % evaluate
    return text + "}\n"


WHOLE = FORWARD + BACKWARD + YIELD
MODULES = {
    "nothing": "",
    "a parameter alone": PARAMETER,
    "a model": PARAMETER + "zero.step @train(%x: tensor<8xf32>) {" + FORWARD + YIELD + "}\n",
    "no training": PARAMETER + step("", WHOLE),
    "no partition": PARAMETER + step(TRAINING % 2, WHOLE, evaluate=FORWARD + YIELD),
    "a gather without a partition": PARAMETER + step(TRAINING % 3, GATHER + WHOLE),
    "no loss seed": PARAMETER + PARTITION + step(TRAINING % 2, FORWARD + YIELD),
    "no yield": PARAMETER + PARTITION + step(TRAINING % 2, FORWARD + BACKWARD),
    "empty regions": PARAMETER + PARTITION + step(TRAINING % 2, "", evaluate=""),
    "no update": PARAMETER + PARTITION + step(TRAINING % 2, WHOLE, evaluate=FORWARD + YIELD),
    "an update without a check": PARAMETER + PARTITION + step(TRAINING % 2, WHOLE, """
    %t = zero.grad_stats [@p0]
    %v = zero.judge %t clip 1.0 divisor 2.0 skip
    zero.update @p0 if %v
"""),
    "two steps": PARAMETER + step(TRAINING % 2, WHOLE) +
                 step(TRAINING % 2, WHOLE).replace("@train", "@other"),
    "another stage": PARAMETER + PARTITION + step(TRAINING % 3, WHOLE),
    "an empty step of stage 3": PARAMETER + PARTITION.replace("bucketed", "parameter")
                                .replace("stage 2", "stage 3") + step(TRAINING % 3, "", "", ""),
    "an unknown operation": PARAMETER + "zero.step @train(%x: tensor<8xf32>) {" + FORWARD +
                            '    "other.operation"(%x) : (tensor<8xf32>) -> ()\n' + YIELD + "}\n",
    "a function": "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> "
                  "{ return %x : tensor<4xf32> }\n",
}


def passes(opt):
    listed = subprocess.run([opt, "--list-passes"], capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"^ +--(zero-[a-z-]+)", listed.stdout, re.M)))


def main(opt):
    names, count = passes(opt), 0
    if len(names) < 30:
        sys.exit("found only the passes %s" % names)
    for name in names:
        for what, text in MODULES.items():
            command = [opt, "--allow-unregistered-dialect", "--" + name, "-", "-o", "/dev/null"]
            done = subprocess.run(command, input=text, capture_output=True, text=True)
            if done.returncode not in (0, 1) or (done.returncode and "error:" not in done.stderr):
                sys.exit("--%s on %s ends with %d:\n%s" % (name, what, done.returncode,
                                                        done.stderr[:2000]))
            count += 1
    print("%d runs, no signal" % count)


main(*sys.argv[1:])
