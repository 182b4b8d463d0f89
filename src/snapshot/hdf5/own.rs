//! What only this program's files hold, in the group `gravitile`: attributes of the snapshot,
//! components and names of units.

use hdf5_reader::group::Group;
use hdf5_writer::{AttributeBuilder, Hdf5Builder};

use super::super::{FormatError, Losses, Snapshot};
use super::numbers::{Attributes, child};
use super::units;
use crate::bodies::{Component, Role};
use crate::units::Units;

const GROUP: &str = "gravitile";
const ATTRIBUTES: &str = "attributes";
const UNITS: &str = "units";
const COMPONENTS: &str = "components";

/// Most bytes of an attribute: HDF5 takes up to 64 KiB with its description.
const MOST_BYTES: usize = 60_000;
/// Most bytes of all attributes together; a description of a group may have 1 MiB when read.
const MOST_IN_ALL: usize = 500_000;

/// The content of the group.
#[derive(Default)]
pub(super) struct GravitileGroup {
    pub attributes: Vec<(String, String)>,
    pub components: Vec<Component>,
    pub units: Option<Units>,
}

impl GravitileGroup {
    pub fn read(root: &Group) -> Result<Self, FormatError> {
        let Some(group) = child(root, GROUP)? else { return Ok(Self::default()) };
        let attributes = Attributes::of(&group, ATTRIBUTES)?;
        let text = |name: &str| Some((name.to_owned(), attributes.text(name)?));
        let texts = Attributes::of_group(&group)?.texts(COMPONENTS).unwrap_or_default();
        let component =
            |pair: &[String]| Some(Component::new(&pair[0], Role::from_name(&pair[1])?));
        let components = texts.chunks_exact(2).map(component).collect::<Option<Vec<_>>>();
        Ok(Self {
            attributes: attributes.names().filter_map(text).collect(),
            components: components.unwrap_or_default(),
            units: units::own(&Attributes::of(&group, UNITS)?),
        })
    }
}

/// Whether HDF5 can hold a text: it ends at the first NUL.
fn fits(text: &str) -> bool {
    text.len() <= MOST_BYTES && !text.contains('\0')
}

/// Whether the components can be held.
pub(super) fn holds_components(components: &[Component]) -> bool {
    let longest = components.iter().map(|component| component.name.len() + 1).max().unwrap_or(0);
    components.iter().all(|component| fits(&component.name))
        && 2 * components.len() * longest.max(6) <= MOST_BYTES
}

/// Adds the group. `components` are written if bodies name them.
pub(super) fn write(
    mut builder: Hdf5Builder,
    snapshot: &Snapshot,
    components: Option<&[Component]>,
    losses: &mut Losses,
) -> Result<Hdf5Builder, hdf5_writer::Error> {
    let path = |name: &str| format!("{GROUP}/{name}");
    let (mut lost, mut bytes) = (Vec::new(), 0);
    for (key, value) in &snapshot.attributes {
        if key.starts_with("layout.") {
            continue;
        }
        let room = bytes + key.len() + value.len();
        let is_name = !key.is_empty() && key.len() <= 1000 && !key.contains('/');
        if !is_name || !fits(key) || !fits(value) || room > MOST_IN_ALL {
            lost.push(key);
            continue;
        }
        bytes = room;
        let attribute = AttributeBuilder::fixed_string(key, value);
        builder = builder.group_attribute(path(ATTRIBUTES), attribute);
    }
    losses.note_attributes(snapshot, |key| !lost.iter().any(|lost| *lost == key));
    let units = &snapshot.units;
    if units.names().iter().all(|(_, name)| fits(name)) {
        for (what, name) in units.names() {
            let attribute = AttributeBuilder::fixed_string(what, name);
            builder = builder.group_attribute(path(UNITS), attribute);
        }
        let g = AttributeBuilder::scalar("gravitational_constant", units.gravitational_constant)?;
        builder = builder.group_attribute(path(UNITS), g);
    }
    if let Some(components) = components {
        let texts: Vec<&str> = components
            .iter()
            .flat_map(|component| [component.name.as_str(), component.role.name()])
            .collect();
        let attribute = AttributeBuilder::fixed_string_vector(COMPONENTS, &texts)?;
        builder = builder.group_attribute(GROUP, attribute);
    }
    Ok(builder)
}
