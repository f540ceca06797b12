"""Formats that are known by their first bytes and are not read."""

from __future__ import annotations

from jaxdoctor.storage.candidate import Candidate

MAGICS = (
    (0, b"GGUF", "GGUF"), (0, b"ggjt", "GGML"), (0, b"lmgg", "GGML"), (0, b"tjgg", "GGML"),
    (4, b"TFL3", "TFLite"), (0, b"ptrt", "TensorRT"), (0, b"PAR1", "Parquet"), (0, b"ARROW1", "Arrow"),
    (0, b"\x28\xb5\x2f\xfd", "Zstandard"), (0, b"\xfd7zXZ", "xz"), (0, b"BZh", "bzip2"),
    (0, b"7z\xbc\xaf", "7-Zip"), (0, b"\x1f\x8b", "gzip"), (0, b"\x04\x22\x4d\x18", "LZ4"),
    (257, b"ustar", "tar"), (0, b"PK\x03\x04", "zip"), (0, b"SQLite format 3", "SQLite"),
    (0, b"\x89PNG", "PNG"), (0, b"\x7fELF", "ELF"), (0, b"MATLAB 5.0", "MATLAB"),
)  # fmt: skip
"""Place, bytes there, and the name of the format."""

SUFFIXES = {
    ".onnx": "ONNX", ".gguf": "GGUF", ".ggml": "GGML", ".tflite": "TFLite", ".mlmodel": "Core ML",
    ".engine": "TensorRT", ".plan": "TensorRT", ".caffemodel": "Caffe", ".pdparams": "PaddlePaddle",
    ".pdopt": "PaddlePaddle", ".mindir": "MindSpore", ".joblib": "joblib",
}  # fmt: skip
"""Names under which only models are stored."""

ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


def foreign_format(found: Candidate) -> str | None:
    """The name of a format that is not read: "GGUF"; None: unknown."""
    head = found.head
    named = SUFFIXES.get(found.suffix.lower())
    packed = next((name for place, magic, name in MAGICS if head.startswith(magic, place)), None)
    if packed is None and head[:2] in ZLIB:
        packed = "zlib"
    if named == "joblib" and packed is not None:
        return f"joblib compressed by {packed}"
    return packed or named
