"""Random operators keep the order of the program. They draw one after the other from the same generator, and nothing
but that ties them together, so a scheduler that is free to move them changes who gets which numbers; a dropped-out step
could then not be compared with eager's."""

import torch
from torch._inductor import ir, scheduler
from torch._inductor.virtualized import V


def is_random(node):
    kernel = node.node
    op = getattr(kernel, "op_overload", None)
    return isinstance(kernel, ir.ExternKernel) and op is not None and torch.Tag.nondeterministic_seeded in op.tags


def tie(nodes):
    before = None
    for node in filter(is_random, nodes):
        if before is not None:
            V.graph.additional_buffer_deps[node.get_name()].add(before.get_outputs()[0].get_name())
        before = node


def install():
    compute = scheduler.Scheduler.compute_dependencies

    def compute_dependencies(self):
        tie(self.nodes)
        compute(self)

    scheduler.Scheduler.compute_dependencies = compute_dependencies
