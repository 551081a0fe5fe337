"""Compiles models at stages 0 to 3 and runs each on a simulated device:
check_models.py OUTPUT "COMPILE|FLAGS" "CHECK FLAGS|OTHERS" MODEL..."""

import subprocess
import sys


def main():
    output, compile_flags, check_flags, *models = sys.argv[1:]
    for model in models:
        for stage in range(4):
            command = ["zero-compile", model, "--emit=program", "-o", output]
            command += [f"--stage={stage}"] + compile_flags.split("|")
            subprocess.run(command, check=True)
            for flags in check_flags.split("|"):
                command = ["zero-device-check"] + flags.split() + [output]
                subprocess.run(command, check=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"check_models.py: {' '.join(error.cmd)}: exit code {error.returncode}")
