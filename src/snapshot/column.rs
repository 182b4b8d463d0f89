//! Additional columns: one number per body, in the type that the file uses.

use std::borrow::Cow;
use std::ops::Range;

/// The type of the values of a [`Column`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnType {
    /// 64-bit floating point.
    #[default]
    F64,
    /// 32-bit floating point.
    F32,
    /// 64-bit unsigned integer.
    U64,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit signed integer.
    I64,
}

impl ColumnType {
    /// All types with their names in files and messages.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::F64, "f64"),
        (Self::F32, "f32"),
        (Self::U64, "u64"),
        (Self::U32, "u32"),
        (Self::I64, "i64"),
    ];

    /// The name in files and messages, such as `f64`.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The type with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// Whether it is floating point; only then can a body be without a value (NaN).
    pub fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32)
    }

    /// Bytes of one value.
    pub fn bytes(self) -> usize {
        match self {
            Self::F64 | Self::U64 | Self::I64 => 8,
            Self::F32 | Self::U32 => 4,
        }
    }
}

/// One number per body. In floating point NaN means no value; integers have a value for every body.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Column {
    /// Of [`ColumnType::F64`].
    F64(Vec<f64>),
    /// Of [`ColumnType::F32`].
    F32(Vec<f32>),
    /// Of [`ColumnType::U64`].
    U64(Vec<u64>),
    /// Of [`ColumnType::U32`].
    U32(Vec<u32>),
    /// Of [`ColumnType::I64`].
    I64(Vec<i64>),
}

/// Evaluates an expression for the values in their own type.
macro_rules! each {
    ($column:expr, $values:ident => $result:expr) => {
        match $column {
            $crate::snapshot::Column::F64($values) => $result,
            $crate::snapshot::Column::F32($values) => $result,
            $crate::snapshot::Column::U64($values) => $result,
            $crate::snapshot::Column::U32($values) => $result,
            $crate::snapshot::Column::I64($values) => $result,
        }
    };
}
pub(super) use each;

/// Appends `more`, which is moved instead if there is no room for it and nothing before it.
pub(super) fn append<T>(to: &mut Vec<T>, mut more: Vec<T>) {
    match to.is_empty() && to.capacity() < more.len() {
        true => *to = more,
        false => to.append(&mut more),
    }
}

impl Column {
    /// An empty column with room for `capacity` values.
    pub(super) fn with_capacity(kind: ColumnType, capacity: usize) -> Self {
        match kind {
            ColumnType::F64 => Self::F64(Vec::with_capacity(capacity)),
            ColumnType::F32 => Self::F32(Vec::with_capacity(capacity)),
            ColumnType::U64 => Self::U64(Vec::with_capacity(capacity)),
            ColumnType::U32 => Self::U32(Vec::with_capacity(capacity)),
            ColumnType::I64 => Self::I64(Vec::with_capacity(capacity)),
        }
    }

    /// Appends bodies without a value: NaN, and 0 where integers are still to be filled in.
    pub(super) fn extend_missing(&mut self, count: usize) {
        match self {
            Self::F64(values) => values.resize(values.len() + count, f64::NAN),
            Self::F32(values) => values.resize(values.len() + count, f32::NAN),
            Self::U64(values) => values.resize(values.len() + count, 0),
            Self::U32(values) => values.resize(values.len() + count, 0),
            Self::I64(values) => values.resize(values.len() + count, 0),
        }
    }

    /// The type of its values.
    pub fn kind(&self) -> ColumnType {
        match self {
            Self::F64(_) => ColumnType::F64,
            Self::F32(_) => ColumnType::F32,
            Self::U64(_) => ColumnType::U64,
            Self::U32(_) => ColumnType::U32,
            Self::I64(_) => ColumnType::I64,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// Removes all values but these.
    pub fn keep(&mut self, rows: &Range<usize>) {
        each!(self, values => crate::bodies::keep(values, rows));
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a column of the same type; `None` if it is of another.
    pub(super) fn append(&mut self, more: Self) -> Option<()> {
        match (self, more) {
            (Self::F64(values), Self::F64(more)) => append(values, more),
            (Self::F32(values), Self::F32(more)) => append(values, more),
            (Self::U64(values), Self::U64(more)) => append(values, more),
            (Self::U32(values), Self::U32(more)) => append(values, more),
            (Self::I64(values), Self::I64(more)) => append(values, more),
            _ => return None,
        }
        Some(())
    }

    /// Value `i`, which must be below [`Self::len`]; integers beyond 2^53 are rounded to f64.
    pub fn value(&self, i: usize) -> f64 {
        match self {
            Self::F64(values) => values[i],
            Self::F32(values) => values[i].into(),
            Self::U64(values) => values[i] as f64,
            Self::U32(values) => values[i].into(),
            Self::I64(values) => values[i] as f64,
        }
    }

    /// Value `i` of an integer column, in two's complement if signed; `None` for floating point.
    pub(super) fn whole(&self, i: usize) -> Option<u64> {
        match self {
            Self::U64(values) => Some(values[i]),
            Self::U32(values) => Some(values[i].into()),
            Self::I64(values) => Some(values[i] as u64),
            Self::F64(_) | Self::F32(_) => None,
        }
    }

    /// Whether body `i` has a value: false if it is NaN.
    pub fn has_value(&self, i: usize) -> bool {
        !self.value(i).is_nan()
    }

    /// Whether every value that there is is 0, and not -0.
    pub(super) fn is_zero(&self) -> bool {
        (0..self.len()).all(|i| !self.has_value(i) || self.value(i).to_bits() == 0)
    }

    /// All values as f64: borrowed if they are, else converted as by [`Self::value`].
    pub fn to_f64(&self) -> Cow<'_, [f64]> {
        match self {
            Self::F64(values) => values.into(),
            _ => (0..self.len()).map(|i| self.value(i)).collect(),
        }
    }
}

macro_rules! from {
    ($($value:ty => $kind:ident),*) => {$(
        impl From<Vec<$value>> for Column {
            fn from(values: Vec<$value>) -> Self {
                Self::$kind(values)
            }
        }

        impl FromIterator<$value> for Column {
            fn from_iter<I: IntoIterator<Item = $value>>(values: I) -> Self {
                Self::$kind(values.into_iter().collect())
            }
        }
    )*};
}
from!(f64 => F64, f32 => F32, u64 => U64, u32 => U32, i64 => I64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_types_have_names_and_sizes_and_convert_to_f64() {
        for (kind, _) in ColumnType::ALL {
            assert_eq!(ColumnType::from_name(kind.name()), Some(kind));
            assert_eq!(Column::with_capacity(kind, 3).kind(), kind);
            let bits: usize = kind.name()[1..].parse().unwrap();
            assert_eq!(kind.bytes() * 8, bits);
        }
        assert_eq!(ColumnType::from_name("f16"), None);
        let column = Column::from(vec![-7_i64, 9]);
        assert_eq!((column.len(), column.value(0)), (2, -7.0));
        assert_eq!(column.to_f64(), [-7.0, 9.0].as_slice());
        let column: Column = [1.5_f32, f32::NAN].into_iter().collect();
        assert!(column.has_value(0) && !column.has_value(1));
    }
}
