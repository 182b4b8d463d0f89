//! The fonts of the page: letters that are wanted look as they did, others are gone.

#[path = "../build/letters.rs"]
mod letters;

use ab_glyph::{Font, FontRef, OutlineCurve};

fn curves(font: &FontRef, c: char) -> Vec<OutlineCurve> {
    font.outline(font.glyph_id(c)).map_or(Vec::new(), |outline| outline.curves)
}

#[test]
fn letters_that_are_wanted_stay_as_they_are_and_others_go() {
    let fonts = [epaint_default_fonts::UBUNTU_LIGHT, epaint_default_fonts::HACK_REGULAR];
    for whole in fonts {
        let thin = letters::thinned(whole, letters::is_of_page).unwrap();
        assert!(thin.len() < whole.len() / 2, "{} of {}", thin.len(), whole.len());
        let [whole, thin] = [whole, &thin].map(|font| FontRef::try_from_slice(font).unwrap());
        let mut drawn = 0;
        for c in (0x20..0x2fff).filter_map(char::from_u32) {
            let (before, after) = (whole.glyph_id(c), thin.glyph_id(c));
            if !letters::is_of_page(u32::from(c)) {
                assert_eq!(after.0, 0, "{c:?} is gone");
                continue;
            }
            assert_eq!(before, after, "{c:?}");
            assert_eq!(whole.h_advance_unscaled(before), thin.h_advance_unscaled(after), "{c:?}");
            let [before, after] = [&whole, &thin].map(|font| format!("{:?}", curves(font, c)));
            assert_eq!(before, after, "{c:?}");
            drawn += usize::from(after.len() > 2);
        }
        assert!(drawn > 400, "{drawn} letters");
        // Put together of two.
        assert!(curves(&thin, 'ä').len() > curves(&thin, 'a').len());
    }
}

#[test]
fn what_is_no_font_is_refused() {
    let whole = epaint_default_fonts::HACK_REGULAR;
    for wrong in [&[][..], b"nonsense, and not a font", &whole[..2000], &whole[..whole.len() / 2]] {
        assert!(letters::thinned(wrong, letters::is_of_page).is_none());
    }
}
