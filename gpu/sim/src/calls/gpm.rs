//! GPM: metrics between two samples. The simulator has no work that runs, so a sample holds the
//! metrics that the state says, and a pair of samples gives those of the second.

use std::ffi::{CStr, c_char};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpmMetric_t, nvmlGpmMetric_t__bindgen_ty_1, nvmlGpmSample_t, nvmlGpmSupport_t,
};

use crate::abi::Out;
use crate::code::{
    ARGUMENT_VERSION_MISMATCH, Answer, Code, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED,
};
use crate::entry::entries;
use crate::process;
use crate::view::GpuView;

/// `NVML_GPM_METRICS_GET_VERSION` and `NVML_GPM_SUPPORT_VERSION`: a plain number, no size in it.
const VERSION: u32 = 1;

/// What comes before the metrics, whose number differs from header to header.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct MetricsHeader {
    version: u32,
    count: u32,
    first: nvmlGpmSample_t,
    second: nvmlGpmSample_t,
}

/// Names and units of metrics that clients show.
const NAMED: &[(u32, &CStr, &CStr)] = &[
    (1, c"graphics_util", c"%"),
    (2, c"sm_util", c"%"),
    (3, c"sm_occupancy", c"%"),
    (5, c"any_tensor_util", c"%"),
    (10, c"dram_bw_util", c"%"),
    (11, c"fp64_util", c"%"),
    (12, c"fp32_util", c"%"),
    (13, c"fp16_util", c"%"),
    (20, c"pcie_tx_per_sec", c"MiB/s"),
    (21, c"pcie_rx_per_sec", c"MiB/s"),
    (60, c"nvlink_total_rx_per_sec", c"MiB/s"),
    (61, c"nvlink_total_tx_per_sec", c"MiB/s"),
];

entries! {
    fn nvmlGpmQueryDeviceSupport(call, device: nvmlDevice_t, support: Out<nvmlGpmSupport_t>) {
        let gpu = call.gpu(device)?;
        if support.tag()? != VERSION {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        support.set(nvmlGpmSupport_t {
            version: VERSION,
            isSupportedDevice: u32::from(gpu.gpm.is_some()),
        })
    }

    fn nvmlGpmSampleAlloc(_call, sample: Out<nvmlGpmSample_t>) {
        if sample.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        sample.set(process::with(|process| process.add_sample()))
    }

    fn nvmlGpmSampleFree(_call, sample: nvmlGpmSample_t) {
        process::with(|process| process.remove_sample(sample))
    }

    fn nvmlGpmSampleGet(call, device: nvmlDevice_t, sample: nvmlGpmSample_t) {
        take(&call.gpu(device)?, sample)
    }

    fn nvmlGpmMigSampleGet(call, device: nvmlDevice_t, instance: u32, sample: nvmlGpmSample_t) {
        let gpu = call.gpu(device)?;
        let mut instances = gpu.mig.iter().flat_map(|mig| &mig.instances);
        if !instances.any(|existing| existing.id == instance) {
            return Err(NOT_FOUND);
        }
        take(&gpu, sample)
    }

    fn nvmlGpmMetricsGet(_call, request: Out<MetricsHeader>) {
        metrics(request)
    }
}

fn take(gpu: &GpuView, sample: nvmlGpmSample_t) -> Answer {
    let metrics = gpu.gpm.clone().ok_or(NOT_SUPPORTED)?;
    process::with(|process| {
        *process.sample(sample)? = metrics;
        Ok(())
    })
}

fn metrics(request: Out<MetricsHeader>) -> Answer {
    let header = request.get()?;
    if header.version != VERSION {
        return Err(ARGUMENT_VERSION_MISMATCH);
    }
    let second = process::with(|process| {
        process.sample(header.first)?;
        process.sample(header.second).cloned()
    })?;
    let places = request.after::<nvmlGpmMetric_t>();
    for index in 0..usize::try_from(header.count).map_err(|_| INVALID_ARGUMENT)? {
        let place = places.at(index);
        let asked = place.get()?;
        let found: Result<f64, Code> = second.get(&asked.metricId).copied().ok_or(NOT_SUPPORTED);
        place.set(nvmlGpmMetric_t {
            nvmlReturn: found.map_or_else(|code| code.0, |_| 0),
            value: found.unwrap_or(0.0),
            metricInfo: names(asked.metricId),
            ..asked
        })?;
    }
    Ok(())
}

fn names(id: u32) -> nvmlGpmMetric_t__bindgen_ty_1 {
    let named = NAMED.iter().find(|(known, _, _)| *known == id);
    let (name, unit) = named.map_or((c"simulated", c""), |(_, name, unit)| (*name, *unit));
    // C has no const here, but callers only read.
    let text = |text: &'static CStr| -> *mut c_char { text.as_ptr().cast_mut() };
    nvmlGpmMetric_t__bindgen_ty_1 {
        shortName: text(name),
        longName: text(name),
        unit: text(unit),
    }
}
