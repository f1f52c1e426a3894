"""The grafts whose worth `scripts/experiment evidence` knows: good, useless and harmful ones on several tasks. Chosen before any was run."""
import dataclasses

SMALL_MLP = ("host.kind=mlp", "host.hidden=[8, 8]", "data.shape=[]")
LARGE_MLP = ("host.kind=mlp", "host.hidden=[128, 128]", "data.shape=[]")
LARGE_CNN = {"digits": ("host.base_channels=48",), "cifar10_16": ("host.base_channels=16",)}
SLOW = ("growth.seed_schedule.scale=0.01",)  # a learning rate at which a seed hardly learns
FAST = ("growth.seed_schedule.scale=10",)    # and one at which it does harm
EARLY, LATE = 0.1, 0.7                       # of the run's epochs


@dataclasses.dataclass(frozen=True)
class Graft:
    task: str       # configs/experiment/growth_TASK.yaml
    slot: str
    blueprint: str
    at: float = EARLY
    sets: tuple = ()
    what: str = ""

    def name(self):
        return f"{self.slot}={self.blueprint}" + (f", {self.what}" if self.what else "")


def of_cnn_on_digits():
    task = "digits"
    for blueprint in ("conv_heavy", "conv_light", "depthwise", "bottleneck", "attention", "norm", "pointwise", "noop"):
        yield Graft(task, "r0c0", blueprint)
    yield Graft(task, "r0c0", "conv_heavy", LATE, what="late")
    yield Graft(task, "r0c0", "conv_heavy", sets=SLOW, what="slow")
    yield Graft(task, "r0c0", "conv_heavy", sets=FAST, what="fast")
    yield Graft(task, "r0c0", "conv_light", sets=LARGE_CNN[task], what="large host")
    yield Graft(task, "r0c0", "norm", sets=LARGE_CNN[task], what="large host")


def of_mlp_on_digits():
    task = "digits"
    for slot, blueprint in (("r0c0", "mlp"), ("r0c1", "mlp"), ("r0c1", "linear"), ("r0c0", "mlp_small"), ("r0c1", "norm"), ("r0c0", "attention"),
                            ("r0c1", "noop")):
        yield Graft(task, slot, blueprint, sets=SMALL_MLP, what="mlp")
    yield Graft(task, "r0c1", "mlp", LATE, SMALL_MLP, "mlp, late")
    yield Graft(task, "r0c1", "mlp", sets=(*SMALL_MLP, *SLOW), what="mlp, slow")
    yield Graft(task, "r0c1", "mlp", sets=(*SMALL_MLP, *FAST), what="mlp, fast")
    yield Graft(task, "r0c1", "mlp", sets=LARGE_MLP, what="large mlp")
    yield Graft(task, "r0c0", "lora", sets=LARGE_MLP, what="large mlp")
    yield Graft(task, "r0c1", "norm", sets=LARGE_MLP, what="large mlp")


def of_cifar10():
    task = "cifar10_16"
    for slot, blueprint in (("r0c2", "conv_light"), ("r0c1", "conv_light"), ("r0c0", "conv_light"), ("r0c2", "conv_heavy"), ("r0c1", "depthwise"),
                            ("r0c2", "bottleneck"), ("r0c2", "pointwise"), ("r0c1", "attention"), ("r0c1", "norm"), ("r0c2", "noop")):
        yield Graft(task, slot, blueprint)
    yield Graft(task, "r0c2", "conv_light", LATE, what="late")
    yield Graft(task, "r0c1", "conv_light", sets=SLOW, what="slow")
    yield Graft(task, "r0c1", "conv_heavy", sets=FAST, what="fast")
    yield Graft(task, "r0c2", "conv_light", sets=LARGE_CNN[task], what="large host")


GRAFTS = (*of_cnn_on_digits(), *of_mlp_on_digits(), *of_cifar10())
