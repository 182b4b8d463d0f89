//! Writing in GADGET's layout.

use hdf5_writer::{
    AttributeBuilder, DatasetBuilder, FILTER_DEFLATE, FILTER_SHUFFLE, FilterDescription,
    H5WriteElement, Hdf5Builder,
};

use super::super::column::each;
use super::super::gadget::{self, gas_blocks, grouped};
use super::super::kinds::{order, sections, shares};
use super::super::losses::Narrow;
use super::super::{Column, ColumnType, FormatError, Losses, OutputFiles, Snapshot, WriteOptions};
use super::names::{self, COMPONENT, COORDINATES, IDS, MASSES, VELOCITIES};
use super::{KINDS, own, units};
use crate::error::Result;

/// GADGET-4's types; neutrinos are written as their component's role.
const TYPES: usize = 6;
/// Bytes of a chunk before compression.
const CHUNK_BYTES: usize = 1 << 20;
/// The level that h5py takes.
const LEVEL: u32 = 4;

/// Flags of the header with the attributes that hold them.
pub(super) const FLAGS: [(&str, &str); 5] = [
    ("Flag_Sfr", "gadget.flag_sfr"),
    ("Flag_Cooling", "gadget.flag_cooling"),
    ("Flag_Feedback", "gadget.flag_feedback"),
    ("Flag_StellarAge", "gadget.flag_stellar_age"),
    ("Flag_Metals", "gadget.flag_metals"),
];

type Built<T> = std::result::Result<T, hdf5_writer::Error>;

pub(super) fn write(
    snapshot: &Snapshot,
    options: &WriteOptions,
    output: &mut OutputFiles,
    losses: &mut Losses,
) -> Result<()> {
    let plan = DatasetLayout::new(snapshot, options, losses);
    let plan = plan.map_err(|problem| output.wrong(problem))?;
    let files = output.files();
    let shares = shares(&plan.order, files, TYPES, |i| plan.types[i] as usize);
    for (k, share) in shares.into_iter().enumerate() {
        // All files have the same attributes, so problems with them are noted once.
        let mut repeated = Losses::default();
        let losses = if k == 0 { &mut *losses } else { &mut repeated };
        let members = &plan.order[share.range];
        let bytes = plan.file(members, &share.counts, files, losses);
        let bytes = bytes.map_err(|error| output.wrong(error.to_string()))?;
        output.put(bytes)?;
    }
    Ok(())
}

/// A quantity of additional columns.
struct WrittenQuantity<'a> {
    dataset: &'a str,
    /// Empty for zeros.
    columns: Vec<&'a Column>,
}

/// How the bodies and numbers are written.
struct DatasetLayout<'a> {
    snapshot: &'a Snapshot,
    /// The type of each body.
    types: Vec<u8>,
    /// Indices of the bodies, grouped by type.
    order: Vec<usize>,
    totals: Vec<usize>,
    /// Whether positions, velocities and masses are f64.
    double: [bool; 3],
    /// Whether the components differ from those of the types.
    own_components: bool,
    quantities: Vec<WrittenQuantity<'a>>,
}

impl<'a> DatasetLayout<'a> {
    fn new(
        snapshot: &'a Snapshot,
        options: &WriteOptions,
        losses: &mut Losses,
    ) -> std::result::Result<Self, FormatError> {
        let bodies = &snapshot.bodies;
        let type_of: Vec<u8> = bodies.components.iter().map(gadget::type_of).collect();
        let types: Vec<u8> = bodies.component.iter().map(|&c| type_of[c as usize]).collect();
        let (order, totals) = order(bodies, TYPES, |i| types[i] as usize);
        let is_exact = |value: &f64| f64::from(*value as f32) == *value;
        let vectors = [&bodies.position, &bodies.velocity];
        let [positions, velocities] =
            vectors.map(|vectors| vectors.iter().all(|v| v.to_array().iter().all(is_exact)));
        let exact = [positions, velocities, bodies.mass.iter().all(is_exact)];
        let double = exact.map(|exact| options.double.unwrap_or(!exact));
        let mut plan = Self {
            snapshot,
            types,
            order,
            totals,
            double,
            own_components: false,
            quantities: Vec::new(),
        };
        plan.note_narrowed(losses)?;
        let present: Vec<_> =
            (0..TYPES).filter(|&t| plan.totals[t] > 0).map(|t| &KINDS[t]).collect();
        let differ = !bodies
            .components
            .iter()
            .eq(&present.iter().map(|k| k.component()).collect::<Vec<_>>());
        plan.own_components = differ && own::holds_components(&bodies.components);
        if differ && !plan.own_components {
            let kind_of = |component: &_| gadget::type_of(component) as usize;
            super::super::kinds::note_components(bodies, KINDS, kind_of, losses);
        }
        plan.quantities = plan.quantities(losses);
        Ok(plan)
    }

    /// Notes what f32 changes.
    fn note_narrowed(&self, losses: &mut Losses) -> std::result::Result<(), FormatError> {
        let bodies = &self.snapshot.bodies;
        let mut narrow = ["positions", "velocities", "masses"].map(Narrow::new);
        for i in 0..bodies.len() {
            let (x, v) = (bodies.position[i].to_array(), bodies.velocity[i].to_array());
            let numbers = [&x[..], &v, &bodies.mass[i..=i]];
            for ((narrow, numbers), double) in narrow.iter_mut().zip(numbers).zip(self.double) {
                if !double {
                    numbers.iter().for_each(|value| _ = narrow.f32(*value, i));
                }
            }
        }
        narrow.into_iter().try_for_each(|narrow| narrow.finish(losses))
    }

    /// The additional columns by dataset; those that fit into none are noted.
    fn quantities(&self, losses: &mut Losses) -> Vec<WrittenQuantity<'a>> {
        let snapshot = self.snapshot;
        let (mut found, mut lost) = (Vec::<WrittenQuantity>::new(), Vec::new());
        for name in snapshot.extra.keys() {
            let (quantity, members) = grouped(snapshot, name);
            let columns: Vec<_> = members.iter().map(|name| &snapshot.extra[name]).collect();
            let kind = columns[0].kind();
            let is_vector = members.len() > 1
                && members.len() <= 16
                && columns.iter().all(|column| column.kind() == kind);
            if is_vector && members[0] != *name {
                continue;
            }
            let (quantity, columns) = match is_vector {
                true => (quantity, columns),
                false => (name.as_str(), vec![&snapshot.extra[name]]),
            };
            match names::dataset(quantity) {
                Some(dataset) if found.iter().all(|other| other.dataset != dataset) => {
                    found.push(WrittenQuantity { dataset, columns });
                }
                _ => lost.push(name.clone()),
            }
        }
        losses.note_columns(&lost, " (their names are taken or impossible in HDF5)");
        if self.totals[0] > 0 {
            let needed = gas_blocks(false).iter().filter_map(|block| names::dataset(block));
            let missing: Vec<_> =
                needed.filter(|name| found.iter().all(|other| other.dataset != *name)).collect();
            losses.note_zeros_of_gas(&missing, "datasets");
            let zeros =
                missing.into_iter().map(|dataset| WrittenQuantity { dataset, columns: Vec::new() });
            found.extend(zeros);
        }
        found
    }

    /// The bytes of a file with these bodies.
    fn file(
        &self,
        members: &[usize],
        counts: &[usize],
        files: usize,
        losses: &mut Losses,
    ) -> Built<Vec<u8>> {
        let mut builder = self.header(counts, files)?;
        let components = self.own_components.then_some(&self.snapshot.bodies.components[..]);
        builder = own::write(builder, self.snapshot, components, losses)?;
        for (t, members) in sections(members, counts).enumerate() {
            if !members.is_empty() {
                builder = self.bodies(builder, t, members)?;
            }
        }
        builder.into_plan()?.encode(hdf5_writer::WriteOptions::default())
    }

    fn header(&self, counts: &[usize], files: usize) -> Built<Hdf5Builder> {
        let snapshot = self.snapshot;
        let number = |name: &str| snapshot.number(name).filter(|value| value.is_finite());
        let is_comoving = snapshot.scale_factor().is_some();
        let comoving = |name: &str| number(name).filter(|_| is_comoving);
        let hubble = comoving("hubble_parameter").filter(|h| h.is_normal() && *h > 0.0);
        let hubble = hubble.unwrap_or(1.0);
        let [length, mass, velocity] = units::written(&snapshot.units, hubble);
        let words = |numbers: &[usize], shift: u32| -> Vec<u32> {
            numbers.iter().map(|number| (*number as u64 >> shift) as u32).collect()
        };
        let this_file: Vec<u64> = counts.iter().map(|count| *count as u64).collect();
        let mut attributes = vec![
            match this_file.iter().all(|count| u32::try_from(*count).is_ok()) {
                true => AttributeBuilder::vector("NumPart_ThisFile", &words(counts, 0))?,
                false => AttributeBuilder::vector("NumPart_ThisFile", &this_file)?,
            },
            AttributeBuilder::vector("NumPart_Total", &words(&self.totals, 0))?,
            AttributeBuilder::vector("NumPart_Total_HighWord", &words(&self.totals, 32))?,
            AttributeBuilder::vector("MassTable", &[0.0; TYPES])?,
            AttributeBuilder::scalar("NumFilesPerSnapshot", files as i32)?,
            AttributeBuilder::scalar("Flag_DoublePrecision", i32::from(self.double[0]))?,
            AttributeBuilder::scalar("Flag_IC_Info", 0_i32)?,
            AttributeBuilder::scalar("ComovingIntegrationOn", i32::from(is_comoving))?,
        ];
        for (name, value) in [
            ("Time", snapshot.time),
            ("Redshift", comoving("redshift").unwrap_or(0.0)),
            ("BoxSize", number("box_size").unwrap_or(0.0)),
            ("Omega0", comoving("omega_0").unwrap_or(0.0)),
            ("OmegaLambda", comoving("omega_lambda").unwrap_or(0.0)),
            ("HubbleParam", hubble),
            ("UnitLength_in_cm", length),
            ("UnitMass_in_g", mass),
            ("UnitVelocity_in_cm_per_s", velocity),
        ] {
            attributes.push(AttributeBuilder::scalar(name, value)?);
        }
        for (name, attribute) in FLAGS {
            let flag = snapshot.attributes.get(attribute).and_then(|text| text.parse().ok());
            attributes.push(AttributeBuilder::scalar::<i32>(name, flag.unwrap_or(0))?);
        }
        let add = |builder: Hdf5Builder, one| builder.group_attribute("Header", one);
        Ok(attributes.into_iter().fold(Hdf5Builder::new(), add))
    }

    /// Adds the bodies of type `t`.
    fn bodies(&self, builder: Hdf5Builder, t: usize, members: &[usize]) -> Built<Hdf5Builder> {
        let bodies = &self.snapshot.bodies;
        let path = |dataset: &str| format!("PartType{t}/{dataset}");
        let [positions, velocities, masses] = self.double;
        let vectors = |vectors: &[glam::DVec3], double| {
            let all = members.iter().flat_map(|&i| vectors[i].to_array());
            real(all, double)
        };
        let mut all = vec![
            (COORDINATES, vectors(&bodies.position, positions), 3),
            (VELOCITIES, vectors(&bodies.velocity, velocities), 3),
            (MASSES[0], real(members.iter().map(|&i| bodies.mass[i]), masses), 1),
            (IDS, members.iter().map(|&i| bodies.id[i]).collect(), 1),
        ];
        if self.own_components {
            let index = members.iter().map(|&i| u32::from(bodies.component[i]));
            all.push((COMPONENT, index.collect(), 1));
        }
        let mut builder =
            all.into_iter().try_fold(builder, |builder, (name, column, values)| {
                Ok::<_, hdf5_writer::Error>(builder.dataset(dataset(path(name), &column, values)?))
            })?;
        for quantity in &self.quantities {
            let has_value = |column: &&Column| members.iter().any(|&i| column.has_value(i));
            let column = match &quantity.columns[..] {
                [] if t == 0 => Column::F32(vec![0.0; members.len()]),
                columns if columns.iter().any(has_value) => interleaved(columns, members),
                _ => continue,
            };
            let values = quantity.columns.len().max(1);
            builder = builder.dataset(dataset(path(quantity.dataset), &column, values)?);
        }
        Ok(builder)
    }
}

fn real(values: impl Iterator<Item = f64>, double: bool) -> Column {
    match double {
        true => values.collect(),
        false => values.map(|value| value as f32).collect(),
    }
}

/// The numbers of the bodies in row-major order; the columns have one type.
fn interleaved(columns: &[&Column], members: &[usize]) -> Column {
    macro_rules! of {
        ($($kind:ident),*) => {
            match columns[0].kind() {
                $(ColumnType::$kind => {
                    let numbers = |i: &usize| {
                        let i = *i;
                        columns.iter().map(move |column| match column {
                            Column::$kind(values) => values[i],
                            _ => Default::default(),
                        })
                    };
                    Column::$kind(members.iter().flat_map(numbers).collect())
                })*
            }
        };
    }
    of!(F64, F32, U64, U32, I64)
}

/// A compressed dataset of `values` numbers per body.
fn dataset(path: String, column: &Column, values: usize) -> Built<DatasetBuilder> {
    fn of<T: H5WriteElement>(path: String, numbers: &[T], values: usize) -> Built<DatasetBuilder> {
        let rows = numbers.len() / values;
        let chunk = (CHUNK_BYTES / (values * size_of::<T>())).clamp(1, rows.max(1));
        let shaped = |rows: usize| match values {
            1 => vec![rows as u64],
            _ => vec![rows as u64, values as u64],
        };
        let filter = |id, client_data| FilterDescription { id, name: None, client_data };
        Ok(DatasetBuilder::typed_data(path, shaped(rows), numbers)?
            .chunked(shaped(chunk))
            .filter(filter(FILTER_SHUFFLE, Vec::new()))
            .filter(filter(FILTER_DEFLATE, vec![LEVEL])))
    }
    each!(column, numbers => of(path, numbers, values))
}
