"""Files that one job creates and later ones reuse: precompiled headers, object files, a probe's answer.

They become part of the programs that Esper loads. So one is used only if every folder that leads to it belongs to this
user and nobody else may write there, if it is a regular file with one name, and if the code beside it (FILE.mac:
HMAC-SHA256 of its name and contents, under the user's key) is right. Any other is rebuilt, and reported.
"""

import contextlib
import fcntl
import hashlib
import hmac
import os
import stat

CHUNK = 1 << 20
verified = {}  # verified files: path -> identity(); a new process need not read them again


class UnsafeFolder(Exception):
    pass


def problem_of(facts):
    """The problem as text; None if only this user can have created it."""
    if stat.S_ISLNK(facts.st_mode):
        return "it is a symbolic link, and links are not followed here"
    if facts.st_uid != os.geteuid():
        return "it belongs to another user"
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "a group or others can write to it"
    if stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1:
        return "it has several names (hard links)"
    return None


def identity(facts):
    """Changes whenever a file is replaced or written to."""
    return [facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns]


def check_folder(folder):
    facts = os.lstat(folder)
    problem = problem_of(facts) or (None if stat.S_ISDIR(facts.st_mode) else "it is not a folder")
    if problem:
        way_out = "set another cache folder with --cache-dir or ESPER_CACHE"
        raise UnsafeFolder(f"{folder} cannot be used: {problem}; {way_out}")


class Kept:
    def __init__(self, root, key):
        self.root = root
        self.key = bytes.fromhex(key)
        self.not_used = []

    def check_folders(self, place):
        """From the root down to the one that `place` lies in."""
        folder = os.path.dirname(place)
        while len(folder) >= len(self.root):
            check_folder(folder)
            folder = os.path.dirname(folder)

    def make_folders(self, place):
        """Down to the one that `place` lies in, each after the one above it was found to be this user's alone."""
        folder = self.root
        if not os.path.lexists(folder):
            os.makedirs(folder, 0o700, exist_ok=True)  # those above it are not checked here
        check_folder(folder)
        for name in os.path.relpath(os.path.dirname(place), self.root).split(os.sep):
            folder = os.path.join(folder, name)
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            check_folder(folder)

    def holds(self, place):
        """Whether the file exists and was created by this user."""
        if not os.path.lexists(place):
            return False
        self.check_folders(place)
        if verified.get(place) == identity(os.lstat(place)):
            return True
        try:
            with self.locked(fcntl.LOCK_SH):
                code, file = read(place + ".mac"), opened(place)
            with file:
                right = hmac.compare_digest(code, self.mac(file, place))
                facts = os.fstat(file.fileno())
        except OSError:
            right = False
        if right:
            verified[place] = identity(facts)
        elif place not in self.not_used:
            self.not_used.append(place)
        return right

    def take(self, made, place):
        """Moves the file `made` there."""
        self.check_folders(place)
        with opened(made) as file:
            code = self.mac(file, place)
        with open(made + ".mac", "wb") as file:
            file.write(code)
        with self.locked(fcntl.LOCK_EX):
            os.replace(made + ".mac", place + ".mac")
            os.replace(made, place)

    @contextlib.contextmanager
    def locked(self, how):
        """Makes a file and its code change together for all processes. Held for two calls."""
        hold = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(hold, how)
            yield
        finally:
            os.close(hold)

    def mac(self, file, place):
        """The code of the open file as the file `place`."""
        mac = hmac.new(self.key, os.path.relpath(place, self.root).encode() + b"\0", hashlib.sha256)
        while chunk := file.read(CHUNK):
            mac.update(chunk)
        return mac.hexdigest().encode()


def opened(path):
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    facts = os.fstat(file.fileno())
    if problem_of(facts) or not stat.S_ISREG(facts.st_mode):
        file.close()
        raise OSError(f"{path} is not this user's own file")
    return file


def read(path):
    with opened(path) as file:
        return file.read(CHUNK)
