"""All text readers, in the order they are tried. A new reader is added here and nowhere else."""

from __future__ import annotations

from rocsteady.facts import (
    amd_smi,
    collect_env,
    container_documents,
    container_run,
    engine_launch,
    environment,
    hip_tools,
    kernel_modules_text,
    kubectl_describe,
    ls_devices,
    lspci,
    machine_text,
    notes,
    package_lists,
    pasted_files,
    product_versions,
    python_packages,
    python_prints,
    rocm_smi,
    rocminfo,
    uname,
)
from rocsteady.facts.readers import TextReader

TEXT_READERS: tuple[TextReader, ...] = (
    notes.READER,
    environment.READER,
    container_run.READER,
    container_documents.READER,
    engine_launch.READER,
    kubectl_describe.DESCRIBE,
    kubectl_describe.GET,
    kubectl_describe.LABELS,
    rocminfo.READER,
    rocm_smi.READER,
    amd_smi.READER,
    hip_tools.READER,
    collect_env.READER,
    python_packages.READER,
    python_prints.READER,
    product_versions.READER,
    lspci.READER,
    ls_devices.READER,
    kernel_modules_text.READER,
    machine_text.READER,
    package_lists.READER,
    pasted_files.READER,
    uname.READER,
)
