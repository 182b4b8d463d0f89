//! Values with a text form, the same on a command line and in a file.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The longest side of a picture in pixels: what every WebGPU device can render.
pub const MAX_SIDE_PX: u32 = 8192;
/// The most pixels in a picture: 2^25 holds 8K UHD (7680 x 4320).
pub const MAX_PIXELS: u32 = 1 << 25;

/// Width and height of a picture in pixels, checked against [`MAX_SIDE_PX`] and [`MAX_PIXELS`].
/// As text, WxH: 1280x720.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PictureSize {
    width: u32,
    height: u32,
}

impl PictureSize {
    /// 1280 x 720, the default for films.
    pub const HD: Self = Self { width: 1280, height: 720 };

    /// A size of 1 to 8192 pixels a side and at most 2^25 pixels altogether.
    pub fn new(width: u32, height: u32) -> Result<Self> {
        let fits = (1..=MAX_SIDE_PX).contains(&width)
            && (1..=MAX_SIDE_PX).contains(&height)
            && width * height <= MAX_PIXELS;
        if fits {
            return Ok(Self { width, height });
        }
        Err(Error::value(
            "the picture size",
            format!("{width}x{height}"),
            format!("1 to {MAX_SIDE_PX} pixels a side and at most {MAX_PIXELS} pixels in all"),
        ))
    }

    /// Pixels from left to right.
    pub fn width(self) -> u32 {
        self.width
    }

    /// Pixels from top to bottom.
    pub fn height(self) -> u32 {
        self.height
    }

    /// Number of pixels.
    pub fn pixels(self) -> usize {
        self.width as usize * self.height as usize
    }

    /// The shorter side in pixels; lengths that should look alike in every format scale with it.
    pub fn shorter_side(self) -> u32 {
        self.width.min(self.height)
    }

    /// The size shrunk by `factor` on each axis, rounded up, so that every pixel is covered.
    pub(crate) fn shrunk(self, factor: u32) -> Self {
        Self { width: self.width.div_ceil(factor), height: self.height.div_ceil(factor) }
    }

    /// A size with these sides, each limited to between 1 and its own.
    pub(crate) fn shrunk_to(self, [width, height]: [u32; 2]) -> Self {
        Self { width: width.clamp(1, self.width), height: height.clamp(1, self.height) }
    }
}

impl FromStr for PictureSize {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parse = |(w, h): (&str, &str)| Some((w.parse().ok()?, h.parse().ok()?));
        let (width, height) = text
            .split_once(['x', 'X'])
            .and_then(parse)
            .ok_or("expected WIDTHxHEIGHT, such as 1280x720")?;
        Self::new(width, height).map_err(|error| error.to_string())
    }
}

impl fmt::Display for PictureSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// What every writer of films needs to know beforehand.
#[derive(Clone, Copy, Debug)]
pub struct FilmOptions {
    /// Size of every picture.
    pub size: PictureSize,
    /// Pictures per second, 1 to 240.
    pub frames_per_sec: u32,
}

/// `N` numbers, separated by commas.
fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let numbers: std::result::Result<Vec<f64>, _> =
        text.split(',').map(|part| part.trim().parse()).collect();
    numbers.ok()?.try_into().ok()
}

/// A point in the bodies' units, of finite numbers. As text, X,Y,Z.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Coordinates(pub [f64; 3]);

impl FromStr for Coordinates {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let point = numbers(text).filter(|point| point.iter().all(|x| x.is_finite()));
        point.map(Self).ok_or_else(|| "expected three numbers, such as 1.5,0,-2".to_owned())
    }
}

impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "{x},{y},{z}")
    }
}

/// Two finite numbers, the second the larger. As text, LEAST,MOST.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ValueRange(pub [f64; 2]);

impl FromStr for ValueRange {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let fits = |[least, most]: &[f64; 2]| least.is_finite() && most > least && most.is_finite();
        numbers(text)
            .filter(fits)
            .map(Self)
            .ok_or_else(|| "expected two numbers, the second the larger, such as 0.1,3".to_owned())
    }
}

impl fmt::Display for ValueRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [least, most] = self.0;
        write!(f, "{least},{most}")
    }
}

/// How many devices to use at once. As text, a number from 1 up, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceCount {
    /// This many, at least 1.
    These(u32),
    /// All of one kind, if that is faster than one.
    Auto,
}

impl DeviceCount {
    /// The default.
    pub const ONE: Self = Self::These(1);
    /// More than any machine has.
    const MOST: u32 = 256;

    /// As many as there are names, at least one.
    pub fn of_names(names: usize) -> Self {
        Self::These(names.clamp(1, Self::MOST as usize) as u32)
    }

    /// Whether it is one device on any machine.
    pub fn is_one(&self) -> bool {
        *self == Self::ONE
    }
}

/// The number of files of each snapshot of a run. As text, a number or `ranks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum FileCount {
    /// This many, from 1 to 65,536.
    These(u32),
    /// One for each rank of MPI.
    Ranks,
}

impl FileCount {
    /// A single file.
    pub const ONE: Self = Self::These(1);

    /// The number of files for `n` bodies on `ranks` ranks. Each has a body.
    pub fn of(self, n: usize, ranks: usize) -> usize {
        let files = match self {
            Self::These(files) => files as usize,
            Self::Ranks => ranks,
        };
        files.clamp(1, n.max(1))
    }

    /// Refuses more files than there are bodies; ranks without a body write none.
    ///
    /// # Errors
    ///
    /// [`Error::Value`].
    pub fn check(self, n: usize) -> Result<()> {
        match self {
            Self::These(files) if files > 1 && files as usize > n => {
                let allowed = format!("ranks or 1 to {n}, the number of bodies");
                Err(Error::value("--files", files, allowed))
            }
            _ => Ok(()),
        }
    }
}

/// How often the tree is rebuilt while bodies move. As text, a number of steps from 1 up, or
/// `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "NumberOrWord<u64>", into = "NumberOrWord<u64>")]
#[non_exhaustive]
pub enum Rebuild {
    /// At steps whose number is divisible by this, at least 1.
    Every(u64),
    /// As often as is fastest by the clock. Only the window offers it, since no two runs then have
    /// the same bits.
    Auto,
}

impl Rebuild {
    /// At every step.
    pub const EACH_STEP: Self = Self::Every(1);

    /// Whether a tree may serve more than one step.
    pub fn keeps(&self) -> bool {
        *self != Self::EACH_STEP
    }
}

/// A value that as text is a number of this range or one word; `$allowed` tells in errors of
/// `$name` what it may be. The default is 1.
macro_rules! number_or_word {
    ($value:ident: $number:ident in $range:expr, $word:ident $text:literal; $name:literal, $allowed:expr) => {
        impl Default for $value {
            fn default() -> Self {
                Self::$number(1)
            }
        }

        impl fmt::Display for $value {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::$number(number) => number.fmt(f),
                    Self::$word => f.write_str($text),
                }
            }
        }

        impl FromStr for $value {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                if text == $text {
                    return Ok(Self::$word);
                }
                let number = text.parse().ok().filter(|number| $range.contains(number));
                number.map(Self::$number).ok_or_else(|| Error::value($name, text, $allowed))
            }
        }
    };
}

number_or_word!(
    DeviceCount: These in (1..=Self::MOST), Auto "auto";
    "--devices", format!("auto or a number from 1 to {}", Self::MOST)
);
number_or_word!(
    FileCount: These in (1..=65_536), Ranks "ranks";
    "--files", "ranks or a number from 1 to 65536"
);
number_or_word!(
    Rebuild: Every in (0..=u64::MAX), Auto "auto";
    "rebuild", "1 (at each step), a larger number of steps, or auto (in the window)"
);

/// The form in files of a value that is a number or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or a word")]
pub(super) enum NumberOrWord<N> {
    Number(N),
    Word(String),
}

/// Lets serde read and write a value as a number, or else as text.
macro_rules! as_number_or_text {
    ($value:ident: $number:ident($of:ty)) => {
        impl From<$value> for NumberOrWord<$of> {
            fn from(value: $value) -> Self {
                match value {
                    $value::$number(number) => Self::Number(number),
                    other => Self::Word(other.to_string()),
                }
            }
        }

        impl TryFrom<NumberOrWord<$of>> for $value {
            type Error = Error;

            fn try_from(form: NumberOrWord<$of>) -> Result<Self> {
                match form {
                    NumberOrWord::Number(number) => Ok(Self::$number(number)),
                    NumberOrWord::Word(word) => word.parse(),
                }
            }
        }
    };
}

pub(super) use as_number_or_text;

as_number_or_text!(Rebuild: Every(u64));

/// Lets serde read and write values as text.
macro_rules! as_text {
    ($($value:ty),*) => {$(
        impl TryFrom<String> for $value {
            type Error = <$value as FromStr>::Err;

            fn try_from(text: String) -> std::result::Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$value> for String {
            fn from(value: $value) -> Self {
                value.to_string()
            }
        }
    )*};
}

as_text!(
    FileCount,
    PictureSize,
    Coordinates,
    ValueRange,
    super::Assignment,
    super::Comparison,
    super::SnapshotChoice,
    super::Throw,
    crate::field::Potential,
    DeviceCount
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_numbers_from_one_on_or_auto() {
        assert_eq!("auto".parse::<DeviceCount>().unwrap(), DeviceCount::Auto);
        assert_eq!("2".parse::<DeviceCount>().unwrap(), DeviceCount::These(2));
        for wrong in ["0", "-1", "two", "", "257"] {
            let text = wrong.parse::<DeviceCount>().unwrap_err().to_string();
            assert!(text.contains("auto or a number from 1 to 256"), "{text}");
        }
        assert_eq!([0, 1, 3].map(DeviceCount::of_names), [1, 1, 3].map(DeviceCount::These));
        assert!(DeviceCount::default().is_one());
    }

    #[test]
    fn files_are_counted_by_ranks_and_bodies() {
        let of = |text: &str, n, ranks| text.parse::<FileCount>().unwrap().of(n, ranks);
        assert_eq!([of("ranks", 100, 4), of("ranks", 3, 4), of("ranks", 100, 1)], [4, 3, 1]);
        assert_eq!([of("7", 100, 2), of("7", 5, 1), of("1", 0, 1)], [7, 5, 1]);
        assert!(FileCount::These(5).check(5).is_ok() && FileCount::Ranks.check(1).is_ok());
        let text = FileCount::These(6).check(5).unwrap_err().to_string();
        assert!(text.contains("--files is 6") && text.contains("1 to 5"), "{text}");
        for wrong in ["0", "-1", "65537", "rank", ""] {
            let text = wrong.parse::<FileCount>().unwrap_err().to_string();
            assert!(text.contains("must be ranks or a number from 1 to 65536"), "{text}");
        }
    }

    #[test]
    fn it_is_a_number_or_auto_in_texts_and_files() {
        #[derive(PartialEq, Debug, Serialize, Deserialize)]
        struct File {
            rebuild: Rebuild,
        }
        for (rebuild, text) in [(Rebuild::Every(4), "4"), (Rebuild::Auto, "auto")] {
            assert_eq!(text.parse::<Rebuild>().unwrap(), rebuild);
            assert_eq!(rebuild.to_string(), text);
            let file = toml::to_string(&File { rebuild }).unwrap();
            assert_eq!(toml::from_str::<File>(&file).unwrap(), File { rebuild });
        }
        assert_eq!(toml::to_string(&File { rebuild: Rebuild::Every(4) }).unwrap(), "rebuild = 4\n");
        for wrong in ["often", "-1", "1.5", ""] {
            let text = wrong.parse::<Rebuild>().unwrap_err().to_string();
            assert!(text.contains("a larger number of steps, or auto"), "{text}");
        }
    }
}
