//! Which dataset holds which column.

use super::super::kinds::gadget_name;

/// The datasets that every type of bodies has.
pub(super) const COORDINATES: &str = "Coordinates";
pub(super) const VELOCITIES: &str = "Velocities";
pub(super) const IDS: &str = "ParticleIDs";
/// The first is the one that is written. SWIFT's black holes have the second.
pub(super) const MASSES: [&str; 2] = ["Masses", "DynamicalMasses"];
/// The index of the component, in this program's own files.
pub(super) const COMPONENT: &str = "GravitileComponent";

/// Columns with the names of their datasets: the first is the one that is written.
const COLUMNS: [(&str, &[&str]); 13] = [
    ("U", &["InternalEnergy", "InternalEnergies"]),
    ("RHO", &["Density", "Densities"]),
    ("HSML", &["SmoothingLength", "SmoothingLengths"]),
    ("NE", &["ElectronAbundance"]),
    ("NH", &["NeutralHydrogenAbundance"]),
    ("SFR", &["StarFormationRate", "StarFormationRates"]),
    ("AGE", &["StellarFormationTime", "GFM_StellarFormationTime"]),
    ("Z", &["Metallicity", "GFM_Metallicity", "MetalMassFractions"]),
    ("POT", &["Potential", "Potentials"]),
    ("ACCE", &["Acceleration", "Accelerations"]),
    ("ENDT", &["RateOfChangeOfEntropy"]),
    ("TSTP", &["TimeStep", "TimeSteps"]),
    ("eps", &["SofteningLength", "Softenings"]),
];

/// The column of a dataset, without the suffixes of vectors.
pub(super) fn column(dataset: &str) -> &str {
    let known = COLUMNS.iter().find(|(_, datasets)| datasets.contains(&dataset));
    known.map_or(dataset, |(column, _)| column)
}

/// The dataset of a column; `None` if its name is taken or not possible.
pub(super) fn dataset(column: &str) -> Option<&str> {
    let column = gadget_name(column).unwrap_or(column);
    if let Some((_, datasets)) = COLUMNS.iter().find(|(known, _)| *known == column) {
        return Some(datasets[0]);
    }
    let is_taken = [COORDINATES, VELOCITIES, IDS, COMPONENT].contains(&column)
        || MASSES.contains(&column)
        // It would be read as another column.
        || self::column(column) != column;
    let is_possible =
        !column.is_empty() && column != "." && column.len() <= 255 && !column.contains(['/', '\0']);
    (is_possible && !is_taken).then_some(column)
}
