#!/usr/bin/env python3
"""What every CUDA kernel takes of a multiprocessor, as ptxas says: registers, spills, shared memory, and the occupancy that follows.

usage: occupancy.py GENERATED [PAGE]      GENERATED: the build's folder of generated headers; PAGE: write the tables there
Ends with 1 where a kernel spills. Run by `make occupancy`.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

# Of a multiprocessor: warps, blocks, registers, bytes of shared memory (CUDA C++ Programming Guide, "Technical Specifications per
# Compute Capability"). Registers are given to warps in units of 256, shared memory in units of 128 bytes, and the system keeps 1 KiB a block.
PROCESSORS = {
    "sm_80": ("A100", 64, 32, 65536, 164 * 1024),
    "sm_90": ("H100, H200", 64, 32, 65536, 228 * 1024),
    "sm_100": ("B200", 64, 32, 65536, 228 * 1024),
}
THREADS = 256  # of every block: THREADS of kernels/cuda/cuda.cuh; transpose has 32 x 8

def occupancy(processor, registers, shared):
    """Share of a multiprocessor's warps that can live at once, by the scarcest of blocks, registers and shared memory."""
    _, warps, blocks, all_registers, all_shared = PROCESSORS[processor]
    of_block = THREADS // 32
    by_registers = all_registers // (-(-registers * 32 // 256) * 256) // of_block
    by_shared = all_shared // (-(-(shared + 1024) // 128) * 128)
    return min(blocks, warps // of_block, by_registers, by_shared) * of_block / warps

def compile_one(source, processor, generated):
    """[(kernel, registers, spilled, shared and stack bytes)] of a source."""
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(
            ["nvcc", "-std=c++17", "--fmad=false", "--extended-lambda", "-cubin", f"-arch={processor}", "-I.", f"-I{generated}",
             "-Xptxas=-v", "-o", os.path.join(folder, "out.cubin"), source],
            capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"{source}, {processor}:\n{made.stderr}")
    said = subprocess.run(["c++filt"], input=made.stderr, capture_output=True, text=True).stdout
    rows = []
    for part in said.split("Compiling entry function '")[1:]:
        registers = int(re.search(r"Used (\d+) registers", part).group(1))
        spills = sum(int(n) for n in re.findall(r"(\d+) bytes spill", part))
        shared = sum(int(n) for n in re.findall(r"(\d+) bytes smem", part))
        stack = max(int(n) for n in re.findall(r"(\d+) bytes stack frame", part))
        rows.append((name_of(part.split("'")[0]), registers, spills, shared, stack))
    return rows

def name_of(signature):
    """`softmax`, or `transpose_kernel` where a kernel is no lambda of an operation."""
    inside = re.search(r"each(?:_warp)?_kernel<(.*)$", signature)
    if not inside:
        return re.search(r"([A-Za-z_0-9]+)(?:<.*?>)?\(", signature).group(1)
    names = re.findall(r"([A-Za-z_0-9]+)(?:<[^<>]*>)?\(", inside.group(1))
    return next(n for n in names if n != "lambda")

def measure(generated):
    sources = sorted(s for s in subprocess.run(["git", "ls-files", "*.cu"], capture_output=True, text=True, check=True).stdout.split())
    jobs = [(source, processor) for source in sources for processor in PROCESSORS]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (source, processor), rows in zip(jobs, pool.map(lambda j: compile_one(*j, generated), jobs)):
            count = {}
            for kernel, registers, spills, shared, stack in sorted(rows):
                count[kernel] = count.get(kernel, 0) + 1
                name = kernel if count[kernel] == 1 else f"{kernel} ({count[kernel]})"
                found.setdefault((source, name), {})[processor] = (registers, spills, shared, stack)
    return found

def table(found):
    lines = ["| kernel | registers | shared, bytes | stack, bytes | occupancy |", "|---|---|---|---|---|"]
    source = None
    for (where, name), of in sorted(found.items()):
        if where != source:
            source = where
            lines.append(f"| **{where}** | | | | |")
        registers = [str(of[p][0]) for p in PROCESSORS]
        shares = [f"{100 * occupancy(p, of[p][0], of[p][2]):.0f}" for p in PROCESSORS]
        shared, stack = (max(of[p][k] for p in PROCESSORS) for k in (2, 3))
        lines.append(f"| {name} | {', '.join(registers) if len(set(registers)) > 1 else registers[0]} | {shared or ''} | {stack or ''} | "
                     f"{', '.join(shares) if len(set(shares)) > 1 else shares[0]} % |")
    return lines

def page(found, compiler):
    all_rows = [(p, *of[p]) for of in found.values() for p in PROCESSORS]
    spilled = sum(1 for row in all_rows if row[2])
    full = {p: sum(1 for of in found.values() if occupancy(p, of[p][0], of[p][2]) == 1) for p in PROCESSORS}
    names = ", ".join(f"{p} ({PROCESSORS[p][0]})" for p in PROCESSORS)
    return "\n".join([
        "# What kernels take of a GPU", "",
        f"Registers and stack a thread, shared memory a block and theoretical occupancy of each of the {len(found)} CUDA kernels, as `ptxas` of {compiler} says",
        f"for {names}, in this order where they differ. `make occupancy` writes this page. It needs nvcc and no GPU; how fast kernels are it",
        "does not say.", "",
        "Occupancy is the share of a multiprocessor's 64 warps that can live at once. All blocks have 256 threads; registers are the scarce thing:",
        "32 a thread let all 64 warps live, 40 let 48, 64 let 32. Limits are those of the CUDA C++ Programming Guide, \"Technical",
        "Specifications per Compute Capability\". Products are cuBLAS's and not listed. `grid_conv_kernel` also takes dynamic shared memory, 4 bytes",
        "and a list of set channels for each cell of its images, as many as the device lets a block have. The stack is local memory of a thread: the",
        "particle world steps an environment in rows of numbers that lie there, small worlds in a small stack.", "",
        (f"**No kernel spills** into local memory. " if not spilled else f"**{spilled} kernels spill.** ") +
        "Kernels with full occupancy: " + ", ".join(f"{full[p]} on {p}" for p in PROCESSORS) + ".", "",
        *table(found), ""])

def main():
    generated = sys.argv[1]
    compiler = re.search(r"release ([0-9.]+)", subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout).group(1)
    found = measure(generated)
    spills = [(p, where, name, of[p][1]) for (where, name), of in found.items() for p in PROCESSORS if of[p][1]]
    text = page(found, f"CUDA {compiler}")
    if len(sys.argv) > 2:
        with open(sys.argv[2] + ".partial", "w") as out:
            out.write(text)
        os.replace(sys.argv[2] + ".partial", sys.argv[2])
        print(f"{sys.argv[2]}: {len(found)} kernels for {', '.join(PROCESSORS)}")
    else:
        print(text)
    for processor, where, name, spilled in spills:
        print(f"{where}: {name} spills {spilled} bytes on {processor}", file=sys.stderr)
    return bool(spills)

if __name__ == "__main__":
    sys.exit(main())
