"""Reads a simulated 8xH200 machine through pynvml. Arguments: path of gpusim, its state folder."""

import os
import subprocess
import sys

import pynvml as nvml

gpusim, state = sys.argv[1:3]


def simulate(*arguments):
    subprocess.run([gpusim, "--state", state, *arguments], check=True, stdout=subprocess.DEVNULL)


def refused(code, call, *arguments):
    try:
        call(*arguments)
    except nvml.NVMLError as error:
        assert error.value == code, f"{call.__name__}: {error}"
        return
    raise AssertionError(f"{call.__name__} was not refused")


nvml.nvmlInit()
assert nvml.nvmlSystemGetDriverVersion(), "a driver version"
assert nvml.nvmlDeviceGetCount() == 8
gpus = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(8)]
uuids = [nvml.nvmlDeviceGetUUID(gpu) for gpu in gpus]
assert len(set(uuids)) == 8 and all(uuid.startswith("GPU-") for uuid in uuids), uuids
for index, gpu in enumerate(gpus):
    assert "H200" in nvml.nvmlDeviceGetName(gpu)
    assert nvml.nvmlDeviceGetMinorNumber(gpu) == index
    assert nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByUUID(uuids[index])) == uuids[index]
    memory = nvml.nvmlDeviceGetMemoryInfo(gpu)
    assert memory.total > 140 * 10**9 and memory.used + memory.free <= memory.total, str(memory)
    address = nvml.nvmlDeviceGetPciInfo(gpu).busId
    same = nvml.nvmlDeviceGetHandleByPciBusId(address)
    assert nvml.nvmlDeviceGetUUID(same) == uuids[index]
    assert nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU) > 0
    assert nvml.nvmlDeviceGetPowerUsage(gpu) > 0
    assert nvml.nvmlDeviceGetUtilizationRates(gpu).gpu <= 100
refused(nvml.NVML_ERROR_INVALID_ARGUMENT, nvml.nvmlDeviceGetHandleByIndex, 8)
links = [nvml.nvmlDeviceGetNvLinkState(gpus[0], link) for link in range(18)]
assert all(links), links

# A process: this one stands for it.
assert nvml.nvmlDeviceGetComputeRunningProcesses(gpus[1]) == []
simulate("process", "add", "1", "--pid", str(os.getpid()), "--memory", str(2**30))
(process,) = nvml.nvmlDeviceGetComputeRunningProcesses(gpus[1])
assert process.pid == os.getpid() and process.usedGpuMemory == 2**30, str(process)

# Partitions.
assert nvml.nvmlDeviceGetMigMode(gpus[2]) == [0, 0]
nvml.nvmlDeviceSetMigMode(gpus[2], 1)
assert nvml.nvmlDeviceGetMigMode(gpus[2])[0] == 1
profile = nvml.nvmlDeviceGetGpuInstanceProfileInfo(gpus[2], nvml.NVML_GPU_INSTANCE_PROFILE_3_SLICE)
for _ in range(2):
    instance = nvml.nvmlDeviceCreateGpuInstance(gpus[2], profile.id)
    info = nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(
        instance,
        nvml.NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE,
        nvml.NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED,
    )
    nvml.nvmlGpuInstanceCreateComputeInstance(instance, info.id)
refused(
    nvml.NVML_ERROR_INSUFFICIENT_RESOURCES, nvml.nvmlDeviceCreateGpuInstance, gpus[2], profile.id
)
migs = [nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpus[2], index) for index in range(2)]
assert len({nvml.nvmlDeviceGetUUID(mig) for mig in migs}) == 2
for mig in migs:
    assert nvml.nvmlDeviceGetUUID(mig).startswith("MIG-")
    assert 0 < nvml.nvmlDeviceGetMemoryInfo(mig).total < memory.total
    parent = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)
    assert nvml.nvmlDeviceGetUUID(parent) == uuids[2]
refused(nvml.NVML_ERROR_NOT_FOUND, nvml.nvmlDeviceGetMigDeviceHandleByIndex, gpus[2], 2)

# Events.
events = nvml.nvmlEventSetCreate()
kinds = nvml.nvmlDeviceGetSupportedEventTypes(gpus[3])
assert kinds & nvml.nvmlEventTypeXidCriticalError
nvml.nvmlDeviceRegisterEvents(gpus[3], nvml.nvmlEventTypeXidCriticalError, events)
refused(nvml.NVML_ERROR_TIMEOUT, nvml.nvmlEventSetWait_v2, events, 50)
simulate("xid", "3", "79")
event = nvml.nvmlEventSetWait_v2(events, 5000)
assert event.eventType == nvml.nvmlEventTypeXidCriticalError and event.eventData == 79
assert nvml.nvmlDeviceGetUUID(event.device) == uuids[3]
nvml.nvmlEventSetFree(events)

nvml.nvmlShutdown()
refused(nvml.NVML_ERROR_UNINITIALIZED, nvml.nvmlDeviceGetCount)
print("pynvml is content")
