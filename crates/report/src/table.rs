//! Text in columns.

use unicode_width::UnicodeWidthStr;

/// A table whose columns are as wide as their widest cell.
pub(crate) struct Table {
    /// Is the column of numbers, to be aligned at the right?
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings; a heading that begins with `>` is over numbers.
    pub fn new(headings: &[&str]) -> Self {
        Self {
            right: headings.iter().map(|heading| heading.starts_with('>')).collect(),
            rows: vec![
                headings.iter().map(|heading| heading.trim_start_matches('>').to_owned()).collect(),
            ],
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The rows as lines.
    pub fn render(&self) -> String {
        let columns = self.right.len();
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let padding = " ".repeat(widths[column] - cell.width());
                let (left, right) =
                    if self.right[column] { (&*padding, "") } else { ("", &*padding) };
                line.extend([left, cell, right, "  "]);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Items separated by commas, broken into lines of at most about `width` columns.
pub(crate) fn wrap(items: &[String], width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (at, item) in items.iter().enumerate() {
        let item = if at + 1 < items.len() { format!("{item},") } else { item.clone() };
        let last = lines.len() - 1;
        if lines[last].is_empty() {
            lines[last] = item;
        } else if lines[last].width() + 1 + item.width() <= width {
            lines[last].push(' ');
            lines[last].push_str(&item);
        } else {
            lines.push(item);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        let mut table = Table::new(&["name", ">gets"]);
        table.row(vec!["聖マリア".into(), "1".into()]);
        table.row(vec!["St Mary".into(), "0.25".into()]);
        assert_eq!(table.render(), "name      gets\n聖マリア     1\nSt Mary   0.25\n");
    }

    #[test]
    fn long_lists_are_broken() {
        let items: Vec<String> = ["aaa", "bbb", "cccccccccc", "d"].map(String::from).to_vec();
        assert_eq!(wrap(&items, 9), ["aaa, bbb,", "cccccccccc,", "d"]);
    }
}
