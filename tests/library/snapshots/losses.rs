//! Reports of what a format cannot hold.

use gravitile::bodies::{Component, Role};
use gravitile::snapshot::{FORMATS, Snapshot, WriteOptions};
use gravitile::units::Units;

use super::{six, spec, through};

fn assert_reported(snapshot: &Snapshot, format: &str, words: &str) {
    let (_, losses) = snapshot.to_bytes("a", &spec(format)).expect(format);
    assert!(losses.iter().any(|text| text.contains(words)), "'{losses}' should say '{words}'");
}

fn assert_not_reported(snapshot: &Snapshot, format: &str, words: &str) {
    let (_, losses) = snapshot.to_bytes("a", &spec(format)).expect(format);
    assert!(!losses.iter().any(|text| text.contains(words)), "'{losses}' should not say '{words}'");
}

#[test]
fn narrowing_is_reported_only_if_values_change() {
    let mut snapshot = six();
    assert_not_reported(&snapshot, "tipsy", "narrowed");
    assert_not_reported(&snapshot, "gadget1", "narrowed");
    snapshot.bodies.position[3].y = 0.1;
    snapshot.bodies.position[4].y = 1.0 + 1e-12;
    for format in ["tipsy", "gadget1", "gadget2-be"] {
        assert_reported(
            &snapshot,
            format,
            "positions narrowed from f64 to f32: largest relative change 1.5e-8 (body 3)",
        );
        assert_not_reported(&snapshot, format, "velocities");
    }
    assert_not_reported(&snapshot, "gadget1-f64", "narrowed");
}

#[test]
fn values_beyond_f32_are_errors() {
    let mut snapshot = six();
    snapshot.bodies.velocity[2].z = -1e300;
    for format in ["tipsy", "gadget1", "gadget2"] {
        let error = snapshot.to_bytes("out.x", &spec(format)).unwrap_err().to_string();
        assert!(error.contains("out.x: cannot be written as"), "{error}");
        assert!(error.contains("velocities of body 2 include -1e300"), "{error}");
    }
}

#[test]
fn lost_components_units_and_columns_are_reported() {
    let mut snapshot = six();
    snapshot.bodies.components[2] = Component::new("halo 2", Role::Halo);
    snapshot.bodies.components.push(Component::new("nobody", Role::Star));
    snapshot.units = Units { gravitational_constant: 2.0, ..Units::default() };
    snapshot.attributes.insert("dt".into(), "0.01".into());
    snapshot.attributes.insert("layout.tipsy.ids".into(), "no".into());
    snapshot.extra.insert("spin".into(), vec![1.0; 6].into());
    snapshot.extra.insert("a long name".into(), vec![1.0; 6].into());
    for format in ["tipsy", "gadget2"] {
        assert_reported(
            &snapshot,
            format,
            "components 'halo' (halo), 'halo 2' (halo) are merged into 'halo'",
        );
        assert_reported(
            &snapshot,
            format,
            "components without bodies cannot be held: 'nobody' (star)",
        );
        assert_reported(&snapshot, format, "attributes cannot be held: dt");
        assert_reported(&snapshot, format, "a long name");
    }
    assert_reported(&snapshot, "gadget2", "the numbers stay in G = 2");
    assert_reported(&snapshot, "tipsy", "converted from G = 2 to G = 1");
    assert_reported(&snapshot, "tipsy-raw", "the numbers stay in G = 2");
    assert_reported(&snapshot, "tipsy", "extra columns cannot be held: a long name, spin");
    assert_not_reported(&snapshot, "gadget2", "spin");
    assert_reported(&snapshot, "tipsy", "ids are not held");
    for format in ["gravitile", "text", "csv"] {
        assert!(snapshot.to_bytes("a", &spec(format)).unwrap().1.is_empty());
    }
    snapshot.extra.insert("VX".into(), vec![1.0; 6].into());
    assert_reported(&snapshot, "csv", "extra columns cannot be held: VX");
}

#[test]
fn ids_beyond_32_bits_use_64_bits_or_fail() {
    let mut snapshot = six();
    snapshot.bodies.id[0] = 1 << 40;
    snapshot.bodies.id[1] = u64::MAX;
    assert_eq!(through(&snapshot, "gadget1").0.bodies.id, snapshot.bodies.id);
    let error = snapshot.to_bytes("a", &spec("gadget1-id32")).unwrap_err().to_string();
    assert!(
        error.contains("2 ids do not fit into 32 bits (the largest is 18446744073709551615)"),
        "{error}"
    );
}

#[test]
fn ids_outside_their_component_range_are_renumbered() {
    let mut snapshot = six();
    assert_reported(&snapshot, "tipsy-id", "1 ids of the halo lie outside 200000000 to 799999999");
    snapshot.bodies.id = vec![1_000_000_000, 300_000_000, 8, 150_000_000, 9, 10];
    assert_not_reported(&snapshot, "tipsy-id", "ids");
    let (back, _) = through(&snapshot, "tipsy-id");
    assert_eq!(back.bodies.id, snapshot.bodies.id);
    let names: Vec<_> = back.bodies.components.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["gas", "halo", "disk", "bulge"]);
    // The variant is preserved without a request.
    assert_eq!(through(&back, "tipsy").0, back);
    assert_ne!(through(&back, "tipsy-phi").0, back);
}

#[test]
fn softening_fills_missing_eps() {
    let mut snapshot = six();
    snapshot.attributes.insert("softening".into(), "0.5".into());
    assert_not_reported(&snapshot, "tipsy", "softening");
    let eps = through(&snapshot, "tipsy").0.extra["eps"].to_f64().into_owned();
    assert!(eps[0].is_nan() && eps[1..].iter().all(|eps| *eps == 0.5), "{eps:?}");
    assert_reported(&snapshot, "gadget1", "attributes cannot be held: softening");
}

#[test]
fn format_descriptions_and_modifiers_are_valid() {
    for format in FORMATS {
        assert!(!format.summary.contains('\n') && !format.holds.is_empty());
        assert!(format.extensions.iter().all(|e| e.to_lowercase() == **e && !e.starts_with('.')));
        for modifier in format.modifiers {
            let name = format!("{}-{}", format.name, modifier.suffix);
            let mut snapshot = six();
            snapshot.bodies.id[5] = 5;
            let (bytes, _) = snapshot.to_bytes("a", &spec(&name)).expect(&name);
            assert_eq!(Snapshot::from_bytes(&bytes, "a").expect(&name).bodies.len(), 6);
        }
    }
    let mut extensions: Vec<_> = FORMATS.iter().flat_map(|f| f.extensions).collect();
    let count = extensions.len();
    extensions.sort();
    extensions.dedup();
    assert_eq!(extensions.len(), count, "an extension belongs to one format");
    for wrong in ["nothing", "tipsy-xx", "text-be", ""] {
        let error = six().to_bytes("a", &spec(wrong)).unwrap_err().to_string();
        assert!(
            error.contains("there is no snapshot format named") && error.contains("tipsy[-le]"),
            "{error}"
        );
    }
    let error = six().to_bytes("a.xyz", &WriteOptions::default()).unwrap_err().to_string();
    assert!(error.contains("extension '.xyz'") && error.contains("gravitile (.gvt)"), "{error}");
}
