//! The results of a driver's compiler for a kernel, as stored in a record.

use serde::{Deserialize, Serialize};

use crate::inspect::{Report, RoomLimit};

/// Numbers of a [`Report`]; `None` if the driver does not provide them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compiled {
    /// Machine instructions per interaction in the loop over the sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_interaction: Option<f64>,
    /// Vector instructions per interaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_per_interaction: Option<f64>,
    /// Registers per thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<u64>,
    /// Registers spilled to memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spilled: Option<u64>,
    /// Bytes of workgroup memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workgroup_memory: Option<u64>,
    /// Threads per subgroup; 0 if not reported.
    pub subgroup_size: u32,
    /// Subgroups that fit one SIMD unit at once: the occupancy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subgroups_per_simd: Option<u64>,
    /// The computed limit on their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<RoomLimit>,
}

impl Compiled {
    /// The numbers of a report.
    pub fn of(report: &Report) -> Self {
        let inner = report.inner_loop.as_ref();
        Self {
            per_interaction: report.per_interaction(),
            vector_per_interaction: inner.map(|inner| inner.vector_per_interaction()),
            registers: report.registers(),
            spilled: report.spilled(),
            workgroup_memory: report.workgroup_memory(),
            subgroup_size: report.subgroup_size,
            subgroups_per_simd: report.subgroups_per_simd(),
            limited_by: report.room(report.variant.config.threads()).map(|room| room.limit),
        }
    }

    /// The first impossible value, if any; for reading foreign files.
    pub(super) fn fault(&self) -> Option<String> {
        let counts = [self.per_interaction, self.vector_per_interaction];
        let sound = |x: &f64| x.is_finite() && *x >= 0.0 && *x < 1e9;
        (!counts.iter().flatten().all(sound))
            .then(|| "its instructions per interaction are not a count".to_owned())
    }
}
