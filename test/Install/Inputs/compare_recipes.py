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


def copies_of(section):
    """(source, destination) of each line: Apptainer takes two words, and drops what follows."""
    lines = [
        line for head, body in headed if head == section for line in body.splitlines()
    ]
    copies = [tuple(line.split()) for line in lines if line.startswith("    ")]
    for copy in copies:
        assert len(copy) == 2, (
            f"{section}: wanted a source and a destination, found {copy}"
        )
    return copies


assert docker_commands == commands, (docker_commands, commands)
assert docker_images == images, (docker_images, images)
copies = copies_of("%files from build")
assert docker_copies == set(copies), (docker_copies, copies)
sources = copies_of("%files")
assert sources
for name, place in sources:
    assert (root / name).exists(), name
    assert place == f"{SOURCES}/{name}", (name, place)
for command in commands[:2]:
    assert (root / command.split()[0]).exists(), command
print(len(commands), "commands")
