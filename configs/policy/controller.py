"""A controller for policy.kind: process (docs/controller.md); it needs nothing but Python. After every fifth epoch it
germinates a seed in the first free slot, and asks for a seed's next stage once it was in one for three epochs."""
import hashlib, hmac, json, os, socket, time

NEXT = {"GERMINATED": "START_TRAINING", "TRAINING": "START_GRAFTING", "BLENDING": "STABILIZE",
        "SHADOWING": "EVALUATE", "PROBATIONARY": "FOSSILIZE"}


class Run:
    """The run's side: descriptor 3 is a socket with a line of JSON for each message, 4 has the key."""

    def __init__(self):
        self.key = b"".join(iter(lambda: os.read(4, 32), b""))
        self.socket = socket.socket(fileno=3)
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.sequence = 0

    def send(self, purpose, message):
        text = json.dumps(message)
        code = hmac.new(self.key, f"esper {purpose} 1\n{text}".encode(), hashlib.sha256).hexdigest()
        self.socket.sendall(f"{code} {text}\n".encode())

    def command(self, command_id, operation, seed="", slot="", blueprint="", reason=""):
        self.sequence += 1
        now = time.time_ns()
        self.send("command", {
            "version": 1, "command_id": command_id, "command_type": "SEED", "target_seed_id": seed,
            "issued_by": "controller.py", "issued_at_ns": now, "expires_at_ns": now + 30_000_000_000,
            "sequence": self.sequence, "execution_deadline_ms": 0, "annotations": {"reason": reason},
            "seed_operation": {"operation": operation, "slot": slot, "blueprint_id": blueprint, "parameters": {}}})


def decide(seen, state):
    """What to do, each as operation, seed, slot, blueprint; why; and what to remember until the next epoch."""
    commands = [(NEXT[seed["stage"]], seed["seed_id"], "", "") for seed in seen["seed_states"]
                if seed["stage"] in NEXT and seed["stage_epochs"] >= 3 and not seen["is_last"]]
    free = [slot for slot in seen["slots"] if slot["stage"] == "DORMANT" and slot["blueprints"]]
    epochs = state.get("epochs_without", 0) + 1
    if free and epochs >= 5 and not seen["germination_barred"] and not seen["is_last"]:
        commands.append(("GERMINATE", "", free[0]["slot"], free[0]["blueprints"][0]))
        epochs = 0
    return commands, f"{epochs} epochs since a germination", {"epochs_without": epochs}


def main():
    run = Run()
    run.send("answer", {"number": json.loads(run.lines.readline())["number"]})  # ready
    for question in map(json.loads, run.lines):
        seen = question["observation"]
        commands, reason, state = decide(seen, question["state"])
        for number, (operation, seed, slot, blueprint) in enumerate(commands):
            command_id = f"{seen['training_run_id']}-e{seen['current_epoch']}-{number}"
            run.command(command_id, operation, seed, slot, blueprint, reason)
        run.send("answer", {"number": question["number"], "commands": len(commands), "reason": reason, "state": state})


if __name__ == "__main__":
    main()
