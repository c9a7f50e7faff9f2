"""Runs a Dockerfile's steps without Docker: each stage is a root made with debootstrap, RUN is a command in it. What it does
not know it refuses, so that no step is passed over in silence."""

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Stage:
    base: str
    name: str
    steps: list = field(default_factory=list)  # (instruction, rest of the line)


@dataclass
class Image:
    """What a stage says about the container, beside the files."""

    user: str = "root"
    workdir: str = "/"
    environment: dict = field(default_factory=dict)
    entrypoint: list = field(default_factory=list)
    command: list = field(default_factory=list)
    ports: list = field(default_factory=list)
    healthcheck: str = ""


def parse(text: str) -> list[Stage]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    stages = []
    for line in re.sub(r"\\\n", "", "\n".join(lines)).splitlines():
        instruction, rest = line.strip().split(maxsplit=1)
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(base, name.strip()))
        else:
            assert stages, f"Dockerfile: found {instruction} before any FROM"
            stages[-1].steps.append((instruction, rest))
    return stages


def copy(root, rest: str, image: Image, sources: dict[str, Path], context) -> None:
    words = shlex.split(rest)
    origin = context
    if words[0].startswith("--from="):
        folder = sources[words.pop(0).removeprefix("--from=")]
        origin = lambda pattern: sorted(folder.glob(pattern.lstrip("/")))  # noqa: E731
    *patterns, target = words
    destination = root.path(str(Path(image.workdir) / target))
    destination.mkdir(parents=True, exist_ok=True)
    for pattern in patterns:
        found = origin(pattern)
        assert found, f"Dockerfile: COPY {rest}: {pattern} names nothing"
        for path in found:
            if path.is_dir():
                shutil.copytree(path, destination / path.name, symlinks=True)
            else:
                shutil.copy(path, destination / path.name)


def run_stage(stage: Stage, root, sources: dict[str, Path], context, report) -> Image:
    """sources: the folders of earlier stages; context(pattern): paths of the folder that the image is built from;
    report(text): told each step."""
    assert re.fullmatch(r"debian:\w+-slim", stage.base), f"Dockerfile: FROM {stage.base} is no Debian"
    image = Image()
    for instruction, rest in stage.steps:
        report(f"{instruction} {rest}")
        if instruction == "RUN":
            root.run("sh", "-c", rest, cwd=image.workdir, timeout=7200, **image.environment)
        elif instruction == "COPY":
            copy(root, rest, image, sources, context)
        elif instruction == "WORKDIR":
            image.workdir = rest
            root.path(rest).mkdir(parents=True, exist_ok=True)
        elif instruction == "ENV":
            image.environment |= dict(word.split("=", 1) for word in shlex.split(rest))
        elif instruction == "USER":
            image.user = rest
        elif instruction == "EXPOSE":
            image.ports += rest.split()
        elif instruction == "HEALTHCHECK":
            image.healthcheck = rest.partition("CMD ")[2]
        elif instruction == "ENTRYPOINT":
            image.entrypoint = json.loads(rest)
        elif instruction == "CMD":
            image.command = json.loads(rest)
        else:
            raise AssertionError(f"Dockerfile: found {instruction}, which these tests do not know")
    return image


def tracked_files(project: Path):
    """A context: `.` is what git has, which .dockerignore leaves over."""
    def context(pattern: str) -> list[Path]:
        assert pattern == ".", f"Dockerfile: COPY {pattern}: only . is known"
        names = subprocess.run(["git", "-C", project, "ls-files"], capture_output=True, text=True, check=True).stdout
        return sorted({project / name.split("/")[0] for name in names.splitlines()})

    return context
