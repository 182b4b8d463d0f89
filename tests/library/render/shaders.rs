//! Render shaders: validity, translation for every backend, and agreement with the host's structs.

use std::mem::offset_of;

use gravitile::render::camera::View;
use gravitile::render::diagram::{DiagramUniform, DrawnBox, Mark};
use gravitile::render::exposure_pass::{ExposureState, ToneUniform};
use gravitile::render::glow::{self, Smoothing};
use gravitile::render::look_uniform::{ComponentLook, LookUniform};
use gravitile::render::map::{self, MapUniform};
use gravitile::render::medium::{self, MediumUniform};
use gravitile::render::sky::SkySprite;
use gravitile::render::sky_pass::SkyUniform;
use gravitile::render::sprites::SpriteUniform;
use gravitile::render::streaks::{course, path, share};
use gravitile::render::{
    SHADERS, adding, bloom, exposure, hdr_image, palette, splat, targets, tone,
};

fn source(name: &str) -> String {
    gravitile::render::wgsl(name).unwrap()
}

fn parse(source: &str) -> naga::Module {
    naga::front::wgsl::parse_str(source).unwrap_or_else(|e| panic!("{}", e.emit_to_string(source)))
}

fn validate(module: &naga::Module) -> naga::valid::ModuleInfo {
    let (flags, capabilities) =
        (naga::valid::ValidationFlags::all(), naga::valid::Capabilities::default());
    naga::valid::Validator::new(flags, capabilities).validate(module).unwrap()
}

#[test]
fn render_shaders_are_valid_and_translate() {
    // The shader that depends on the light's format is tested with both formats.
    let values = minijinja::context! { light_format => "rgba32float" };
    let wide = gravitile::gpu::template::assemble("render/splat.wgsl", values).unwrap();
    assert!(wide.contains("rgba32float") && source("splat").contains("rgba16float"));
    let texts = SHADERS.iter().map(|name| (*name, source(name)));
    for (name, text) in texts.chain([("splat for 32-bit floats", wide)]) {
        let module = parse(&text);
        let info = validate(&module);
        for has_glow in [0.0, 1.0] {
            let mut constants = naga::back::PipelineConstants::default();
            if module.overrides.iter().any(|(_, o)| o.name.as_deref() == Some("HAS_GLOW")) {
                constants.insert("HAS_GLOW".into(), has_glow);
            }
            let (module, info) =
                naga::back::pipeline_constants::process_overrides(&module, &info, None, &constants)
                    .unwrap();
            naga::back::spv::write_vec(&module, &info, &Default::default(), None)
                .unwrap_or_else(|e| panic!("{name} to SPIR-V: {e}"));
            let mut hlsl = String::new();
            let options = naga::back::hlsl::Options::default();
            naga::back::hlsl::Writer::new(&mut hlsl, &options, &Default::default())
                .write(&module, &info, None)
                .unwrap_or_else(|e| panic!("{name} to HLSL: {e}"));
            let options = naga::back::msl::Options {
                lang_version: (2, 3),
                fake_missing_bindings: true,
                ..Default::default()
            };
            naga::back::msl::write_string(&module, &info, &options, &Default::default())
                .unwrap_or_else(|e| panic!("{name} to MSL: {e}"));
        }
    }
}

/// Size of a struct in WGSL and the offsets of its members by name.
fn layout(source: &str, name: &str) -> (usize, Vec<(String, usize)>) {
    let module = parse(source);
    let (_, ty) = module
        .types
        .iter()
        .find(|(_, ty)| ty.name.as_deref() == Some(name))
        .unwrap_or_else(|| panic!("no struct {name}"));
    let naga::TypeInner::Struct { members, span } = &ty.inner else {
        panic!("{name} is no struct")
    };
    let member = |m: &naga::StructMember| (m.name.clone().unwrap(), m.offset as usize);
    (*span as usize, members.iter().map(member).collect())
}

macro_rules! same_layout {
    ($source:expr, $ty:ident { $($field:ident),* $(,)? }) => {
        let (size, members) = layout($source, stringify!($ty));
        let host = vec![$((stringify!($field).to_string(), offset_of!($ty, $field))),*];
        // Padding has names on one side only.
        let shown: Vec<_> = members.into_iter().filter(|(n, _)| !n.starts_with("pad")).collect();
        assert_eq!(shown, host, stringify!($ty));
        assert_eq!(size, size_of::<$ty>(), stringify!($ty));
    };
}

#[test]
fn host_and_shader_structs_have_equal_layouts() {
    same_layout!(
        &source("sprite"),
        View {
            eye_in_world,
            focal_px,
            right_in_world,
            near,
            up_in_world,
            width_px,
            forward_in_world,
            height_px,
        }
    );
    same_layout!(
        &source("sprite"),
        SpriteUniform {
            view,
            least_radius_px,
            most_radius_px,
            light_of_unit,
            units_of_light,
            count,
            streak_reach,
            streak_bend,
            streak_pieces,
            streak_most,
            every,
            guard_px,
        }
    );
    same_layout!(
        &source("sprite"),
        ComponentLook { peak, radius_in_world, white_peak, inverse_mean_mass, by_birth, is_gas }
    );
    same_layout!(
        &source("sprite"),
        LookUniform {
            colour_by,
            variety,
            scale_from,
            scale_factor,
            depth_cue,
            gas_from,
            gas_factor,
            medium,
            scale,
            components,
        }
    );
    same_layout!(
        &source("medium"),
        MediumUniform {
            lattice,
            cells_per_length,
            weight_per_mass,
            mask,
            counts_all,
            columns,
            rows,
            column_px,
            from_depth,
            slices_per_depth,
            opacity,
        }
    );
    same_layout!(&source("sky"), SkySprite { centre_px, axis, per_px, reach_px, colour });
    same_layout!(&source("sky"), SkyUniform { size_px, encodes });
    let diagram = &source("diagram");
    same_layout!(diagram, DiagramUniform { view, half_width_px, radius_px, target_depth, pixels });
    same_layout!(diagram, DrawnBox { lower, colour, upper });
    same_layout!(diagram, Mark { body, colour, ring_px });
    for source in [&source("exposure"), &source("tone_map")] {
        same_layout!(
            source,
            ToneUniform {
                background,
                vignette,
                fixed_white_log2,
                fixed_mid_log2,
                stops,
                follow_to_dark,
                mode,
                dither,
                follow_to_bright,
                tile_columns,
                tile_rows,
                pixel_of_glow,
                smoothing,
                map,
                scale,
            }
        );
        same_layout!(source, MapUniform { kind, light_from, light_factor, line_from, line_factor });
        same_layout!(
            source,
            Smoothing {
                crowding,
                sharp_crowding,
                least_sharp,
                least_part,
                bloom,
                evenness,
                dimmest,
                neighbourhood,
                stars,
                is_on,
                enlarged,
            }
        );
        same_layout!(source, ExposureState { white_log2, mid_log2, slope, scale, primed });
    }
}

/// The value of a scalar constant.
fn constant(source: &str, name: &str) -> f32 {
    let module = parse(source);
    let (_, constant) = module
        .constants
        .iter()
        .find(|(_, c)| c.name.as_deref() == Some(name))
        .unwrap_or_else(|| panic!("no constant {name}"));
    match module.global_expressions[constant.init] {
        naga::Expression::Literal(naga::Literal::F32(value)) => value,
        naga::Expression::Literal(naga::Literal::U32(value)) => value as f32,
        naga::Expression::Literal(naga::Literal::AbstractFloat(value)) => value as f32,
        ref other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn host_and_shader_constants_are_equal() {
    let exposed = |name| constant(&source("exposure"), name);
    assert_eq!(exposed("BINS"), exposure::BINS as f32);
    assert_eq!(exposed("BINS_PER_OCTAVE"), exposure::BINS_PER_OCTAVE);
    assert_eq!(exposed("LEAST_LOG2"), exposure::LEAST_LOG2);
    assert_eq!(exposed("LIGHT_ABOVE_WHITE"), exposure::LIGHT_ABOVE_WHITE);
    assert_eq!(exposed("LIGHT_ABOVE_MID"), exposure::LIGHT_ABOVE_MID);
    assert_eq!(exposed("MID_TONE"), tone::MID_TONE);
    assert_eq!(exposed("UNSEEN_LOG2"), exposure::UNSEEN_LOG2);
    assert_eq!(exposed("FAR_LOG2"), exposure::FAR_LOG2);
    for name in ["exposure", "tone_map", "glow"] {
        assert_eq!(constant(&source(name), "MOST_SHARP"), bloom::MOST_SHARP);
        assert_eq!(constant(&source(name), "LINES"), glow::LINES);
    }
    assert_eq!(constant(&source("glow"), "MOST_PART"), glow::MOST_PART);
    assert_eq!(constant(&source("glow"), "WIDEST"), glow::WIDEST);
    assert_eq!(constant(&source("glow"), "LEAST_VOID"), glow::LEAST_VOID);
    assert_eq!(constant(&source("glow"), "VOID"), glow::VOID);
    assert_eq!(constant(&source("sprite"), "LUCK"), splat::LUCK);
    assert!(exposed("MOST_LUCK") >= splat::LUCK);
    assert_eq!(constant(&source("tone_map"), "KNEE"), tone::KNEE);
    assert_eq!(constant(&source("tone_map"), "RETURNED"), tone::RETURNED);
    for name in ["sprite", "tone_map"] {
        assert_eq!(constant(&source(name), "MEAN_SPAN"), palette::MEAN_SPAN);
    }
    assert_eq!(constant(&source("tone_map"), "LINE_SHADE"), map::LINE_SHADE);
    assert_eq!(constant(&source("tone_map"), "MOST_BLEACH"), tone::MOST_BLEACH);
    assert_eq!(constant(&source("tone_map"), "BLEACH"), tone::BLEACH);
    assert_eq!(constant(&source("tone_map"), "LARGEST"), hdr_image::LARGEST);
    for (name, value) in [
        ("GROUP", adding::GROUP),
        ("GROUPS_A_ROW", adding::GROUPS_A_ROW),
        ("LARGE_GROUPS", adding::LARGE_GROUPS),
    ] {
        assert_eq!(constant(&source("splat"), name), value as f32, "{name}");
    }
    for name in ["streak", "streak_splat"] {
        for (constant_name, value) in [
            ("MOST_PIECES", course::MOST_PIECES as f32),
            ("PIECE_TURN", course::PIECE_TURN),
            ("STREAK_TURN", course::STREAK_TURN),
            ("LEAST_SHARE", share::LEAST_SHARE),
            ("ENTERING", share::ENTERING),
            ("LEAST_PX", path::LEAST_PX),
            ("MOST_PX", path::MOST_PX),
            ("TAIL_PART", path::TAIL_PART),
            ("TAIL_PX", path::TAIL_PX),
            ("STREAK_LIGHT", path::STREAK_LIGHT),
            ("LINE_LIGHT", path::LINE_LIGHT),
            ("HALF_DISK_LIGHT", path::HALF_DISK_LIGHT),
        ] {
            assert_eq!(constant(&source(name), constant_name), value, "{name}: {constant_name}");
        }
    }
    for (name, value) in
        [("STREAK_LANES", adding::STREAK_LANES), ("STREAK_GROUPS", adding::STREAK_GROUPS)]
    {
        assert_eq!(constant(&source("streak_splat"), name), value as f32, "{name}");
    }
    let around = |name| constant(&source("medium"), name);
    assert_eq!(around("LEVELS"), medium::LEVELS as f32);
    assert_eq!(around("SLICES"), medium::SLICES as f32);
    assert_eq!(around("WEIGHT"), medium::WEIGHT);
    assert_eq!(around("LIGHT"), medium::LIGHT);
    assert_eq!(around("MOST_WEIGHT"), medium::MOST_WEIGHT);
    assert_eq!(around("OPACITY_UNITS"), medium::OPACITY_UNITS);
    assert_eq!(around("MOST_OPACITY"), medium::MOST_OPACITY);
    assert_eq!(around("SURROUNDING"), medium::SURROUNDING);
    assert_eq!([around("FEW"), around("MORE")], [medium::FEW, medium::MORE]);
    assert_eq!(constant(&source("tone_map"), "TILE"), targets::TILE as f32);
    assert_eq!(constant(&source("sprite"), "SCALE_STEPS"), palette::SCALE_STEPS as f32);
}
