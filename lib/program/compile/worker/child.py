"""The process of one job: forked from the worker, or a Python of its own."""

import ctypes
import json
import os
import signal
import threading

import kept
import reasons

MAX_REASON = 4000
PR_SET_PDEATHSIG = 1


def prctl(option, value):
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def die_with_parent(wanted):
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL if wanted else 0)


def take(number):
    """Standard input or output as a descriptor that no program started from here inherits; silence takes the place of
    both."""
    taken = os.dup(number)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nothing, standard)
    os.close(nothing)
    return taken


def run(request, job_folder, store, pipe):
    """Never returns."""
    die_with_parent(True)
    writing = threading.Lock()

    def report(message):
        data = (json.dumps(message) + "\n").encode()
        with writing:
            while data:
                data = data[os.write(pipe, data):]

    try:
        if request["device"] != "cpu":
            import card

            card.prepare(job_folder)
        import job

        answer = job.compile_program(request, job_folder, store, report)
    except BaseException as error:  # any failure must be reported to the parent
        answer = reasons.describe(error)
        answer["reason"] = answer["reason"][-MAX_REASON:]
    answer["not_used"] = store.not_used
    answer["verified"] = kept.verified
    try:
        report(answer)
    finally:
        os._exit(0)


def begin():
    """In a Python of its own: standard input says what is to be done, standard output takes the reports."""
    with open(0, "rb", closefd=False) as file:
        message = json.load(file)
    kept.verified.update(message["verified"])
    store = kept.Kept(message["headers"], message["request"]["mac_key"])
    run(message["request"], message["folder"], store, take(1))
