//! Snapshots as a dict of arrays, from and to the class `Bodies` of the package.

use std::collections::BTreeMap;

use gravitile::bodies::{Bodies, Component, Role};
use gravitile::error::{Error, Result};
use gravitile::memory;
use gravitile::snapshot::{Column, Snapshot};
use gravitile::units::Units;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Reals, Vectors, check_room, from_vectors, numbers, vectors};
use crate::errors::raised;

/// The attributes of `Bodies`, as it passes them here.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Given<'py> {
    position: Vectors<'py>,
    velocity: Vectors<'py>,
    mass: Reals<'py>,
    id: PyReadonlyArray1<'py, u64>,
    component: PyReadonlyArray1<'py, u8>,
    components: Vec<(String, String)>,
    time: f64,
    units: (String, String, String, f64),
    attributes: BTreeMap<String, String>,
    extra: BTreeMap<String, AnyColumn<'py>>,
}

/// A column in one of the types of [`Column`].
#[derive(FromPyObject)]
enum AnyColumn<'py> {
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
    U64(PyReadonlyArray1<'py, u64>),
    U32(PyReadonlyArray1<'py, u32>),
    I64(PyReadonlyArray1<'py, i64>),
}

impl Given<'_> {
    /// How many bodies there are.
    pub fn len(&self) -> usize {
        self.mass.len()
    }

    /// The snapshot, checked.
    ///
    /// # Errors
    /// No memory for a copy of the bodies; an unknown role; those of [`Snapshot::validate`].
    pub fn snapshot(&self) -> PyResult<Snapshot> {
        check_room(self.len(), memory::BODIES)?;
        let component = |(name, role): &(String, String)| match Role::from_name(role) {
            Some(role) => Ok(Component::new(name, role)),
            None => {
                let known = Role::ALL.map(|(_, name)| name).join(", ");
                Err(Error::Unknown { kind: "role of a component", name: role.clone(), known })
            }
        };
        let components: Result<Vec<_>> = self.components.iter().map(component).collect();
        let (length, mass, time, gravitational_constant) = self.units.clone();
        let column = |(name, column): (&String, &AnyColumn<'_>)| {
            let values = match column {
                AnyColumn::F64(values) => Column::F64(numbers(values)),
                AnyColumn::F32(values) => Column::F32(numbers(values)),
                AnyColumn::U64(values) => Column::U64(numbers(values)),
                AnyColumn::U32(values) => Column::U32(numbers(values)),
                AnyColumn::I64(values) => Column::I64(numbers(values)),
            };
            (name.clone(), values)
        };
        let snapshot = Snapshot {
            bodies: Bodies {
                id: numbers(&self.id),
                mass: numbers(&self.mass),
                position: vectors(&self.position)?,
                velocity: vectors(&self.velocity)?,
                component: numbers(&self.component),
                components: components.map_err(raised)?,
            },
            time: self.time,
            units: Units { length, mass, time, gravitational_constant },
            attributes: self.attributes.clone(),
            extra: self.extra.iter().map(column).collect(),
            notes: Vec::new(),
        };
        snapshot.validate().map_err(raised)?;
        Ok(snapshot)
    }
}

/// The attributes of `Bodies`, as they come from here.
#[derive(IntoPyObject)]
pub struct Taken<'py> {
    position: Bound<'py, PyArray2<f64>>,
    velocity: Bound<'py, PyArray2<f64>>,
    mass: Bound<'py, PyArray1<f64>>,
    id: Bound<'py, PyArray1<u64>>,
    component: Bound<'py, PyArray1<u8>>,
    components: Vec<(String, &'static str)>,
    time: f64,
    units: (String, String, String, f64),
    attributes: BTreeMap<String, String>,
    extra: BTreeMap<String, Bound<'py, PyAny>>,
}

/// A snapshot as a dict; its arrays take the memory of the vectors.
pub fn taken(py: Python<'_>, snapshot: Snapshot) -> PyResult<Taken<'_>> {
    let Snapshot { bodies, time, units, attributes, extra, notes: _ } = snapshot;
    let column = |(name, column)| {
        let values = match column {
            Column::F64(values) => PyArray1::from_vec(py, values).into_any(),
            Column::F32(values) => PyArray1::from_vec(py, values).into_any(),
            Column::U64(values) => PyArray1::from_vec(py, values).into_any(),
            Column::U32(values) => PyArray1::from_vec(py, values).into_any(),
            Column::I64(values) => PyArray1::from_vec(py, values).into_any(),
            // A type that a later version of the library adds.
            _ => return None,
        };
        Some((name, values))
    };
    let components = bodies.components.into_iter();
    Ok(Taken {
        position: from_vectors(py, bodies.position)?,
        velocity: from_vectors(py, bodies.velocity)?,
        mass: PyArray1::from_vec(py, bodies.mass),
        id: PyArray1::from_vec(py, bodies.id),
        component: PyArray1::from_vec(py, bodies.component),
        components: components.map(|one| (one.name, one.role.name())).collect(),
        time,
        units: (units.length, units.mass, units.time, units.gravitational_constant),
        attributes,
        extra: extra.into_iter().filter_map(column).collect(),
    })
}
