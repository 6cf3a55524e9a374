"""CPU class: names what an engine picks its kernels by."""

import platform

from tasks.inference import cpu


def test_the_kernel_class_starts_with_the_architecture_and_lists_vector_units_in_order() -> None:
    machine, *flags = cpu.cpu_kernel_class().split()
    assert machine == platform.machine().lower()
    assert flags == sorted(set(flags))


def test_only_flags_of_vector_units_count() -> None:
    kept = [flag for flag in ("avx512f", "fma", "smep", "sme2", "asimddp", "hypervisor") if cpu.VECTOR_FLAG.match(flag)]
    assert kept == ["avx512f", "fma", "sme2", "asimddp"]


def test_numpy_and_the_kernel_agree_on_avx512_where_both_report() -> None:
    linux, numpy = cpu._linux_flags(), cpu._numpy_flags()
    if not linux or "x86" not in platform.machine():
        return
    assert ("avx512f" in linux) == any(flag in numpy for flag in ("x86_v4", "avx512_skx", "avx512f"))
