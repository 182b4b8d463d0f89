//! Formats with a fixed set of kinds of bodies: which component becomes which kind, and in which
//! order.

use std::ops::Range;
use std::path::Path;

use super::Losses;
use crate::bodies::{Bodies, Component, Role};
use crate::error::{Error, Result};
use crate::messages;

/// A kind of bodies in a format, and the component it is read as.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyType {
    pub name: &'static str,
    pub role: Role,
}

impl BodyType {
    pub fn component(&self) -> Component {
        Component::new(self.name, self.role)
    }
}

/// The index of a kind's component among `components`, to which it is added at the first call.
pub(super) fn index_of(
    known: &mut Option<u8>,
    kind: &BodyType,
    components: &mut Vec<Component>,
) -> u8 {
    *known.get_or_insert_with(|| {
        components.push(kind.component());
        (components.len() - 1) as u8
    })
}

/// Columns that tipsy and GADGET name differently.
const SAME_QUANTITIES: [(&str, &str); 5] =
    [("rho", "RHO"), ("hsmooth", "HSML"), ("metals", "Z"), ("tform", "AGE"), ("phi", "POT")];

/// GADGET's name for a column of tipsy's, for snapshots converted from one to the other.
pub(super) fn gadget_name(tipsy_name: &str) -> Option<&'static str> {
    SAME_QUANTITIES.iter().find(|(tipsy, _)| *tipsy == tipsy_name).map(|(_, gadget)| *gadget)
}

/// Indices of the bodies grouped by section, in their order within each, and the number in each
/// section. `section` is in 0..`sections` for every body.
pub(super) fn order(
    bodies: &Bodies,
    sections: usize,
    section: impl Fn(usize) -> usize,
) -> (Vec<usize>, Vec<usize>) {
    let mut counts = vec![0; sections];
    for i in 0..bodies.len() {
        counts[section(i)] += 1;
    }
    let mut next: Vec<usize> = (0..sections).map(|s| counts[..s].iter().sum()).collect();
    let mut order = vec![0; bodies.len()];
    for i in 0..bodies.len() {
        let place = &mut next[section(i)];
        order[*place] = i;
        *place += 1;
    }
    (order, counts)
}

/// The members of each section of an [`order`].
pub(super) fn sections<'a>(
    order: &'a [usize],
    counts: &'a [usize],
) -> impl Iterator<Item = &'a [usize]> {
    let mut rest = order;
    counts.iter().map(move |&count| {
        let (members, after) = rest.split_at(count);
        rest = after;
        members
    })
}

/// The bodies of one file of several.
#[derive(Clone)]
pub(super) struct FileBodies {
    /// Range within an [`order`].
    pub range: Range<usize>,
    /// Number of bodies by section.
    pub counts: Vec<usize>,
}

/// Splits an [`order`] evenly among `files` files.
pub(super) fn shares(
    order: &[usize],
    files: usize,
    sections: usize,
    section: impl Fn(usize) -> usize,
) -> Vec<FileBodies> {
    let begin = |k: usize| (order.len() as u128 * k as u128 / files as u128) as usize;
    let share = |k: usize| {
        let range = begin(k)..begin(k + 1);
        let mut counts = vec![0; sections];
        order[range.clone()].iter().for_each(|&i| counts[section(i)] += 1);
        FileBodies { range, counts }
    };
    (0..files).map(share).collect()
}

/// Notes what is lost of the components if component c is written as `kinds[kind_of(c)]`.
pub(super) fn note_components(
    bodies: &Bodies,
    kinds: &[BodyType],
    kind_of: impl Fn(&Component) -> usize,
    losses: &mut Losses,
) {
    let mut used = vec![false; bodies.components.len()];
    for &component in &bodies.component {
        used[component as usize] = true;
    }
    let quoted = |list: &[&Component]| {
        list.iter()
            .map(|c| format!("'{}' ({})", c.name, c.role.name()))
            .collect::<Vec<_>>()
            .join(", ")
    };
    for (k, kind) in kinds.iter().enumerate() {
        let here: Vec<_> = bodies
            .components
            .iter()
            .zip(&used)
            .filter(|(component, used)| **used && kind_of(component) == k)
            .map(|(component, _)| component)
            .collect();
        match here[..] {
            [] => {}
            [one] if *one == kind.component() => {}
            [_] => losses.note(format!("component {} becomes '{}'", quoted(&here), kind.name)),
            _ => {
                losses.note(format!("components {} are merged into '{}'", quoted(&here), kind.name))
            }
        }
    }
    let empty: Vec<_> =
        bodies.components.iter().zip(&used).filter(|(_, used)| !**used).map(|(c, _)| c).collect();
    if !empty.is_empty() {
        losses.note(format!("components without bodies cannot be held: {}", quoted(&empty)));
    }
}

// Whether the files of a snapshot in several files belong together.

/// What the header of one file says of the whole snapshot.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StatedHeader {
    /// Number of files.
    pub files: u64,
    pub time: f64,
    /// Bodies in this file by type.
    pub counts: Vec<u64>,
    /// Bodies in all files by type; all 0 if the writer left them out.
    pub totals: Vec<u64>,
}

/// Checks that the files belong to one snapshot of `files` files, whose types are `kinds`.
///
/// # Errors
/// Another number of files, time or total in one of them; bodies that do not add up.
pub(super) fn agree(
    stated: &[(&Path, StatedHeader)],
    files: u64,
    kinds: &[BodyType],
) -> Result<()> {
    let [(first_path, first), others @ ..] = stated else { return Ok(()) };
    for (path, other) in others {
        let differ = |what: &str, of: &dyn Fn(&StatedHeader) -> String| {
            let [here, there] = [other, first].map(of);
            let name = messages::path(first_path, messages::PIECE);
            let problem = format!(
                "says {what} {here}, but {name} says {there}: they belong to different snapshots"
            );
            Err(Error::file(path, problem))
        };
        if first.files != other.files {
            return differ("the number of files is", &|stated| stated.files.to_string());
        }
        if first.time.to_bits() != other.time.to_bits() {
            return differ("the time is", &|stated| format!("{:?}", stated.time));
        }
        if first.totals != other.totals {
            let totals = |stated: &StatedHeader| format!("{:?}", stated.totals);
            return differ("the bodies by type in all files are", &totals);
        }
    }
    let is_whole = files > 1 && stated.len() as u64 == files;
    // Some writers leave the totals out.
    if !is_whole || first.totals.iter().all(|total| *total == 0) {
        return Ok(());
    }
    for (t, kind) in kinds.iter().enumerate() {
        let counts = stated.iter().map(|(_, stated)| u128::from(stated.counts[t]));
        let (found, total) = (counts.sum::<u128>(), first.totals[t]);
        if found != u128::from(total) {
            let name = kind.name;
            let problem = format!(
                "says that all {files} files have {total} bodies of type {t} ({name}), but they have {found}"
            );
            return Err(Error::file(first_path, problem));
        }
    }
    Ok(())
}
