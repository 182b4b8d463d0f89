//! The structs that shaders share with the host, alone in this file. A test compares every size and
//! offset with what naga makes of `shaders/body.wgsl` and of `params.wgsl` in
//! `shaders/direct/`, `blocks/` and `diagnostics/`.

use bytemuck::{Pod, Zeroable};

/// Bytes of one `vec4<f32>`: of a position, a velocity, an acceleration or a partial sum.
pub const VEC4: u64 = 16;

/// `self_offset` of a [`ForceParams`]: no sink is a source.
pub const FOREIGN: u32 = u32::MAX;
/// `self_offset` of a [`ForceParams`]: the sink's w holds the bits of its source's number.
pub const IN_SINK: u32 = u32::MAX - 1;

/// Which part of the (sink, source) square one dispatch computes. See `shaders/body.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct ForceParams {
    pub sink_begin: u32,
    pub sink_end: u32,
    pub sink_count: u32,
    pub source_count: u32,
    pub slice_length: u32,
    pub chunk_begin: u32,
    pub chunk_end: u32,
    pub self_offset: u32,
    pub softening_squared: f32,
    pub close_kick: f32,
    pub open_kick: f32,
    pub drift: f32,
    pub zero: u32,
    pub unused: [u32; 3],
}

/// One pass of the leapfrog kernel. See `shaders/body.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct LeapfrogParams {
    pub count: u32,
    pub slices: u32,
    pub close_kick: f32,
    pub open_kick: f32,
    pub drift: f32,
    pub zero: u32,
    pub unused: [u32; 2],
}

/// Steps of all bodies in one workgroup. See `shaders/body.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct StepsParams {
    pub count: u32,
    pub steps: u32,
    pub per_row: u32,
    pub zero: u32,
    pub kick: f32,
    pub drift: f32,
    pub softening_squared: f32,
    pub unused: u32,
}

/// One dispatch of forces with derivatives. See `shaders/direct/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct DirectParams {
    pub sink_begin: u32,
    pub sink_end: u32,
    pub sink_count: u32,
    pub source_count: u32,
    pub slice_length: u32,
    pub chunk_begin: u32,
    pub chunk_end: u32,
    pub capacity: u32,
    pub softening_squared: f32,
    pub softening_low: f32,
    pub softening_lowest: f32,
    pub segments: u32,
    pub zero: u32,
    pub unused: [u32; 3],
}

/// New values of some sources. See `shaders/direct/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct ScatterParams {
    pub count: u32,
    pub words: u32,
    pub unused: [u32; 2],
}

/// What the blocks of a run have in common. See `shaders/blocks/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct BlockParams {
    pub count: u32,
    pub few: u32,
    pub few_p: u32,
    pub few_q: u32,
    pub few_tile: u32,
    pub many_p: u32,
    pub many_q: u32,
    pub many_tile: u32,
    pub fill: u32,
    pub piece: u32,
    pub pieces: u32,
    pub stride: u32,
    pub softening_squared: f32,
    pub softening_low: f32,
    pub softening_lowest: f32,
    pub tick: f32,
    pub pull: f32,
    pub pull_low: f32,
    pub pull_lowest: f32,
    pub eta: f32,
    pub eta6: f32,
    pub noise_acceleration: f32,
    pub noise_jerk: f32,
    pub room: u32,
}

/// Where blocks stand. See `shaders/blocks/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct BlockState {
    pub now: [u32; 2],
    pub next: [u32; 2],
    pub end: [u32; 2],
    pub body_steps: [u32; 2],
    pub blocks: u32,
    pub members: u32,
    pub last_members: u32,
    pub taken: u32,
    pub lost: u32,
    pub too_short: u32,
    pub least: f32,
    pub lengthened: u32,
    pub lengthened_levels: u32,
    pub levels: [u32; 47],
}

impl Default for BlockState {
    fn default() -> Self {
        Self::zeroed()
    }
}

/// What the kernels of diagnostics have in common. See `shaders/diagnostics/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct DiagnosisParams {
    pub count: u32,
    pub slices: u32,
    pub unused: [u32; 2],
}

/// Bodies whose centre and radii are wanted. See `shaders/diagnostics/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct DiagnosisGroup {
    pub centre: [f32; 3],
    pub radius_squared: f32,
    pub weight: f32,
    pub each: f32,
    pub units: f32,
    pub whole: u32,
    pub least: u32,
    pub first_chunk: u32,
    pub end_chunk: u32,
    pub round: u32,
    pub done: u32,
    pub digit: u32,
    pub unused: [u32; 2],
    pub found: [u32; 4],
    pub left: [u32; 4],
}

/// Members of a group for one workgroup. See `shaders/diagnostics/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct DiagnosisChunk {
    pub group: u32,
    pub begin: u32,
    pub end: u32,
    pub listed: u32,
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    /// The files that hold them.
    const FILES: [&str; 4] = [
        include_str!("../../shaders/body.wgsl"),
        include_str!("../../shaders/direct/params.wgsl"),
        include_str!("../../shaders/blocks/params.wgsl"),
        include_str!("../../shaders/diagnostics/params.wgsl"),
    ];

    /// Offsets and size of a struct as naga lays it out.
    fn shader_layout(name: &str) -> (Vec<(String, u32)>, u32) {
        let parse = |text| naga::front::wgsl::parse_str(text).expect("a file of structs");
        let modules = FILES.map(parse);
        let mut types = modules.iter().flat_map(|module| module.types.iter());
        let found = types.find(|(_, kind)| kind.name.as_deref() == Some(name));
        let (_, kind) = found.unwrap_or_else(|| panic!("a file should define {name}"));
        let naga::TypeInner::Struct { members, span } = &kind.inner else {
            panic!("{name} should be a struct")
        };
        let offsets = members.iter().map(|m| (m.name.clone().unwrap_or_default(), m.offset));
        (offsets.collect(), *span)
    }

    macro_rules! assert_same_layout {
        ($host:ident, $($field:ident),+) => {
            let (shader, span) = shader_layout(stringify!($host));
            let host = [$((stringify!($field), offset_of!($host, $field) as u32)),+];
            for (shader, host) in shader.iter().zip(host) {
                assert_eq!((shader.0.as_str(), shader.1), host, "in {}", stringify!($host));
            }
            assert_eq!(span as usize, size_of::<$host>(), "size of {}", stringify!($host));
        };
    }

    #[test]
    fn host_and_shader_agree() {
        assert_same_layout!(
            ForceParams,
            sink_begin,
            sink_end,
            sink_count,
            source_count,
            slice_length,
            chunk_begin,
            chunk_end,
            self_offset,
            softening_squared,
            close_kick,
            open_kick,
            drift,
            zero
        );
        assert_same_layout!(
            StepsParams,
            count,
            steps,
            per_row,
            zero,
            kick,
            drift,
            softening_squared
        );
        assert_same_layout!(
            DirectParams,
            sink_begin,
            sink_end,
            sink_count,
            source_count,
            slice_length,
            chunk_begin,
            chunk_end,
            capacity,
            softening_squared,
            softening_low,
            softening_lowest,
            segments,
            zero
        );
        assert_same_layout!(ScatterParams, count, words);
        assert_same_layout!(
            BlockParams,
            count,
            few,
            few_p,
            few_q,
            few_tile,
            many_p,
            many_q,
            many_tile,
            fill,
            piece,
            pieces,
            stride,
            softening_squared,
            softening_low,
            softening_lowest,
            tick,
            pull,
            pull_low,
            pull_lowest,
            eta,
            eta6,
            noise_acceleration,
            noise_jerk,
            room
        );
        assert_same_layout!(
            BlockState,
            now,
            next,
            end,
            body_steps,
            blocks,
            members,
            last_members,
            taken,
            lost,
            too_short,
            least,
            lengthened,
            lengthened_levels,
            levels
        );
        assert_same_layout!(DiagnosisChunk, group, begin, end, listed);
        assert_same_layout!(
            DiagnosisGroup,
            centre,
            radius_squared,
            weight,
            each,
            units,
            whole,
            least,
            first_chunk,
            end_chunk,
            round,
            done,
            digit
        );
        let (fields, _) = shader_layout("DiagnosisGroup");
        let at = |name: &str| fields.iter().find(|field| field.0 == name).unwrap().1 as usize;
        assert_eq!(at("found"), offset_of!(DiagnosisGroup, found));
        assert_eq!(at("left"), offset_of!(DiagnosisGroup, left));
        assert_same_layout!(DiagnosisParams, count, slices);
        assert_same_layout!(LeapfrogParams, count, slices, close_kick, open_kick, drift, zero);
    }

    #[test]
    fn special_offsets_agree() {
        let [text, direct, ..] = FILES;
        for text in [text, direct] {
            assert!(text.contains(&format!("FOREIGN: u32 = {FOREIGN:#x}u")));
        }
        assert!(text.contains(&format!("IN_SINK: u32 = {IN_SINK:#x}u")));
    }
}
