"""libludus through cffi: the declarations are those of the header that lies beside the library."""

import os
import re
import signal
import threading
from pathlib import Path

import cffi
import numpy as np

ABI = 5

ffi = cffi.FFI()


class Error(Exception):
    """What Ludus refuses or fails at.

    Attributes:
        message: what went wrong, in one line.
        file: the file that is to blame, ``None`` where none is.
        line, column: the place in it, ``None`` where it is the file as a whole.
        status: the name of the status, e.g. ``"ERROR_INPUT"``.
    """

    def __init__(self, message, file=None, line=None, column=None, status="ERROR_INPUT"):
        place = "".join(f"{part}:" for part in (file, line, column) if part is not None)
        place += " " if place else ""
        super().__init__(place + message)
        self.message, self.file, self.line, self.column, self.status = message, file, line, column, status

    def __reduce__(self):
        return Error, (self.message, self.file, self.line, self.column, self.status)


def _find():
    """The library and its header: of the installed package, of LUDUS_LIBRARY, or of the source tree around."""
    here = Path(__file__).resolve().parent
    source_header = here.parent.parent / "include" / "ludus" / "ludus.h"
    header = here / "ludus.h" if (here / "ludus.h").exists() else source_header
    library = os.environ.get("LUDUS_LIBRARY")
    library = Path(library) if library else here / "libludus.so"
    if not library.exists():
        raise ImportError(f"{library}: libludus is not there; install the package (pip install .) or set LUDUS_LIBRARY")
    return library, header


def declarations(header: str) -> str:
    """The C declarations of ludus.h without what only a preprocessor and a C++ compiler read."""
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    header = re.sub(r'#ifdef __cplusplus.*?#endif', "", header, flags=re.S)
    lines = [line for line in header.splitlines() if not line.lstrip().startswith("#")]
    return "\n".join(lines).replace("LUDUS_API ", "")


_path, _header = _find()
_text = _header.read_text()
_raised = int(re.search(r"#define LUDUS_ABI (\d+)", _text).group(1))
if _raised != ABI:
    raise ImportError(f"{_header}: its ABI number is {_raised}, this package is made for {ABI}")
ffi.cdef(declarations(_text))


def _load():
    """The library, with threads of OpenMP that soon sleep where they have nothing to do: beside other programs those that
    spin, as they do unless the environment tells them otherwise while they are loaded, make everything several times as
    slow. The program `ludus` has the same. What the user has chosen stands, and the environment is left as it was."""
    if {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        return ffi.dlopen(str(_path))
    os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        return ffi.dlopen(str(_path))
    finally:
        del os.environ["GOMP_SPINCOUNT"]


lib = _load()
if lib.ludus_abi() != ABI:
    raise ImportError(f"{_path}: its ABI number is {lib.ludus_abi()}, this package is made for {ABI}")

version = ffi.string(lib.ludus_version()).decode()

DTYPES = {lib.LUDUS_UINT8: np.dtype(np.uint8), lib.LUDUS_INT32: np.dtype(np.int32),
          lib.LUDUS_FLOAT32: np.dtype(np.float32)}
KINDS = {lib.LUDUS_VECTOR: "vector", lib.LUDUS_GRAPH: "graph", lib.LUDUS_GRID: "grid", lib.LUDUS_TEXT: "text",
         lib.LUDUS_MASK: "mask"}
ROLES = {lib.LUDUS_ROLE_NONE: None, lib.LUDUS_ROLE_HUMAN: "human", lib.LUDUS_ROLE_ROBOT: "robot"}

# Statuses by number; LUDUS_INTERRUPTED is raised as KeyboardInterrupt by whoever asked for it.
_NAMES = {getattr(lib, name): name.removeprefix("LUDUS_")
          for name in ("LUDUS_ERROR_INPUT", "LUDUS_ERROR_IO", "LUDUS_ERROR_MEMORY", "LUDUS_ERROR_LIMIT",
                       "LUDUS_ERROR_UNSUPPORTED", "LUDUS_ERROR_NUMERIC", "LUDUS_INTERRUPTED")}


def text(chars):
    """A C string, or ``None``."""
    return None if chars == ffi.NULL else ffi.string(chars).decode()


def fail(status, error):
    """Raises what a call has reported."""
    file = ffi.string(error.file).decode()
    raise Error(ffi.string(error.message).decode(), file or None, error.line or None if file else None,
                error.column or None if file else None, _NAMES.get(status, str(status)))


def call(function, *arguments):
    """Calls a function that takes the error last; raises `Error`. The interpreter's lock is free meanwhile."""
    error = ffi.new("ludus_error *")
    status = function(*arguments, error)
    if status:
        fail(status, error)


def check(status, what):
    """For functions without an error argument, whose arguments this package has checked before."""
    if status:
        raise Error(f"{what}: out of range", status=_NAMES.get(status, str(status)))


def long_call(function, *arguments):
    """`call` for long work without callbacks: it runs beside the main thread, so that Ctrl-C stops it."""
    if threading.current_thread() is not threading.main_thread() or \
            signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return call(function, *arguments)
    raised = []

    def work():
        try:
            call(function, *arguments)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work, name="ludus")
    thread.start()
    interrupted = False
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt:
            interrupted = True
            lib.ludus_interrupt(True)
    if interrupted:
        lib.ludus_interrupt(False)
        raise KeyboardInterrupt
    if raised:
        raise raised[0]


def owned(handle, free, *kept):
    """The handle, which is freed with its last reference; `kept` handles live at least as long."""
    return ffi.gc(handle, lambda it, _kept=kept: free(it))


def taken_text(chars):
    """Text that a function has returned, and given back."""
    try:
        return ffi.string(chars).decode()
    finally:
        lib.ludus_free(chars)


class _Memory:
    """Memory of a handle, for NumPy: arrays made of it keep the handle alive."""

    def __init__(self, owner, address, shape, dtype, strides):
        self._owner = owner
        self.__array_interface__ = {"version": 3, "data": (address, True), "shape": shape, "typestr": dtype.str,
                                    "strides": strides}


def view(owner, pointer, shape, dtype, strides=None):
    """A read-only array over library memory, without a copy."""
    dtype = np.dtype(dtype)
    if 0 in shape:
        return np.zeros(shape, dtype)
    return np.asarray(_Memory(owner, int(ffi.cast("uintptr_t", pointer)), tuple(shape), dtype, strides))


def pointer(array, kind):
    """The address of an array for C, which must not outlive it."""
    return ffi.NULL if array is None else ffi.cast(kind, array.ctypes.data)


def writable(array, shape, dtype, what):
    """A caller's array (NumPy, or anything with DLPack or the buffer protocol) as a view that C may write to."""
    view_of = array if isinstance(array, np.ndarray) else \
        np.from_dlpack(array) if hasattr(array, "__dlpack__") else np.asarray(array)
    if view_of.shape != tuple(shape) or view_of.dtype != dtype:
        raise Error(f"{what}: expected {np.dtype(dtype).name}{list(shape)}, found "
                    f"{view_of.dtype.name}{list(view_of.shape)}")
    if not view_of.flags.c_contiguous:
        raise Error(f"{what}: expected a contiguous array")
    if not view_of.flags.writeable:
        # np.from_dlpack marks what it imports as read-only before NumPy 2.1; the memory is the caller's all the same
        base = view_of
        view_of = np.frombuffer(ffi.buffer(pointer(base, "char *"), base.nbytes), base.dtype).reshape(base.shape) \
            if hasattr(array, "__dlpack__") and not isinstance(array, np.ndarray) else None
        if view_of is None:
            raise Error(f"{what}: expected an array that may be written to")
    return view_of
