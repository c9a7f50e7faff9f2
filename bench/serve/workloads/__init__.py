"""All workloads by name. A new one is a Workload in one of these files, or in a file more."""

from . import agents, disk, load_tool, memory, neighbours, one_stream, speed

WORKLOADS = {w.name: w for room in (speed, agents, neighbours, memory, disk, one_stream, load_tool) for w in room.WORKLOADS}
