//! The text or binary that a driver would receive: WGSL translated by naga, without a GPU. An error
//! is one line: where, what, and the line of the text.

use naga::back::{hlsl, msl, spv};
use naga::front::wgsl::ParseError;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{SourceLocation, WithSpan};

use super::Checks;
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
        naga::front::wgsl::parse_str(text).map_err(|error| failed(unread(&error, text)))?;
    let capabilities = match language {
        Language::Wgsl | Language::SpirV => Capabilities::FLOAT64,
        Language::Msl | Language::Hlsl => Capabilities::empty(),
    };
    let info = Validator::new(ValidationFlags::all(), capabilities | Capabilities::SUBGROUP)
        .subgroup_stages(naga::valid::ShaderStages::COMPUTE)
        .subgroup_operations(naga::valid::SubgroupOperationSet::all())
        .validate(&module)
        .map_err(|error| failed(invalid(&error, text)))?;
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

/// A fault of a text: where, from 1 on (0 if unknown), and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line.
    pub line: u32,
    /// The column, in bytes.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

/// The first fault of a text, if it is not WGSL or not valid.
pub fn fault(text: &str) -> Option<Fault> {
    let at = |place: Option<SourceLocation>, message: String| {
        let (line, column) = place.map_or((0, 0), |place| (place.line_number, place.line_position));
        Some(Fault { line, column, message })
    };
    let module = match naga::front::wgsl::parse_str(text) {
        Ok(module) => module,
        Err(error) => {
            let labels = error.labels().map(|(_, label)| label);
            let words = [error.message()].into_iter().chain(labels);
            return at(error.location(text), pointed(words, None, text));
        }
    };
    match Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module) {
        Ok(_) => None,
        Err(error) => at(error.location(text), reasons(&error).join(", ")),
    }
}

/// The most characters shown of a line of the text.
const MOST_CHARS: usize = 100;

/// The error for a text that is not WGSL.
fn unread(error: &ParseError, text: &str) -> String {
    let labels = error.labels().map(|(_, label)| label);
    let words = [error.message()].into_iter().chain(labels).chain(error.notes());
    pointed(words, error.location(text), text)
}

/// The error for a text that is WGSL but not valid.
fn invalid<E: std::error::Error>(error: &WithSpan<E>, text: &str) -> String {
    let words = reasons(error);
    pointed(words.iter().map(String::as_str), error.location(text), text)
}

fn reasons<E: std::error::Error>(error: &WithSpan<E>) -> Vec<String> {
    let mut words = vec![error.as_inner().to_string()];
    let mut because = error.as_inner().source();
    while let Some(reason) = because {
        words.push(reason.to_string());
        because = reason.source();
    }
    words.extend(error.spans().map(|(_, label)| label.clone()));
    words
}

/// `line 35, column 17: WHAT, WHY; in 'THE LINE'`.
fn pointed<'a>(
    words: impl Iterator<Item = &'a str>,
    place: Option<SourceLocation>,
    text: &str,
) -> String {
    let mut message: Vec<&str> = Vec::new();
    for word in words.map(str::trim).filter(|word| !word.is_empty()) {
        if !message.contains(&word) {
            message.push(word);
        }
    }
    let message = message.join(", ");
    let Some(SourceLocation { line_number, line_position, .. }) = place else { return message };
    let line = text.lines().nth(line_number.saturating_sub(1) as usize).unwrap_or_default().trim();
    let shown: String = line.chars().take(MOST_CHARS).collect();
    let more = if shown.len() < line.len() { "…" } else { "" };
    format!("line {line_number}, column {line_position}: {message}; in '{shown}{more}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shader_error_is_one_line_with_position() {
        let message_of = |text: &str| {
            let translated = translate("mine.wgsl", text, Language::Wgsl, Checks::Off);
            translated.unwrap_err().to_string()
        };
        let text = message_of("const A = 1;\n  fn f(x: vek3<f32>) -> f32 { return 1.0; }\n");
        assert!(text.starts_with("shader mine.wgsl: line 2, column 11: no definition"), "{text}");
        assert!(text.contains("`vek3`") && text.contains("in 'fn f(x: vek3<f32>)"), "{text}");
        // Parses, but is not valid.
        let text = message_of("@compute @workgroup_size(0)\nfn main() {}\n");
        assert!(text.contains("orkgroup"), "{text}");
        let text = message_of(&format!("fn f() -> f32 {{ return {}; }}", "1.0 + ".repeat(60)));
        assert!(text.len() < 400 && text.contains("line 1") && text.contains('…'), "{text}");
        for text in [message_of("fn"), message_of("fn f() {\n\n"), message_of("\u{1F300}")] {
            assert!(text.starts_with("shader mine.wgsl: ") && !text.contains('\n'), "{text}");
        }
    }
}
