//! Compares sizes and offsets on the host with naga's layout of the shaders.

use std::mem::{offset_of, size_of};

use super::*;

/// The files that define the structs.
const FILES: [&str; 7] = [
    include_str!("../../../shaders/body.wgsl"),
    include_str!("../../../shaders/direct/params.wgsl"),
    include_str!("../../../shaders/blocks/params.wgsl"),
    include_str!("../../../shaders/diagnostics/params.wgsl"),
    include_str!("../../../shaders/scan/params.wgsl"),
    include_str!("../../../shaders/sort/params.wgsl"),
    include_str!("../../../shaders/tree/params.wgsl"),
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
        zero,
        first_sink
    );
    assert_same_layout!(StepsParams, count, steps, per_row, zero, kick, drift, softening_squared);
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
        zero,
        sinks_at,
        itself_at
    );
    assert_same_layout!(ScatterParams, count, words, at, sent);
    assert_same_layout!(PredictParams, count, unused, moves, zero, time, drift, drift_low);
    assert_same_layout!(
        BlockParams,
        count,
        few,
        few_sinks,
        few_threads,
        few_tile,
        many_sinks,
        many_threads,
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
        room,
        alone,
        parts,
        part,
        shares
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
        waiting,
        levels
    );
    assert_same_layout!(ScanParams, count, each);
    assert_same_layout!(SortParams, count, blocks, shift);
    assert_same_layout!(
        TreeParams,
        count,
        reserve,
        level,
        spare,
        group_begin,
        group_end,
        opening,
        softening_squared,
        not_a_number,
        singles,
        room,
        first,
        part,
        parts,
        margin,
        least
    );
    assert_same_layout!(
        TreeState,
        inside,
        outside,
        cells,
        leaf,
        half,
        levels,
        scattered,
        counted,
        own_bodies,
        all_bodies,
        ahead,
        before,
        after,
        base,
        first_copied,
        first_copy,
        last_copied,
        last_copy
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
    assert_same_layout!(LeapfrogParams, count, slices, close_kick, open_kick, drift, zero, first);
}

#[test]
fn special_offsets_agree() {
    let [text, direct, ..] = FILES;
    for text in [text, direct] {
        assert!(text.contains(&format!("FOREIGN: u32 = {FOREIGN:#x}u")));
    }
    assert!(text.contains(&format!("IN_SINK: u32 = {IN_SINK:#x}u")));
}
