//! Round trips through a format preserve every bit that the format can hold.

use std::collections::BTreeMap;

use glam::DVec3;
use gravitile::bodies::{Bodies, Component, Role};
use gravitile::snapshot::{Column, Snapshot};
use gravitile::units::Units;
use proptest::prelude::*;

use super::{assert_same_bodies, six, spec, through};

/// All bits of a snapshot, including those of NaN.
fn bits(snapshot: &Snapshot) -> impl PartialEq + std::fmt::Debug + use<> {
    let Snapshot { bodies, time, units, attributes, extra, .. } = snapshot.clone();
    let vectors = |v: Vec<DVec3>| -> Vec<u64> {
        v.into_iter().flat_map(|v| v.to_array()).map(f64::to_bits).collect()
    };
    let list = |v: Vec<f64>| v.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    let column = |column: Column| {
        let kind = column.kind();
        let values = match column {
            Column::F64(values) => list(values),
            Column::F32(values) => values.into_iter().map(|v| v.to_bits().into()).collect(),
            Column::U64(values) => values,
            Column::U32(values) => values.into_iter().map(u64::from).collect(),
            Column::I64(values) => values.into_iter().map(|v| v as u64).collect(),
            other => panic!("{other:?}"),
        };
        (kind.name(), values)
    };
    let extra: BTreeMap<String, (&str, Vec<u64>)> =
        extra.into_iter().map(|(name, values)| (name, column(values))).collect();
    let bodies = (
        (bodies.id, bodies.component, bodies.components),
        (list(bodies.mass), vectors(bodies.position), vectors(bodies.velocity)),
    );
    (bodies, time.to_bits(), units, attributes, extra)
}

#[test]
fn bodies_survive_every_lossless_format() {
    for format in
        ["gravitile", "text", "csv", "gadget1", "gadget1-be", "gadget1-f64-id64", "gadget2"]
    {
        let snapshot = six();
        let (back, _) = through(&snapshot, format);
        assert_same_bodies(&snapshot.bodies, &back.bodies);
        assert_eq!(back.time, snapshot.time, "{format}");
    }
}

#[test]
fn lossless_formats_report_no_losses() {
    let mut snapshot = six();
    snapshot.units = Units::gadget();
    for format in ["gravitile", "text", "csv", "gadget1", "gadget2"] {
        let (back, losses) = through(&snapshot, format);
        // GADGET writes zeros for missing gas columns and reports it.
        let gas = |text: &str| text.starts_with("the gas has no") && format.starts_with("gadget");
        assert!(losses.iter().all(gas), "{format}: {losses}");
        assert_eq!(back.bodies, snapshot.bodies, "{format}");
        assert_eq!(back.units, snapshot.units, "{format}");
    }
}

#[test]
fn f32_values_survive_any_format() {
    // Raw: GADGET readers assume units that tipsy does not have.
    let start = through(&six(), "tipsy").0;
    let first = start.to_bytes("a", &spec("tipsy-raw")).unwrap().0;
    for detour in ["gravitile", "text", "csv", "gadget1", "gadget2-be", "tipsy-28-be"] {
        let (back, _) = through(&start, detour);
        assert_eq!(back.to_bytes("a", &spec("tipsy-raw")).unwrap().0, first, "{detour}");
    }
}

#[test]
fn both_byte_orders_read_alike() {
    for [one, other] in
        [["tipsy", "tipsy-28-be"], ["gadget1", "gadget1-be"], ["gadget2", "gadget2-be"]]
    {
        assert_eq!(bits(&through(&six(), one).0), bits(&through(&six(), other).0));
    }
}

#[test]
fn shared_masses_use_the_gadget_mass_table_in_f64() {
    let mut snapshot = six();
    snapshot.bodies.mass = vec![0.1, 0.1, 0.0, 0.3, 0.4, 0.5];
    snapshot.bodies.component = vec![0, 0, 1, 1, 2, 2];
    let (back, losses) = through(&snapshot, "gadget1");
    let mass = |id| back.bodies.mass[back.bodies.id.iter().position(|&i| i == id).unwrap()];
    assert_eq!([mass(50), mass(40)], [0.1, 0.1]);
    assert_eq!([mass(30), mass(20), mass(10)], [0.0, f64::from(0.3_f32), f64::from(0.4_f32)]);
    assert!(losses.iter().any(|text| text.starts_with("masses narrowed")), "{losses}");
}

/// The columns' values as f64, for comparison where NaN is NaN.
fn values(snapshot: &Snapshot) -> String {
    let column = |(name, column): (&String, &Column)| format!("{name} {:?}", column.to_f64());
    snapshot.extra.iter().map(column).collect()
}

#[test]
fn gadget_2_preserves_columns_by_name_and_type() {
    let mut snapshot = six();
    let nan = f64::NAN;
    let mut put = |name: &str, column: [f64; 6]| {
        snapshot.extra.insert(name.into(), column.into_iter().collect())
    };
    put("RHO", [1.5, nan, nan, nan, nan, nan]);
    put("POT", [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]);
    put("ABCD", [nan, nan, 2.0, nan, 3.0, nan]);
    for (k, axis) in ["x", "y", "z"].iter().enumerate() {
        put(&format!("ACCE.{axis}"), [k as f64; 6]);
    }
    put("two.0", [0.5; 6]);
    put("two.1", [-0.0; 6]);
    for format in ["gadget2", "gadget2-be", "gadget2-f64"] {
        let (back, losses) = through(&snapshot, format);
        let expected = |text: &str| text.starts_with("the numbers") || text.starts_with("the gas");
        assert!(losses.iter().all(expected), "{losses}");
        assert_eq!(values(&back), values(&snapshot), "{format}");
    }
}

#[test]
fn gadget_1_preserves_the_gas_blocks_of_its_fixed_order() {
    let mut snapshot = six();
    snapshot.bodies.component = vec![0, 0, 0, 1, 1, 1];
    let nan = f64::NAN;
    for name in ["U", "RHO", "HSML"] {
        snapshot.extra.insert(name.into(), vec![1.0, 2.0, 3.5, nan, nan, nan].into());
    }
    let (back, losses) = through(&snapshot, "gadget1");
    assert_eq!(values(&back), values(&snapshot), "{losses}");
    // Without RHO the reader would take HSML for RHO: zeros are written for RHO.
    snapshot.extra.remove("RHO");
    let (back, losses) = through(&snapshot, "gadget1");
    assert!(losses.iter().any(|text| text.contains("the gas has no RHO: 0 is")), "{losses}");
    assert_eq!(back.extra.keys().collect::<Vec<_>>(), ["HSML", "U"]);
    assert_eq!(values(&back), values(&snapshot));
}

/// Names that need escaping.
fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,6}", "[ =#\"\\\\,\n\tau{}é]{0,6}", "\\PC{0,5}"]
}

fn real() -> impl Strategy<Value = f64> {
    prop_oneof![
        -1e3..1e3,
        Just(-0.0),
        any::<f64>().prop_filter("finite", |x| x.is_finite()),
        any::<f32>().prop_filter("finite", |x| x.is_finite()).prop_map(f64::from)
    ]
}

fn single() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(-0.0),
        any::<f32>().prop_filter("finite", |x| x.is_finite()).prop_map(f64::from)
    ]
}

fn vector<S: Strategy<Value = f64>>(number: fn() -> S) -> impl Strategy<Value = DVec3> {
    [number(), number(), number()].prop_map(DVec3::from_array)
}

/// Any valid snapshot whose values are drawn from `number`.
fn any_snapshot<S: Strategy<Value = f64> + 'static>(
    number: fn() -> S,
) -> impl Strategy<Value = Snapshot> {
    let component =
        (name(), 0..5_usize).prop_map(|(name, role)| Component::new(name, Role::ALL[role].0));
    let sizes = (1..12_usize, prop::collection::vec(component, 1..6));
    let whole = sizes.prop_flat_map(move |(n, components)| {
        let count = components.len() as u8;
        let bodies = (
            prop::collection::vec(any::<u64>(), n),
            prop::collection::vec(number().prop_map(f64::abs), n),
            prop::collection::vec(vector(number), n),
            prop::collection::vec(vector(number), n),
            prop::collection::vec(0..count, n),
        );
        let value = || prop_oneof![number(), Just(f64::NAN), Just(f64::INFINITY)];
        let column = prop_oneof![
            prop::collection::vec(value(), n).prop_map(Column::from),
            prop::collection::vec(value(), n)
                .prop_map(|values| values.into_iter().map(|v| v as f32).collect()),
            prop::collection::vec(any::<u64>(), n).prop_map(Column::from),
            prop::collection::vec(any::<u32>(), n).prop_map(Column::from),
            prop::collection::vec(any::<i64>(), n).prop_map(Column::from),
        ];
        let extra = prop::collection::btree_map(name(), column, 0..4);
        (bodies, Just(components), extra)
    });
    let facts = (
        real(),
        prop::collection::btree_map(name(), name(), 0..4),
        [name(), name(), name()],
        real(),
    );
    (whole, facts).prop_map(|((bodies, components, extra), (time, attributes, units, g))| {
        let (id, mass, position, velocity, component) = bodies;
        let mut names = std::collections::BTreeSet::new();
        // Names of components are unique by contract.
        let components = components
            .into_iter()
            .enumerate()
            .map(|(k, c)| {
                if names.insert(c.name.clone()) {
                    c
                } else {
                    Component::new(format!("#{k}"), c.role)
                }
            })
            .collect();
        let [length, mass_unit, time_unit] = units;
        Snapshot {
            bodies: Bodies { id, mass, position, velocity, component, components },
            time,
            units: Units { length, mass: mass_unit, time: time_unit, gravitational_constant: g },
            attributes,
            extra,
            notes: Vec::new(),
        }
    })
}

proptest! {
    #[test]
    fn any_snapshot_survives_the_native_format(snapshot in any_snapshot(real)) {
        let (back, losses) = through(&snapshot, "gravitile");
        prop_assert!(losses.is_empty());
        prop_assert_eq!(bits(&back), bits(&snapshot));
    }

    #[test]
    fn any_snapshot_survives_tables(mut snapshot in any_snapshot(real)) {
        let reserved = |name: &str| {
            ["id", "m", "mass", "x", "y", "z", "vx", "vy", "vz", "component"]
                .contains(&name.to_lowercase().as_str())
        };
        snapshot.extra.retain(|name, _| !reserved(name));
        for format in ["text", "csv"] {
            let (bytes, losses) = snapshot.to_bytes("a", &spec(format)).unwrap();
            prop_assert!(losses.is_empty(), "{}", losses);
            let back = Snapshot::from_bytes(&bytes, "a").map_err(|error| {
                TestCaseError::fail(format!("{error}\n{}", String::from_utf8_lossy(&bytes)))
            })?;
            prop_assert_eq!(bits(&back), bits(&snapshot));
        }
    }

    #[test]
    fn any_f32_bodies_survive_gadget(snapshot in any_snapshot(single)) {
        for format in ["gadget1", "gadget1-be", "gadget2", "gadget2-f64"] {
            let (back, _) = through(&snapshot, format);
            assert_bodies_by_id(&snapshot.bodies, &back.bodies, true)?;
            prop_assert_eq!(back.time.to_bits(), snapshot.time.to_bits());
        }
    }

    #[test]
    fn any_f64_bodies_survive_gadget_f64(snapshot in any_snapshot(real)) {
        for format in ["gadget1-f64", "gadget2-be-f64"] {
            let (back, _) = through(&snapshot, format);
            assert_bodies_by_id(&snapshot.bodies, &back.bodies, true)?;
        }
    }

    #[test]
    fn any_f32_bodies_survive_tipsy(snapshot in any_snapshot(single)) {
        for format in ["tipsy-raw", "tipsy-be-raw", "tipsy-28-raw"] {
            let mut snapshot = snapshot.clone();
            // A potential that looks like ids would select the variant with ids.
            snapshot.extra.clear();
            // With zero masses the short header would be refused.
            snapshot.bodies.mass.fill(1.0);
            let (mut back, _) = through(&snapshot, format);
            prop_assert_eq!(back.time.to_bits(), snapshot.time.to_bits());
            // Tipsy numbers the bodies in their order within gas, dark and star.
            let section = |i: &usize| match snapshot.bodies.components[snapshot.bodies.component[*i] as usize].role {
                Role::Gas => 0,
                Role::Halo => 1,
                _ => 2,
            };
            let mut order: Vec<usize> = (0..snapshot.bodies.len()).collect();
            order.sort_by_key(section);
            back.bodies.id = order.iter().map(|&i| snapshot.bodies.id[i]).collect();
            assert_bodies_by_id(&snapshot.bodies, &back.bodies, false)?;
        }
    }
}

/// Asserts bitwise equal values, matched by id; with `roles` also equal roles.
fn assert_bodies_by_id(a: &Bodies, b: &Bodies, roles: bool) -> Result<(), TestCaseError> {
    let rows = |bodies: &Bodies| {
        let mut rows: Vec<_> = (0..bodies.len())
            .map(|i| {
                let numbers: Vec<u64> = [bodies.mass[i]]
                    .into_iter()
                    .chain(bodies.position[i].to_array())
                    .chain(bodies.velocity[i].to_array())
                    .map(f64::to_bits)
                    .collect();
                let role = bodies.components[bodies.component[i] as usize].role;
                (bodies.id[i], numbers, roles.then_some(role))
            })
            .collect();
        rows.sort();
        rows
    };
    prop_assert_eq!(rows(a), rows(b));
    Ok(())
}
