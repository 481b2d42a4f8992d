"""What a RUN holds, without what clocks say."""
import hashlib
import json

TIMED = {"seconds", "speed"}


def tensors_digest(path):
    """Of a checkpoint: every tensor but the one that a clock fills."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        bytes_ = file.read()
    digest = hashlib.sha256()
    for name in sorted(header):
        if name not in ("__metadata__", "seconds"):
            begin, end = header[name]["data_offsets"]
            digest.update(f"{name} {header[name]['dtype']} {header[name]['shape']}".encode() + bytes_[begin:end])
    return digest.hexdigest()


def metrics_digest(path):
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split(",") for line in file]
    kept = [i for i, name in enumerate(rows[0]) if name not in TIMED and not name.startswith("milliseconds/")]
    return hashlib.sha256(repr([[row[i] for i in kept] for row in rows]).encode()).hexdigest()


def of_run(run):
    """What a training leaves in its folder, part by part."""
    return {"checkpoint": tensors_digest(run + "/checkpoint.safetensors"), "metrics": metrics_digest(run + "/metrics.csv")}
