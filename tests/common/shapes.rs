//! A file of tuned kernel shapes (forces with derivatives) whose sums have another order than the
//! default rule's.

/// Replaces the fitted shapes in `tuned`: each is valid on any adapter, and the number of slices
/// differs for each number of sinks, so that using the shape of a subset of the sinks for all of
/// them changes the bits. The entries of the rule are unchanged.
pub fn unlike_the_rule(tuned: &str) -> String {
    let (mut is_found, mut slices) = (false, 1);
    let lines = tuned.lines().map(|line| {
        if line.starts_with('[') {
            is_found = line.contains("fitted.shape");
            slices += u32::from(is_found);
        }
        let shape = [("p", 4), ("q", 2), ("r", 1), ("u", 2), ("l", 1), ("slices", slices)];
        let other = shape.into_iter().find(|(name, _)| line.starts_with(&format!("{name} = ")));
        match other.filter(|_| is_found) {
            Some((name, value)) => format!("{name} = {value}"),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
