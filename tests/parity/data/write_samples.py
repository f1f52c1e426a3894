"""Writes arrays and pictures with numpy and Pillow into a folder, and beside each what those packages read back from it.

usage: write_samples.py FOLDER
"""
import pathlib
import sys

import numpy as np
from PIL import Image, PngImagePlugin

folder = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(7)

# Arrays: each case is an .npz, with x as float32 and y as int64 in row-major order in NAME.x and NAME.y.
TYPES = ["<f2", "<f4", "<f8", ">f4", ">f8", "i1", "<i2", "<i4", "<i8", ">i4", "u1", "<u2", "<u4", "<u8", ">u2", "?"]
for number, name in enumerate(TYPES):
    x = (rng.standard_normal((6, 2, 3, 5)) * 40).astype(np.dtype(name))
    y = rng.integers(0, 9, 6).astype(["<i8", ">i4", "u1", "<f4"][number % 4])
    layout = np.asfortranarray if number % 2 else np.ascontiguousarray
    save = np.savez_compressed if number % 3 else np.savez
    save(folder / f"array{number}.npz", x=layout(x), y=y)
    x.astype("<f4").tofile(folder / f"array{number}.x")
    y.astype("<i8").tofile(folder / f"array{number}.y")
print(len(TYPES))

# Pictures: NAME, NAME.rgb (height x width x 3), NAME.grey, NAME.small (resized to 7 x 7).
base = rng.integers(0, 256, (6, 9, 3), dtype=np.uint8)
smooth = Image.fromarray(base).resize((61, 43), Image.BICUBIC)
gamma = PngImagePlugin.PngInfo()
gamma.add(b"gAMA", (100000).to_bytes(4, "big"))
pictures = {
    "rgb.png": (smooth, {}),
    "grey.png": (smooth.convert("L"), {}),
    "palette.png": (smooth.quantize(16), {}),
    "alpha.png": (Image.merge("RGBA", (*smooth.split(), smooth.convert("L"))), {}),
    "one_bit.png": (smooth.convert("1"), {}),
    "interlaced.png": (smooth, {"interlace": 1}),
    "gamma.png": (smooth, {"pnginfo": gamma}),
    "rgb.jpg": (smooth, {"quality": 90}),
    "best.jpg": (smooth, {"quality": 100, "subsampling": 0}),
    "progressive.jpg": (smooth, {"quality": 60, "progressive": True}),
    "grey.jpg": (smooth.convert("L"), {}),
    "tiny.jpg": (smooth.resize((3, 5)), {}),
}
for name, (picture, options) in pictures.items():
    picture.save(folder / name, **options)
    rgb = Image.open(folder / name).convert("RGB")
    (folder / (name + ".size")).write_text(f"{rgb.width} {rgb.height}")
    (folder / (name + ".rgb")).write_bytes(rgb.tobytes())
    (folder / (name + ".grey")).write_bytes(rgb.convert("L").tobytes())
    (folder / (name + ".small")).write_bytes(rgb.resize((7, 7), Image.BILINEAR).tobytes())
    (folder / (name + ".large")).write_bytes(rgb.resize((90, 90), Image.BILINEAR).tobytes())
print(" ".join(pictures))
