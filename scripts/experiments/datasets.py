"""What `scripts/experiment` trains on: each seed draws its own training, validation and test part.

Training and policy see the first two. The test part is read by `esper evaluate` alone, when a run is over."""
import gzip
import hashlib
import os
import pathlib
import random
import shutil
import tarfile
import zlib

IMAGES_HELP = "CIFAR-10 as images: a folder or .tar.gz with train/CLASS/*.jpg and test/CLASS/*.jpg"
COUNTS = {"cifar10": {"train": 4000, "validation": 1000}, "cifar10_16": {"train": 2000, "validation": 1000},
          "cifar10_full": {"train": 45000, "validation": 5000}}
DIGITS_INSTEAD = "; or --dataset digits, which needs nothing"
DIGITS_TRAIN, DIGITS_VALIDATION = 1079, 359  # of 1797; the 359 that are left are the test part


class BadInput(Exception):
    """The user's mistake or a missing piece; the text names the remedy."""


def shuffled(items, seed):
    items = list(items)
    random.Random(seed).shuffle(items)
    return items


def whole(folder, make):
    """Makes `folder` with make(unfinished folder) unless it is there already; a half-made one never counts."""
    if folder.exists():
        return folder
    unfinished = folder.with_name(folder.name + ".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    make(unfinished)
    unfinished.rename(folder)
    return folder


def write_digits(folder, lines, seed):
    lines = shuffled(lines, seed)
    cuts = (0, DIGITS_TRAIN, DIGITS_TRAIN + DIGITS_VALIDATION, len(lines))
    for name, begin, end in zip(("train", "validation", "test"), cuts, cuts[1:]):
        (folder / f"{name}.csv").write_text("".join(lines[begin:end]))


def digits_parts(root, work, seed):
    """{train, validation, test: (path, samples)} of one seed."""
    source = root / "data/digits/digits.csv.gz"
    if not source.exists():
        raise BadInput(f"{source} is missing; restore it from the repository: git checkout data/digits")
    lines = gzip.open(source, "rt").readlines()
    folder = whole(work / f"data/digits-{seed}", lambda made: write_digits(made, lines, seed))
    return {name: folder / f"{name}.csv" for name in ("train", "validation", "test")}


def extract(images, folder):
    """Files and folders that lie within `folder`, and nothing else. Debian 12's Python has no tarfile.data_filter."""
    try:
        with tarfile.open(images) as archive:
            if hasattr(tarfile, "data_filter"):
                archive.extractall(folder, filter="data")
                return
            for member in archive:
                path = pathlib.PurePosixPath(member.name)
                if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
                    raise BadInput(f"--images {images}: it has {member.name}, which is not a file or folder within it")
                member.mode = 0o755 if member.isdir() else 0o644
                archive.extract(member, folder, set_attrs=False)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise BadInput(f"--images {images}: it cannot be unpacked ({error})") from error


def unpacked(images, work, instead=""):
    """The folder that holds train/CLASS/ and test/CLASS/; an archive is unpacked once."""
    if images is None:
        raise BadInput(f"CIFAR-10 needs its images: --images FOLDER (or .tar.gz) with train/CLASS/*.jpg and test/CLASS/*.jpg{instead}")
    images = pathlib.Path(images).resolve()
    if images.is_file() and tarfile.is_tarfile(images):
        stamp = images.stat()
        images = whole(work / f"data/images-{stamp.st_size}-{int(stamp.st_mtime)}", lambda made: extract(images, made))
    for part in ("train", "test"):
        if not (images / part).is_dir():
            raise BadInput(f"--images {images}: it has no folder {part}; it must contain train/CLASS/ and test/CLASS/")
    return images


def images_by_class(folder):
    found = {entry.name: sorted(p for p in entry.iterdir() if p.suffix in (".jpg", ".png"))
             for entry in sorted(folder.iterdir()) if entry.is_dir()}
    if len(found) < 2 or not all(found.values()):
        raise BadInput(f"{folder} must contain a folder of images (.jpg, .png) for each class")
    return found


def link_images(folder, classes, counts, seed):
    """Disjoint parts with equally many images of each class."""
    for name, images in classes.items():
        begin, chosen = 0, shuffled(images, f"{seed} {name}")
        for part, count in counts.items():
            end = begin + count // len(classes)
            if end > len(chosen):
                raise BadInput(f"class {name} has {len(chosen)} training images; {end} are needed")
            (folder / part / name).mkdir(parents=True)
            for image in chosen[begin:end]:
                os.symlink(image, folder / part / name / image.name)
            begin = end


def image_parts(images, work, seed, counts):
    """Training and validation part are drawn from the training images; the test part is all test images."""
    images = unpacked(images, work)
    source = hashlib.sha256(f"{images} {counts}".encode()).hexdigest()[:8]
    folder = work / f"data/cifar10-{source}-{seed}"
    whole(folder, lambda made: link_images(made, images_by_class(images / "train"), counts, seed))
    return {"train": folder / "train", "validation": folder / "validation", "test": images / "test"}


def counts_of(parts):
    """How many samples each part has: lines of a file, or images of a folder."""
    return {part: sum(1 for _ in open(path)) if path.is_file() else sum(1 for _ in path.glob("*/*")) for part, path in parts.items()}
