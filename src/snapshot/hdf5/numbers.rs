//! Numbers of any type in datasets and attributes as a [`Column`] of the nearest type.

use std::collections::BTreeMap;

use hdf5_reader::group::Group;
use hdf5_reader::{Attribute, Dataset, Datatype, H5Type};

use super::super::{Column, ColumnType, FormatError};
use super::open::describe;

type Read<T> = Result<Vec<T>, hdf5_reader::error::Error>;

/// A dataset or an attribute, which holds numbers of one type.
trait NumberSource {
    fn datatype(&self) -> &Datatype;
    fn read<T: H5Type>(&self) -> Read<T>;
}

impl NumberSource for Dataset {
    fn datatype(&self) -> &Datatype {
        self.dtype()
    }

    fn read<T: H5Type>(&self) -> Read<T> {
        Ok(self.read_array_parallel::<T>()?.into_raw_vec_and_offset().0)
    }
}

impl NumberSource for Attribute {
    fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    fn read<T: H5Type>(&self) -> Read<T> {
        self.read_1d()
    }
}

fn widened<T: Copy, W: From<T>>(values: Vec<T>) -> Vec<W> {
    values.into_iter().map(W::from).collect()
}

/// The numbers in row-major order; `None` if they are not numbers of 8 to 64 bits (floating point:
/// 32 or 64).
fn numbers(source: &impl NumberSource) -> Result<Option<Column>, hdf5_reader::error::Error> {
    let column = match *source.datatype() {
        Datatype::FloatingPoint { size: 8, .. } => Column::F64(source.read()?),
        Datatype::FloatingPoint { size: 4, .. } => Column::F32(source.read()?),
        Datatype::FixedPoint { size, signed, .. } => match (size, signed) {
            (8, false) => Column::U64(source.read()?),
            (8, true) => Column::I64(source.read()?),
            (4, false) => Column::U32(source.read()?),
            (4, true) => Column::I64(widened(source.read::<i32>()?)),
            (2, false) => Column::U32(widened(source.read::<u16>()?)),
            (2, true) => Column::I64(widened(source.read::<i16>()?)),
            (1, false) => Column::U32(widened(source.read::<u8>()?)),
            (1, true) => Column::I64(widened(source.read::<i8>()?)),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(column))
}

/// The type of the column that [`column()`] reads from these; `None` if they are not numbers of 8
/// to 64 bits (floating point: 32 or 64).
pub(super) fn column_type(datatype: &Datatype) -> Option<ColumnType> {
    match *datatype {
        Datatype::FloatingPoint { size: 8, .. } => Some(ColumnType::F64),
        Datatype::FloatingPoint { size: 4, .. } => Some(ColumnType::F32),
        Datatype::FixedPoint { size: 1 | 2 | 4 | 8, signed: true, .. } => Some(ColumnType::I64),
        Datatype::FixedPoint { size: 8, .. } => Some(ColumnType::U64),
        Datatype::FixedPoint { size: 1 | 2 | 4, .. } => Some(ColumnType::U32),
        _ => None,
    }
}

/// The numbers of a dataset in row-major order.
///
/// # Errors
/// Numbers of another type; damage.
pub(super) fn column(dataset: &Dataset) -> Result<Column, FormatError> {
    let found = numbers(dataset).map_err(describe)?;
    found.ok_or_else(|| {
        "is not of a type that is read: integers of 8 to 64 bits, floating point of 32 or 64".into()
    })
}

/// The attributes of a group.
#[derive(Default)]
pub(super) struct Attributes {
    found: BTreeMap<String, Attribute>,
}

impl Attributes {
    /// Those of a member of `root`; none if there is no such group.
    pub fn of(root: &Group, name: &str) -> Result<Self, FormatError> {
        match child(root, name)? {
            Some(group) => Self::of_group(&group),
            None => Ok(Self::default()),
        }
    }

    pub fn of_group(group: &Group) -> Result<Self, FormatError> {
        let all = group.attributes().map_err(describe)?;
        Ok(Self { found: all.into_iter().map(|one| (one.name.clone(), one)).collect() })
    }

    /// The numbers of an attribute, which may be a scalar; `None` if it does not exist or holds no
    /// numbers.
    pub fn numbers(&self, name: &str) -> Option<Column> {
        numbers(self.found.get(name)?).ok().flatten()
    }

    /// The number of an attribute: a scalar, an array of one, or a text.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.numbers(name) {
            Some(column) if column.len() == 1 => Some(column.value(0)),
            Some(_) => None,
            None => self.text(name)?.trim().parse().ok(),
        }
    }

    /// The first of these attributes that holds one number.
    pub fn first(&self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| self.number(name))
    }

    /// The text of an attribute.
    pub fn text(&self, name: &str) -> Option<String> {
        self.found.get(name)?.read_string().ok()
    }

    /// The texts of an attribute that is an array of them.
    pub fn texts(&self, name: &str) -> Option<Vec<String>> {
        self.found.get(name)?.read_strings().ok()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.found.keys().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// A group in `group`; `None` if it has no such member.
pub(super) fn child(group: &Group, name: &str) -> Result<Option<Group>, FormatError> {
    match group.group(name) {
        Ok(found) => Ok(Some(found)),
        Err(hdf5_reader::error::Error::GroupNotFound(_)) => Ok(None),
        Err(error) => Err(format!("group {name} {}", describe(error))),
    }
}
