//! Which captions a picture has: title, time, a scale bar, the meaning of colours. Each is
//! optional. `writing` draws them, on platforms that have a font for it.

use crate::error::{Error, Result};

/// Which captions a picture has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captions {
    /// The scene's title, at the upper left.
    pub title: bool,
    /// The time in the scene's units, below it.
    pub time: bool,
    /// A bar of a round length, at the lower left.
    pub scale: bool,
    /// What colours mean, at the lower right: names of components, or a bar with numbers and units.
    pub colours: bool,
}

impl Captions {
    /// Their names on the command line.
    pub const ALL: [&'static str; 4] = ["title", "time", "scale", "colours"];
    /// Whether this build can draw them: in a browser there is no font for pictures.
    pub const ARE_WRITTEN: bool = cfg!(not(target_arch = "wasm32"));

    /// The names of those that are on, in the form that [`Captions::from_names`] reads.
    pub fn names(&self) -> String {
        let Self { title, time, scale, colours } = *self;
        let all = [title, time, scale, colours].into_iter().zip(Self::ALL);
        let names: Vec<&str> = all.filter_map(|(is_on, name)| is_on.then_some(name)).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(",") }
    }

    /// From names separated by commas; also `all` and `none`.
    ///
    /// # Errors
    ///
    /// Any other name; the message lists the known ones.
    pub fn from_names(names: &str) -> Result<Self> {
        let mut found = Self::default();
        for name in names.split(',').map(str::trim) {
            match name {
                "all" => found = Self { title: true, time: true, scale: true, colours: true },
                "none" => {}
                "title" => found.title = true,
                "time" => found.time = true,
                "scale" => found.scale = true,
                "colours" | "colors" => found.colours = true,
                _ => {
                    let known = Self::ALL.into_iter().chain(["all", "none"]);
                    return Err(Error::unknown("caption", name, known));
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caption_names_parse_and_unknown_ones_are_reported() {
        assert_eq!(Captions::from_names("none").unwrap(), Captions::default());
        let all = Captions::from_names("all").unwrap();
        assert_eq!(Captions::from_names("time, title,scale,colours").unwrap(), all);
        for captions in [all, Captions::default(), Captions { time: true, ..Captions::default() }] {
            assert_eq!(Captions::from_names(&captions.names()).unwrap(), captions);
        }
        assert!(Captions::from_names("date").unwrap_err().to_string().contains("scale"));
    }
}
