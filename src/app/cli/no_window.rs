//! `gravitile view` in a program built without the window: explains what to do.

use anyhow::Result;

use super::Ended;
use gravitile::error::Error;

/// Open a window (not available: this program was built without it)
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Any options of the window
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub fn main(_: Args) -> Result<Ended> {
    let how = "build it with 'cargo build --release' (the feature 'window' is on by default), \
               or make films and pictures with 'gravitile render'";
    Err(Error::Outside(format!("this program was built without the window: {how}")).into())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct View {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn view_explains_how_to_get_the_window_whatever_its_arguments() {
        for words in [&["view"][..], &["view", "plummer", "-n", "100", "--paused", "--eps=-1"]] {
            let args = View::try_parse_from(words).unwrap().args;
            assert_eq!(args.words, words[1..]);
            let text = main(args).err().unwrap().to_string();
            assert!(
                text.contains("built without the window: build it with 'cargo build"),
                "{text}"
            );
        }
    }
}
