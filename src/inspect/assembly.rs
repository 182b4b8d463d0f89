//! Finds the inner loop in a driver's machine code and counts its instructions.
//!
//! Reads AMD's dialect as Mesa's compiler prints it: labels `BB3:`, branches `s_cbranch_scc0 BB3`,
//! and `v_rsq_f32` for the reciprocal square root, of which there is one per interaction.

/// The loop over the sources.
#[derive(Clone, Debug, PartialEq)]
pub struct InnerLoop {
    /// Its instructions, one per line.
    pub text: String,
    /// All instructions of one turn.
    pub instructions: usize,
    /// Those of the vector units: one per thread.
    pub vector: usize,
    /// Reads of workgroup memory.
    pub tile_reads: usize,
    /// Interactions in one turn.
    pub interactions: usize,
}

impl InnerLoop {
    /// Instructions per interaction.
    pub fn per_interaction(&self) -> f64 {
        self.instructions as f64 / self.interactions as f64
    }

    /// Vector instructions per interaction.
    pub fn vector_per_interaction(&self) -> f64 {
        self.vector as f64 / self.interactions as f64
    }
}

/// The innermost loop with the most reciprocal square roots, with `roots_per_interaction` per
/// interaction. `None` if there is no such loop, or the text is in another dialect.
pub fn inner_loop(assembly: &str, roots_per_interaction: usize) -> Option<InnerLoop> {
    let lines: Vec<&str> = assembly.lines().map(str::trim).collect();
    let mut loops: Vec<(usize, usize)> = Vec::new();
    for (end, line) in lines.iter().enumerate() {
        if let Some(target) = branch_target(line)
            && let Some(begin) = lines[..end].iter().position(|l| label(l) == Some(target))
        {
            loops.push((begin, end));
        }
    }
    let roots = |&(begin, end): &(usize, usize)| {
        lines[begin..=end].iter().filter(|l| l.starts_with("v_rsq_f32")).count()
    };
    let holds_another = |&(begin, end): &(usize, usize)| {
        loops.iter().any(|other| {
            (begin..=end).contains(&other.0)
                && (begin..=end).contains(&other.1)
                && *other != (begin, end)
                && roots(other) > 0
        })
    };
    let innermost = loops.iter().filter(|range| roots(range) > 0 && !holds_another(range));
    let &(begin, end) = innermost.max_by_key(|range| roots(range))?;
    let body: Vec<&str> =
        lines[begin..=end].iter().copied().filter(|l| is_instruction(l)).collect();
    let count = |prefix: &str| body.iter().filter(|l| l.starts_with(prefix)).count();
    Some(InnerLoop {
        instructions: body.len(),
        vector: count("v_"),
        tile_reads: count("ds_read") + count("ds_load"),
        interactions: (roots(&(begin, end)) / roots_per_interaction).max(1),
        text: body.join("\n"),
    })
}

fn label(line: &str) -> Option<&str> {
    line.strip_suffix(':').filter(|name| name.starts_with("BB"))
}

fn branch_target(line: &str) -> Option<&str> {
    if !line.starts_with("s_cbranch") && !line.starts_with("s_branch") {
        return None;
    }
    line.split_whitespace().find(|word| word.starts_with("BB"))
}

fn is_instruction(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or("");
    ["v_", "s_", "ds_", "buffer_", "global_", "image_", "flat_"]
        .iter()
        .any(|p| first.starts_with(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
BB0:
\ts_load_dword s0, s[2:3], 0x0 ; 00
BB1:
\tds_write_b128 v0, v[1:4]
BB2:
\tds_read_b128 v[0:3], v9 ; d8dc
\tv_sub_f32 v1, v2, v3
\tv_rsq_f32 v1, v1
\tv_rsq_f32 v2, v2
\ts_cbranch_scc0 BB2
BB3:
\tv_rsq_f32 v1, v1
\ts_add_u32 s0, s0, 1
\ts_cbranch_scc0 BB3
\ts_cbranch_scc0 BB1
\ts_endpgm
";

    #[test]
    fn innermost_loop_with_most_roots_is_selected() {
        let found = inner_loop(TEXT, 1).unwrap();
        assert_eq!((found.instructions, found.vector, found.tile_reads), (5, 3, 1));
        assert_eq!((found.interactions, found.per_interaction()), (2, 2.5));
        assert!(found.text.starts_with("ds_read_b128") && found.text.ends_with("BB2"));
        assert_eq!(inner_loop(TEXT, 2).unwrap().interactions, 1);
    }

    #[test]
    fn other_dialects_and_straight_code_have_none() {
        assert_eq!(inner_loop("", 1), None);
        assert_eq!(inner_loop("math.rsq(8) g2<1>F\nwhile(8) JIP: L0", 1), None);
        assert_eq!(inner_loop("BB0:\nv_rsq_f32 v0, v0\ns_endpgm", 1), None);
    }
}
