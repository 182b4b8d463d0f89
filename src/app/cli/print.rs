//! Printing to standard output, where the reader may go away.

use std::io::{ErrorKind, Write};

use anyhow::Result;

/// Prints text as it stands.
pub fn text(text: &str) -> Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// Prints a value as JSON, indented, with a line end.
pub fn json(value: &serde_json::Value) -> Result<()> {
    text(&format!("{value:#}\n"))
}

/// A table with aligned columns: the first row is the header.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())))
            .collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// True for the error of writing to a reader that is gone.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_have_no_tail() {
        let rows = [["name", "n"], ["é", "10"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "name  n\né     10\n");
    }
}
