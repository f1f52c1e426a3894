"""What a failed compilation is called."""

import errno

import kept

FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


def describe(error):
    text = f"{type(error).__name__}: {error}"
    cause = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in FULL_DISK or "No space left on device" in str(cause):
            return {"error": "disk_full", "reason": text}
        if isinstance(cause, kept.UnsafeFolder):
            return {"error": "cache_refused", "reason": str(cause)}
        # torch's is of a GPU, and it need not be imported here.
        if isinstance(cause, MemoryError) or type(cause).__name__ == "OutOfMemoryError":
            return {"error": "out_of_memory", "reason": text}
        if type(cause).__name__ == "InvalidCxxCompiler":  # torch's; it need not be imported here
            return {"error": "no_compiler", "reason": text}
        cause = cause.__cause__ or cause.__context__
    return {"error": "failed", "reason": text}
