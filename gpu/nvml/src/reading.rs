//! Live figures of one GPU.

use gpu_model::{Reading, RecoveryAction, RemappedRows};
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, TemperatureSensor};

use crate::call::{Fault, ask, call, optional};
use crate::code::Code;
use crate::fields::RECOVERY_ACTION;
use crate::gpu::Gpu;

impl Gpu<'_> {
    /// One reading. What the GPU does not have or does not tell is left out; the reading fails only when
    /// the GPU or the driver does.
    pub fn reading(&self) -> Result<Reading, Fault> {
        let device = &self.device;
        let memory = call("nvmlDeviceGetMemoryInfo_v2", || device.memory_info());
        // Every GPU answers this one, so that here an unknown error is one of the GPU.
        if let Err(
            fault @ Fault {
                code: Code::UNKNOWN,
                ..
            },
        ) = memory
        {
            return Err(fault);
        }
        let busy = optional(call("nvmlDeviceGetUtilizationRates", || {
            device.utilization_rates()
        }))?;
        Ok(Reading {
            memory_used: optional(memory)?.map(|memory| memory.used),
            utilization: busy.as_ref().map(|busy| busy.gpu),
            memory_utilization: busy.as_ref().map(|busy| busy.memory),
            temperature: optional(call("nvmlDeviceGetTemperature", || {
                device.temperature(TemperatureSensor::Gpu)
            }))?,
            power: optional(call("nvmlDeviceGetPowerUsage", || device.power_usage()))?,
            power_limit: optional(call("nvmlDeviceGetEnforcedPowerLimit", || {
                device.enforced_power_limit()
            }))?,
            sm_clock: optional(call("nvmlDeviceGetClockInfo", || {
                device.clock_info(Clock::SM)
            }))?,
            memory_clock: optional(call("nvmlDeviceGetClockInfo", || {
                device.clock_info(Clock::Memory)
            }))?,
            clock_reasons: self.clock_reasons()?,
            recovery: self.recovery()?,
            ecc_uncorrected: self.ecc_errors(MemoryError::Uncorrected)?,
            ecc_corrected: self.ecc_errors(MemoryError::Corrected)?,
            remapped: self.remapped_rows()?,
            processes: self.processes()?,
        })
    }

    fn clock_reasons(&self) -> Result<Option<u64>, Fault> {
        let mut reasons = 0;
        let told = optional(ask!(
            self.library,
            nvmlDeviceGetCurrentClocksEventReasons,
            |function| {
                // SAFETY: the handle came from the library, which is still loaded; the number is writable.
                unsafe { function(self.handle(), &raw mut reasons) }
            }
        ))?;
        Ok(told.map(|()| reasons))
    }

    fn recovery(&self) -> Result<Option<RecoveryAction>, Fault> {
        let told = optional(self.fields([RECOVERY_ACTION]))?;
        let action = told
            .and_then(|[action]| action.ok())
            .and_then(|it| u32::try_from(it).ok());
        Ok(action.map(|number| match number {
            0 => RecoveryAction::None,
            1 => RecoveryAction::GpuReset,
            2 => RecoveryAction::NodeReboot,
            3 => RecoveryAction::DrainP2p,
            4 => RecoveryAction::DrainAndReset,
            other => RecoveryAction::Other(other),
        }))
    }

    fn ecc_errors(&self, kind: MemoryError) -> Result<Option<u64>, Fault> {
        optional(call("nvmlDeviceGetTotalEccErrors", || {
            self.device.total_ecc_errors(kind, EccCounter::Volatile)
        }))
    }

    fn remapped_rows(&self) -> Result<Option<RemappedRows>, Fault> {
        let (mut correctable, mut uncorrectable, mut pending, mut failed) = (0, 0, 0, 0);
        let told = optional(ask!(self.library, nvmlDeviceGetRemappedRows, |function| {
            // SAFETY: the handle came from the library, which is still loaded; the numbers are writable.
            unsafe {
                function(
                    self.handle(),
                    &raw mut correctable,
                    &raw mut uncorrectable,
                    &raw mut pending,
                    &raw mut failed,
                )
            }
        }))?;
        Ok(told.map(|()| RemappedRows {
            correctable,
            uncorrectable,
            pending: pending != 0,
            failed: failed != 0,
        }))
    }
}
