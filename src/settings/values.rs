//! Values with a text form, the same on a command line and in a file.

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

impl std::fmt::Display for PictureSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// A point in the bodies' units, of finite numbers. As text, X,Y,Z.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Point(pub [f64; 3]);

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let numbers: Vec<f64> =
            text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
        match <[f64; 3]>::try_from(numbers) {
            Ok(point) if text.split(',').count() == 3 && point.iter().all(|x| x.is_finite()) => {
                Ok(Self(point))
            }
            _ => Err("expected three numbers, such as 1.5,0,-2".to_owned()),
        }
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "{x},{y},{z}")
    }
}

/// Two numbers greater than 0, the second the larger. As text, LEAST,MOST.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ValueRange(pub [f64; 2]);

impl FromStr for ValueRange {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let numbers: Vec<f64> =
            text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
        match <[f64; 2]>::try_from(numbers) {
            Ok([least, most])
                if text.split(',').count() == 2
                    && least > 0.0
                    && most > least
                    && most.is_finite() =>
            {
                Ok(Self([least, most]))
            }
            _ => Err("expected two numbers greater than 0, the second the larger, such as 0.1,3"
                .to_owned()),
        }
    }
}

impl std::fmt::Display for ValueRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [least, most] = self.0;
        write!(f, "{least},{most}")
    }
}

/// Lets serde read and write values as text.
macro_rules! as_text {
    ($($value:ty),*) => {$(
        impl TryFrom<String> for $value {
            type Error = String;

            fn try_from(text: String) -> std::result::Result<Self, String> {
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

as_text!(PictureSize, Point, ValueRange);
