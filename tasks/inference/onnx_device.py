"""Devices that an encoder's graph may run on, and what a fingerprint says of one."""

import ctypes
import importlib.metadata
from enum import StrEnum

from schemas.audit import Device
from tasks.inference.cpu import cpu_kernel_class

# the same kernels at every call: no search by timing, no rounding to tf32
CUDA_OPTIONS = {"device_id": "0", "cudnn_conv_algo_search": "DEFAULT", "use_tf32": "0", "tunable_op_enable": "0"}
_DRIVER = "libcuda.so.1"
_LIBRARIES = ("nvidia-cublas", "nvidia-cudnn", "nvidia-cuda-runtime")
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*


class Provider(StrEnum):
    """ONNX Runtime's name for each device."""

    CPU = "CPUExecutionProvider"
    CUDA = "CUDAExecutionProvider"


def device_facts(device: Device) -> dict[str, str]:
    """What makes a device choose its kernels, as public strings."""
    if device is Device.CPU:
        return {"cpu": cpu_kernel_class()}
    return {"device": _describe_cuda_device(), "device_libraries": _cuda_libraries()}


def _describe_cuda_device() -> str:
    """Name, compute capability and driver of the first CUDA device. Raises OSError where there is none."""
    driver = ctypes.CDLL(_DRIVER)
    device, version, name = ctypes.c_int(0), ctypes.c_int(0), ctypes.create_string_buffer(256)
    major, minor = ctypes.c_int(0), ctypes.c_int(0)
    driver.cuInit(0)
    failures = (
        driver.cuDriverGetVersion(ctypes.byref(version)),
        driver.cuDeviceGet(ctypes.byref(device), 0),
        driver.cuDeviceGetName(name, len(name), device),
        driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device),
        driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device),
    )
    if any(failures):
        raise OSError("the CUDA driver does not describe its first device")
    numbers = f"{major.value}.{minor.value}"
    return f"{name.value.decode(errors='replace')}, compute capability {numbers}, driver {version.value}"


def _cuda_libraries() -> str:
    """The CUDA libraries that are installed as packages, by name and version; others are the machine's own."""
    found = {
        f"{name} {package.version}"
        for package in importlib.metadata.distributions()
        if (name := str(package.metadata["Name"]).lower()).startswith(_LIBRARIES)
    }
    return ", ".join(sorted(found)) or "the machine's own"
