//! Options back into words: the command line that says the same.
//!
//! Each group is taken apart field by field: an option that is new and not said here does not compile.

use super::blocks::BlockOptions;
use super::options::{AdapterOptions, KernelOptions};
use super::{EngineOptions, InputOptions, LookOptions, StepOptions};
use crate::force::KernelWish;
use crate::gpu::AdapterWish;

/// A command line in the making.
#[derive(Default)]
pub struct Words(pub Vec<String>);

impl Words {
    /// A word by itself.
    pub fn word(&mut self, word: &str) {
        self.0.push(word.to_owned());
    }

    /// An option that stands alone.
    pub fn flag(&mut self, name: &str, wanted: bool) {
        if wanted {
            self.word(name);
        }
    }

    /// An option with a value, where there is one.
    pub fn value(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.0.extend([name.to_owned(), value.to_string()]);
        }
    }

    /// The same for one that is left out where it says what is usual.
    fn unless<T: PartialEq + ToString>(&mut self, name: &str, value: &T, usual: &T) {
        self.value(name, (value != usual).then(|| value.to_string()));
    }

    /// For a shell.
    pub fn line(&self) -> String {
        self.0.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// In quotes where it must be.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,=+:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

impl InputOptions {
    /// Says them.
    pub fn say(&self, words: &mut Words) {
        let Self { input, n, seed, set, gravity, renumber } = self;
        words.word(input);
        words.value("-n", n.as_ref());
        words.value("--seed", seed.as_ref());
        for (name, value) in set {
            words.value("--set", Some(format!("{name}={value}")));
        }
        words.value("--gravity", gravity.as_ref());
        words.flag("--renumber", *renumber);
    }
}

impl StepOptions {
    /// Says them.
    pub fn say(&self, words: &mut Words) {
        let Self { eps, dt, integrator, blocks } = self;
        words.value("--eps", eps.as_ref());
        words.value("--dt", dt.as_ref());
        words.value("--integrator", integrator.as_ref());
        let BlockOptions { eta, eta6, dt_max, precision, host_blocks } = blocks;
        words.value("--eta", eta.as_ref());
        words.value("--eta6", eta6.as_ref());
        words.value("--dt-max", dt_max.as_ref());
        words.value("--precision", precision.as_ref());
        words.flag("--host-blocks", *host_blocks);
    }
}

impl LookOptions {
    /// Says them.
    pub fn say(&self, words: &mut Words) {
        let usual = Self::default();
        let Self {
            colour,
            palette,
            halo,
            extent,
            inclination,
            azimuth,
            orbit,
            follow,
            stops,
            fixed_exposure,
            sprite_size,
            bloom,
            trails,
            renderer,
        } = self;
        words.value("--colour", colour.as_ref());
        words.unless("--palette", palette, &usual.palette);
        words.flag("--halo", *halo);
        words.unless("--stops", stops, &usual.stops);
        words.flag("--fixed-exposure", *fixed_exposure);
        words.unless("--sprite-size", sprite_size, &usual.sprite_size);
        words.unless("--bloom", bloom, &usual.bloom);
        words.unless("--trails", trails, &usual.trails);
        words.unless("--renderer", renderer, &usual.renderer);
        words.unless("--follow", follow, &usual.follow);
        words.value("--inclination", inclination.as_ref());
        words.value("--azimuth", azimuth.as_ref());
        words.value("--extent", extent.as_ref());
        words.value("--orbit", orbit.as_ref());
    }
}

impl EngineOptions {
    /// Says them.
    pub fn say(&self, words: &mut Words) {
        let Self { engine, adapter, kernel } = self;
        words.unless("--engine", engine, &"auto".to_owned());
        let AdapterOptions { adapter, baseline } = adapter;
        words.value("--adapter", adapter.as_ref());
        words.flag("--baseline", *baseline);
        let KernelOptions { p, q, r, unroll, slices, untiled, tiled, one_workgroup, checked } =
            kernel;
        words.value("--p", p.as_ref());
        words.value("--q", q.as_ref());
        words.value("--r", r.as_ref());
        words.value("--unroll", unroll.as_ref());
        words.value("--slices", slices.as_ref());
        words.flag("--untiled", *untiled);
        words.flag("--tiled", *tiled);
        words.flag("--one-workgroup", *one_workgroup);
        words.flag("--checked", *checked);
    }
}

impl From<&AdapterWish> for AdapterOptions {
    /// The options that lead to this wish. What is known of an adapter from a file has no option.
    fn from(wish: &AdapterWish) -> Self {
        let AdapterWish { name, identity: _, baseline_only } = wish;
        Self { adapter: name.clone(), baseline: *baseline_only }
    }
}

impl From<&KernelWish> for KernelOptions {
    /// The options that lead to this wish.
    fn from(wish: &KernelWish) -> Self {
        let KernelWish { p, q, r, u, s, untiled, one_workgroup, checked } = *wish;
        Self {
            p,
            q,
            r,
            unroll: u,
            slices: s,
            untiled: untiled == Some(true),
            tiled: untiled == Some(false),
            one_workgroup: one_workgroup == Some(true),
            checked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        let words = Words(["a/b-c.tipsy", "my galaxy", "it's", ""].map(str::to_owned).to_vec());
        assert_eq!(words.line(), r"a/b-c.tipsy 'my galaxy' 'it'\''s' ''");
    }
}
