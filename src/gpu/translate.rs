//! The text or binary that a driver would receive: WGSL translated by naga, without a GPU.

use naga::back::{hlsl, msl, spv};
use naga::valid::{Capabilities, ValidationFlags, Validator};

use super::{Checks, fault};
use crate::error::{Error, Result};

/// A language in which a kernel can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// The assembled WGSL itself.
    Wgsl,
    /// SPIR-V 1.3 (Vulkan), little-endian words.
    SpirV,
    /// Metal shading language.
    Msl,
    /// HLSL, shader model 6 (DirectX 12).
    Hlsl,
}

impl Language {
    /// All languages with their file extensions.
    pub const ALL: [(Language, &'static str); 4] =
        [(Self::Wgsl, "wgsl"), (Self::SpirV, "spv"), (Self::Msl, "msl"), (Self::Hlsl, "hlsl")];
}

/// Validates `text` and translates it, with the capabilities of WebGPU's baseline, and f64 for
/// SPIR-V, the only one that has it.
///
/// # Errors
/// [`Error::Shader`] with the compiler's message, pointing into the text.
pub fn translate(name: &str, text: &str, language: Language, checks: Checks) -> Result<Vec<u8>> {
    let failed = |problem: String| Error::Shader { name: name.to_owned(), problem };
    let module =
        naga::front::wgsl::parse_str(text).map_err(|error| failed(fault::unread(&error, text)))?;
    let capabilities = match language {
        Language::Wgsl | Language::SpirV => Capabilities::FLOAT64,
        Language::Msl | Language::Hlsl => Capabilities::empty(),
    };
    let info = Validator::new(ValidationFlags::all(), capabilities | Capabilities::SUBGROUP)
        .subgroup_stages(naga::valid::ShaderStages::COMPUTE)
        .subgroup_operations(naga::valid::SubgroupOperationSet::all())
        .validate(&module)
        .map_err(|error| failed(fault::invalid(&error, text)))?;
    let policy = match checks {
        Checks::Off => naga::proc::BoundsCheckPolicy::Unchecked,
        Checks::On => naga::proc::BoundsCheckPolicy::Restrict,
    };
    let policies = naga::proc::BoundsCheckPolicies {
        index: policy,
        buffer: policy,
        image_load: policy,
        ..Default::default()
    };
    let loop_bounding = checks == Checks::On;
    match language {
        Language::Wgsl => Ok(text.as_bytes().to_vec()),
        Language::SpirV => {
            let options = spv::Options {
                bounds_check_policies: policies,
                force_loop_bounding: loop_bounding,
                zero_initialize_workgroup_memory: if checks == Checks::On {
                    spv::ZeroInitializeWorkgroupMemoryMode::Polyfill
                } else {
                    spv::ZeroInitializeWorkgroupMemoryMode::None
                },
                lang_version: (1, 3),
                ..Default::default()
            };
            let words = spv::write_vec(&module, &info, &options, None)
                .map_err(|error| failed(error.to_string()))?;
            Ok(bytemuck::cast_slice(&words).to_vec())
        }
        Language::Msl => {
            let options = msl::Options {
                bounds_check_policies: policies,
                force_loop_bounding: loop_bounding,
                zero_initialize_workgroup_memory: checks == Checks::On,
                fake_missing_bindings: true,
                lang_version: (2, 1),
                ..Default::default()
            };
            let pipeline = msl::PipelineOptions::default();
            let (text, _) = msl::write_string(&module, &info, &options, &pipeline)
                .map_err(|error| failed(error.to_string()))?;
            Ok(text.into_bytes())
        }
        Language::Hlsl => {
            let options = hlsl::Options {
                shader_model: hlsl::ShaderModel::V6_0,
                restrict_indexing: checks == Checks::On,
                force_loop_bounding: loop_bounding,
                zero_initialize_workgroup_memory: checks == Checks::On,
                fake_missing_bindings: true,
                ..Default::default()
            };
            let pipeline = hlsl::PipelineOptions::default();
            let mut text = String::new();
            hlsl::Writer::new(&mut text, &options, &pipeline)
                .write(&module, &info, None)
                .map_err(|error| failed(error.to_string()))?;
            Ok(text.into_bytes())
        }
    }
}
