//! How rows are printed.

use crate::operate::print;
use serde_json::Value;

/// Rows of a table that are looked at together for its widths.
const ROWS_TOGETHER: usize = 1_000;
/// Bytes that are printed at once.
const BYTES_TOGETHER: usize = 32 << 10;
/// A column is not made narrower.
const WIDTH_MIN: usize = 8;

/// Takes an answer apart.
pub(super) trait Output {
    /// Its columns come first: names and types.
    fn columns(&mut self, columns: Vec<Value>);
    /// A row.
    fn row(&mut self, values: Vec<Value>);
    /// After the last row, with what the node says of all.
    fn end(&mut self, said: &Value);
    /// After rows that are not all.
    fn broken(&mut self) {}
}

fn name_of(column: &Value) -> String {
    column["name"].as_str().unwrap_or_default().to_owned()
}

/// A value without quotes; nothing of null.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Text that is printed a good deal at a time.
#[derive(Default)]
struct Printer(String);

impl Printer {
    fn add(&mut self, text: &str) {
        self.0.push_str(text);
        if self.0.len() >= BYTES_TOGETHER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        print(&std::mem::take(&mut self.0));
    }
}

/// Columns below each other.
#[derive(Default)]
pub(super) struct Table {
    width_max: Option<usize>,
    names: Vec<String>,
    rows: Vec<Vec<Cell>>,
    has_printed: bool,
}

struct Cell {
    text: String,
    is_number: bool,
}

impl Table {
    /// One that is as wide as the terminal, if there is one.
    pub(super) fn new(width_max: Option<usize>) -> Self {
        Self { width_max, ..Self::default() }
    }

    fn print_rows(&mut self) {
        let text = self.drawn();
        self.rows.clear();
        self.has_printed = true;
        print(&text);
    }

    /// What waits, with the names before it.
    fn drawn(&self) -> String {
        let mut widths: Vec<usize> = self.names.iter().map(|name| name.chars().count()).collect();
        for row in &self.rows {
            widths.iter_mut().zip(row).for_each(|(width, cell)| *width = cell.text.chars().count().max(*width));
        }
        if let Some(width_max) = self.width_max {
            fit(&mut widths, width_max);
        }
        let line = |cells: Vec<String>| cells.join(" | ").trim_end().to_owned() + "\n";
        let mut text = if self.has_printed { "\n".to_owned() } else { String::new() };
        text.push_str(&line(self.names.iter().zip(&widths).map(|(name, width)| padded(name, *width, false)).collect()));
        text.push_str(&line(widths.iter().map(|width| "-".repeat(*width)).collect()));
        for row in &self.rows {
            text.push_str(&line(row.iter().zip(&widths).map(|(cell, width)| padded(&cell.text, *width, cell.is_number)).collect()));
        }
        text
    }
}

/// Makes the widest columns narrower until the line fits.
fn fit(widths: &mut [usize], width_max: usize) {
    let mut too_wide = (widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1)).saturating_sub(width_max);
    while too_wide > 0 {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > WIDTH_MIN) else { return };
        *widest -= 1;
        too_wide -= 1;
    }
}

fn padded(text: &str, width: usize, is_number: bool) -> String {
    if text.chars().count() > width {
        return text.chars().take(width.saturating_sub(1)).chain(['…']).collect();
    }
    if is_number { format!("{text:>width$}") } else { format!("{text:<width$}") }
}

impl Output for Table {
    fn columns(&mut self, columns: Vec<Value>) {
        self.names = columns.iter().map(name_of).collect();
    }

    fn row(&mut self, values: Vec<Value>) {
        // A terminal does as control characters say.
        let shown = |text: String| text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect();
        let cell = |value: &Value| match value {
            Value::Null => Cell { text: "null".to_owned(), is_number: false },
            value => Cell { text: shown(text_of(value)), is_number: value.is_number() },
        };
        self.rows.push(values.iter().map(cell).collect());
        if self.rows.len() == ROWS_TOGETHER {
            self.print_rows();
        }
    }

    fn end(&mut self, said: &Value) {
        if !self.rows.is_empty() || !self.has_printed {
            self.print_rows();
        }
        let count = said["row_count"].as_u64().unwrap_or(0);
        let more = if said["has_more"] == true { ", and there are more" } else { "" };
        let took_ms = said["took_ms"].as_f64().unwrap_or(0.0);
        print(&format!("({count} row{}{more}, {took_ms:.1} ms)\n", if count == 1 { "" } else { "s" }));
    }

    fn broken(&mut self) {
        if !self.rows.is_empty() {
            self.print_rows();
        }
    }
}

/// Values with commas between.
#[derive(Default)]
pub(super) struct Csv(Printer);

impl Csv {
    fn line(&mut self, values: impl Iterator<Item = String>) {
        let quoted = |text: String| {
            let needs_quotes = text.contains([',', '"', '\n', '\r']);
            if needs_quotes { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
        };
        self.0.add(&(values.map(quoted).collect::<Vec<_>>().join(",") + "\n"));
    }
}

impl Output for Csv {
    fn columns(&mut self, columns: Vec<Value>) {
        self.line(columns.iter().map(name_of));
    }

    fn row(&mut self, values: Vec<Value>) {
        self.line(values.iter().map(text_of));
    }

    fn end(&mut self, _: &Value) {
        self.0.flush();
    }

    fn broken(&mut self) {
        self.0.flush();
    }
}

/// One document.
#[derive(Default)]
pub(super) struct JsonDocument {
    has_rows: bool,
    printer: Printer,
}

impl Output for JsonDocument {
    fn columns(&mut self, columns: Vec<Value>) {
        self.printer.add(&format!("{{\"columns\":{},\n\"rows\":[", Value::Array(columns)));
    }

    fn row(&mut self, values: Vec<Value>) {
        self.printer.add(&format!("{}\n{}", if self.has_rows { "," } else { "" }, Value::Array(values)));
        self.has_rows = true;
    }

    fn end(&mut self, said: &Value) {
        self.printer.add(&format!("],\n{}\n", &said.to_string()[1..]));
        self.printer.flush();
    }

    fn broken(&mut self) {
        self.printer.add("]}\n");
        self.printer.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn drawn(width_max: Option<usize>, columns: Value, rows: &[Value]) -> String {
        let mut table = Table::new(width_max);
        table.columns(columns.as_array().cloned().unwrap_or_default());
        rows.iter().for_each(|row| table.row(row.as_array().cloned().unwrap_or_default()));
        table.drawn()
    }

    #[test]
    fn tables_are_as_wide_as_their_values_or_the_terminal() {
        let columns = json!([{"name": "id"}, {"name": "note"}]);
        let rows = [json!([1, "a\u{1b}[31m\n"]), json!([-20, null])];
        let expected = "id  | note\n--- | -------------\n  1 | a\\u{1b}[31m\\n\n-20 | null\n";
        assert_eq!(drawn(None, columns.clone(), &rows), expected);
        let narrow = drawn(Some(16), columns, &[json!([1, "größer als der Platz"])]);
        assert_eq!(narrow, "id | note\n-- | -----------\n 1 | größer als…\n");
    }

    #[test]
    fn columns_get_narrower_only_so_far() {
        let mut widths = [40, 10, 3];
        fit(&mut widths, 30);
        assert_eq!(widths, [11, 10, 3]);
        fit(&mut widths, 1);
        assert_eq!(widths, [8, 8, 3]);
    }
}
