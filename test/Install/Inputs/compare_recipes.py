"""Compares the commands and the copied files of the Dockerfile and the Apptainer recipe.

Usage: compare_recipes.py <root of the sources>
"""

import pathlib
import re
import sys

SOURCES = "/src/zero"


def words_of(text):
    """The commands of a shell script, each with single blanks."""
    lines = text.replace("\\\n", " ").splitlines()
    commands = [part for line in lines for part in re.split(r"&&|^RUN ", line)]
    return [" ".join(command.split()) for command in commands if command.strip()]


root = pathlib.Path(sys.argv[1])
folder = root / "tools" / "container"
docker = (folder / "Dockerfile").read_text()
steps = docker.replace("\\\n", " ").splitlines()
docker_commands = words_of("\n".join(step for step in steps if step.startswith("RUN ")))
docker_images = [step.split()[1] for step in steps if step.startswith("FROM ")]
docker_copies = {
    tuple(step.split()[2:]) for step in steps if step.startswith("COPY --from=build")
}

recipe = (folder / "Apptainer.def").read_text()
sections = re.split(r"^(%\w+.*)$", recipe, flags=re.MULTILINE)
headed = list(zip(sections[1::2], sections[2::2]))
bodies = [
    re.split(r"^Bootstrap:", body, flags=re.MULTILINE)[0]
    for head, body in headed
    if head.startswith("%post")
]
commands = [
    command
    for body in bodies
    for command in words_of(body)
    if command != f"cd {SOURCES}"
]
images = re.findall(r"^From: (\S+)$", recipe, flags=re.MULTILINE)
copies = {
    tuple(line.split())
    for head, body in headed
    if head == "%files from build"
    for line in body.splitlines()
    if line.startswith("    ")
}

assert docker_commands == commands, (docker_commands, commands)
assert docker_images == images, (docker_images, images)
assert docker_copies == copies, (docker_copies, copies)
sources = next(body for head, body in headed if head == "%files").split()
assert sources.pop() == SOURCES
for name in sources:
    assert (root / name).exists(), name
for command in commands[:2]:
    assert (root / command.split()[0]).exists(), command
print(len(commands), "commands")
