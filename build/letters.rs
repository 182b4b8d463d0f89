//! Fonts with those letters alone that are wanted: what a page is to load holds no letters that nobody sees, and no
//! instructions for screens with few pixels (who draws letters fits them to the pixels by their shapes).
//!
//! TrueType alone. Letters keep their numbers, so that the tables of distances between them stay as they are.

use std::collections::{BTreeMap, BTreeSet};

/// Tables that go over as they are.
const KEPT: [&[u8; 4]; 6] = [b"GPOS", b"OS/2", b"head", b"hhea", b"hmtx", b"maxp"];

/// Components of a letter that is put together of others: bits of their flags.
const WORDS: u16 = 1;
const SCALE: u16 = 1 << 3;
const MORE: u16 = 1 << 5;
const TWO_SCALES: u16 = 1 << 6;
const MATRIX: u16 = 1 << 7;
const INSTRUCTIONS: u16 = 1 << 8;

/// Whether a page may show this character: Latin, Greek and Cyrillic letters, signs, arrows and shapes. Names of files
/// may have others, which egui shows as a box.
pub fn is_of_page(c: u32) -> bool {
    let ranges = [0x20..=0x17f, 0x2b0..=0x2ff, 0x370..=0x3ff, 0x400..=0x45f, 0x2000..=0x22ff];
    ranges.iter().any(|range| range.contains(&c)) || (0x2300..=0x27bf).contains(&c)
}

/// `font` with the wanted letters; `None` where it is no font that this understands.
pub fn thinned(font: &[u8], wanted: impl Fn(u32) -> bool) -> Option<Vec<u8>> {
    let tables = tables(font)?;
    let chars = chars(tables.get(b"cmap")?)?;
    let chars: BTreeMap<u32, u16> = chars.into_iter().filter(|(c, _)| wanted(*c)).collect();
    let has_long_places = u16_at(tables.get(b"head")?, 50)? == 1;
    let (places, shapes) = (tables.get(b"loca")?, tables.get(b"glyf")?);
    let count = usize::from(u16_at(tables.get(b"maxp")?, 4)?);
    let shape = |glyph: usize| -> Option<&[u8]> {
        let place = |k: usize| match has_long_places {
            true => Some(u32_at(places, 4 * k)? as usize),
            false => Some(2 * usize::from(u16_at(places, 2 * k)?)),
        };
        shapes.get(place(glyph)?..place(glyph + 1)?)
    };
    let mut todo: Vec<u16> = chars.values().copied().chain([0]).collect();
    let mut used = BTreeSet::new();
    while let Some(glyph) = todo.pop() {
        if used.insert(glyph) {
            todo.extend(components(shape(usize::from(glyph))?)?);
        }
    }
    let (mut new_places, mut new_shapes) = (Vec::new(), Vec::new());
    for glyph in 0..count {
        new_places.extend((new_shapes.len() as u32).to_be_bytes());
        if used.contains(&(glyph as u16)) {
            new_shapes.extend(without_instructions(shape(glyph)?)?);
            new_shapes.resize(new_shapes.len().next_multiple_of(4), 0);
        }
    }
    new_places.extend((new_shapes.len() as u32).to_be_bytes());
    let mut new: BTreeMap<[u8; 4], Vec<u8>> = BTreeMap::new();
    for name in KEPT {
        new.extend(tables.get(name).map(|table| (*name, table.to_vec())));
    }
    new.get_mut(b"head")?.get_mut(50..52)?.copy_from_slice(&1u16.to_be_bytes());
    // Without names of letters.
    let mut names = tables.get(b"post")?.get(..32)?.to_vec();
    names[..4].copy_from_slice(&0x0003_0000u32.to_be_bytes());
    let rest =
        [(b"cmap", map_of(&chars)), (b"loca", new_places), (b"glyf", new_shapes), (b"post", names)];
    new.extend(rest.map(|(name, table)| (*name, table)));
    Some(file_of(&new))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn tables(font: &[u8]) -> Option<BTreeMap<[u8; 4], &[u8]>> {
    let entry = |k: usize| {
        let entry = font.get(12 + 16 * k..28 + 16 * k)?;
        let (from, len) = (u32_at(entry, 8)? as usize, u32_at(entry, 12)? as usize);
        Some((entry[..4].try_into().ok()?, font.get(from..from + len)?))
    };
    (0..usize::from(u16_at(font, 4)?)).map(entry).collect()
}

/// Characters and the numbers of their letters, by a table in format 4.
fn chars(table: &[u8]) -> Option<BTreeMap<u32, u16>> {
    let parts = (0..usize::from(u16_at(table, 2)?)).map(|k| 4 + 8 * k);
    let places = parts.filter_map(|at| table.get(u32_at(table, at + 4)? as usize..));
    let part = places.into_iter().find(|part| u16_at(part, 0) == Some(4))?;
    let twice = usize::from(u16_at(part, 6)?);
    let mut found = BTreeMap::new();
    for segment in (0..twice).step_by(2) {
        let column = |k: usize| u16_at(part, 14 + k * twice + if k > 0 { 2 } else { 0 } + segment);
        let (last, first, shift, range) = (column(0)?, column(1)?, column(2)?, column(3)?);
        for c in first..=last {
            let glyph = match range {
                0 => c.wrapping_add(shift),
                _ => {
                    let at =
                        16 + 3 * twice + segment + usize::from(range) + 2 * usize::from(c - first);
                    match u16_at(part, at).unwrap_or(0) {
                        0 => 0,
                        glyph => glyph.wrapping_add(shift),
                    }
                }
            };
            if glyph != 0 && c != u16::MAX {
                found.insert(u32::from(c), glyph);
            }
        }
    }
    Some(found)
}

/// The letters that one is put together of, where it is.
fn components(shape: &[u8]) -> Option<Vec<u16>> {
    let mut found = Vec::new();
    each_component(shape, |at| {
        found.extend(u16_at(shape, at + 2));
    })?;
    Some(found)
}

/// Calls `seen` with the place of each component; the end of the last one, or none for a letter with lines of its own.
fn each_component(shape: &[u8], mut seen: impl FnMut(usize)) -> Option<Option<usize>> {
    if shape.is_empty() || u16_at(shape, 0)? < 0x8000 {
        return Some(None);
    }
    let mut at = 10;
    loop {
        seen(at);
        let flags = u16_at(shape, at)?;
        let sizes = [(WORDS, 2), (SCALE, 2), (TWO_SCALES, 4), (MATRIX, 8)];
        at += 6 + sizes
            .iter()
            .filter(|(bit, _)| flags & bit != 0)
            .map(|(_, size)| size)
            .sum::<usize>();
        if flags & MORE == 0 {
            return Some(Some(at));
        }
    }
}

fn without_instructions(shape: &[u8]) -> Option<Vec<u8>> {
    let mut new = shape.to_vec();
    let mut places = Vec::new();
    match each_component(shape, |at| places.push(at))? {
        Some(end) => {
            new.truncate(end);
            for at in places {
                let flags = u16_at(shape, at)? & !INSTRUCTIONS;
                new[at..at + 2].copy_from_slice(&flags.to_be_bytes());
            }
        }
        None if shape.is_empty() => {}
        None => {
            let at = 10 + 2 * usize::from(u16_at(shape, 0)?);
            let count = usize::from(u16_at(shape, at)?);
            new.get(at + 2..at + 2 + count)?;
            new.drain(at + 2..at + 2 + count);
            new[at..at + 2].fill(0);
        }
    }
    Some(new)
}

/// A table in format 12.
fn map_of(chars: &BTreeMap<u32, u16>) -> Vec<u8> {
    let mut groups: Vec<[u32; 3]> = Vec::new();
    for (&c, &glyph) in chars {
        match groups.last_mut() {
            Some([first, last, begin])
                if *last + 1 == c && *begin + c - *first == u32::from(glyph) =>
            {
                *last = c
            }
            _ => groups.push([c, c, u32::from(glyph)]),
        }
    }
    let head = [0u16, 1, 3, 10].into_iter().flat_map(u16::to_be_bytes);
    let bytes = 16 + 12 * groups.len() as u32;
    let begin = [12u32, 12 << 16, bytes, 0, groups.len() as u32].into_iter();
    head.chain(begin.chain(groups.into_iter().flatten()).flat_map(u32::to_be_bytes)).collect()
}

fn file_of(tables: &BTreeMap<[u8; 4], Vec<u8>>) -> Vec<u8> {
    let count = tables.len() as u16;
    let log = count.ilog2() as u16;
    let search = 16 << log;
    let head = [0x0001, 0, count, search, log, 16 * count - search];
    let mut file: Vec<u8> = head.into_iter().flat_map(u16::to_be_bytes).collect();
    let mut at = file.len() + 16 * tables.len();
    for (name, table) in tables {
        let words = table.chunks(4).map(|word| {
            let mut whole = [0; 4];
            whole[..word.len()].copy_from_slice(word);
            u32::from_be_bytes(whole)
        });
        let sum = words.fold(0u32, u32::wrapping_add);
        file.extend(name);
        file.extend([sum, at as u32, table.len() as u32].into_iter().flat_map(u32::to_be_bytes));
        at += table.len().next_multiple_of(4);
    }
    for table in tables.values() {
        file.extend(table);
        file.resize(file.len().next_multiple_of(4), 0);
    }
    file
}
