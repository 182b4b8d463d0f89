//! Validates every text of the build.

use super::*;
use crate::forces::tree::{MultipoleOrder, Opening, Rebuild};
use crate::gpu::{Checks, Language, translate};

const NAMES: [&str; 17] = [
    "clear",
    "medians",
    "centre",
    "spread",
    "edge",
    "keys",
    "gather",
    "count",
    "choose",
    "write",
    "rank",
    "link",
    "leaves",
    "inner",
    "groups",
    "scattered",
    "strength",
];

#[test]
fn every_text_validates_and_translates() {
    let theta = 0.5;
    let rules = [
        Opening::Acceleration { alpha: 0.003 },
        Opening::Radius { theta },
        Opening::Bonsai { theta },
        Opening::Octgrav { theta },
    ];
    for (k, opening) in rules.into_iter().enumerate() {
        for order in [MultipoleOrder::Monopole, MultipoleOrder::Quadrupole] {
            let shape = TreeShape::new(opening, order);
            // Only moments and groups depend on the rule.
            let names = if k == 0 { &NAMES[..] } else { &NAMES[12..15] };
            let rebuilt = TreeShape { rebuild: Rebuild::Every(4), ..shape };
            let usual = names.iter().map(|name| (name, text(name, &shape, false).unwrap()));
            let kept = [false, true].map(|again| text("gather", &rebuilt, again).unwrap());
            let kept = kept.into_iter().map(|text| (&"gather", text));
            for (name, text) in usual.chain(kept) {
                for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
                    for checks in [Checks::On, Checks::Off] {
                        let out = translate(name, &text, language, checks);
                        assert!(out.unwrap_or_else(|e| panic!("{e}\n{text}")).len() > 500);
                    }
                }
            }
        }
    }
}
