//! Rows of a table, a page at a time.

use super::cell;
use super::error::TablesError;
use super::port::Port;
use super::restriction::Restriction;
use super::table::CqlTable;
use cql::wire::Rows;
use sql::{RowName, Scan, SourceError, ValueRef};
use std::cell::OnceCell;
use std::sync::Arc;

/// The end of a cell that is null.
const NULL: u32 = u32::MAX;

/// Cells of a page, row by row.
#[derive(Default)]
struct Page {
    bytes: Vec<u8>,
    /// Where each begins and ends.
    cells: Vec<(u32, u32)>,
}

impl Page {
    fn take(&mut self, rows: &Rows<'_>) {
        self.bytes.clear();
        self.cells.clear();
        for cell in rows.cells() {
            let start = self.bytes.len() as u32;
            self.bytes.extend_from_slice(cell.unwrap_or_default());
            self.cells.push((start, if cell.is_some() { self.bytes.len() as u32 } else { NULL }));
        }
    }

    fn cell(&self, number: usize) -> Option<&[u8]> {
        let (start, end) = *self.cells.get(number)?;
        if end == NULL { None } else { self.bytes.get(start as usize..end as usize) }
    }
}

/// Where the next page begins.
enum Next {
    First,
    After(Vec<u8>),
    Over,
}

/// A scan.
pub(super) struct TableScan {
    port: Arc<Port>,
    table: Arc<CqlTable>,
    text: String,
    values: Vec<Vec<u8>>,
    /// Where each of the table's columns is in a row, if it is selected.
    places: Vec<Option<usize>>,
    selected: usize,
    page: Page,
    next: Next,
    /// The row, and the one after it, in the page.
    row: usize,
    after: usize,
    /// Texts of the row's cells that had to be written.
    texts: Vec<OnceCell<Option<String>>>,
    /// The row's primary key.
    name: OnceCell<Vec<u8>>,
}

impl TableScan {
    /// A scan that has not begun. `columns` are those that are looked at, as [`sql::Tables::scan`] has them; none restricts it to no row at all.
    pub(super) fn new(port: &Arc<Port>, table: &Arc<CqlTable>, restriction: Option<Restriction>, columns: u64) -> Self {
        // A row is known by its key, and a statement has to select something.
        let is_selected = |column: usize| column < table.key_len || columns >> column.min(63) & 1 == 1;
        let chosen: Vec<usize> = (0..table.columns.len()).filter(|column| is_selected(*column)).collect();
        let mut places = vec![None; table.columns.len()];
        chosen.iter().enumerate().for_each(|(place, column)| places[*column] = Some(place));
        let names: Vec<&str> = chosen.iter().map(|column| table.columns[*column].name.as_str()).collect();
        let next = if restriction.is_some() { Next::First } else { Next::Over };
        let Restriction { text, values } = restriction.unwrap_or_default();
        Self {
            port: Arc::clone(port),
            text: format!("SELECT {} FROM {}{text}", names.join(", "), table.name),
            values,
            selected: chosen.len(),
            texts: vec![OnceCell::new(); chosen.len()],
            table: Arc::clone(table),
            places,
            page: Page::default(),
            next,
            row: 0,
            after: 0,
            name: OnceCell::new(),
        }
    }

    fn fetch(&mut self) -> Result<bool, TablesError> {
        let after = match std::mem::replace(&mut self.next, Next::Over) {
            Next::First => None,
            Next::After(state) => Some(state),
            Next::Over => return Ok(false),
        };
        let page = &mut self.page;
        let state = self.port.page(&self.text, &self.values, after.as_deref(), |rows| {
            page.take(rows);
            rows.metadata.paging_state.map(<[u8]>::to_vec)
        })?;
        self.next = state.map_or(Next::Over, Next::After);
        self.after = 0;
        Ok(true)
    }

    /// The bytes of the row's primary key, each part with its length.
    fn key(&self) -> Vec<u8> {
        let mut key = Vec::new();
        for place in 0..self.table.key_len {
            let cell = self.page.cell(self.row * self.selected + place);
            key.extend_from_slice(&cell.map_or(NULL, |cell| cell.len() as u32).to_be_bytes());
            key.extend_from_slice(cell.unwrap_or_default());
        }
        key
    }
}

impl Scan for TableScan {
    fn advance(&mut self) -> Result<bool, SourceError> {
        self.texts.iter_mut().for_each(|text| drop(text.take()));
        self.name.take();
        while (self.after + 1) * self.selected > self.page.cells.len() {
            if !self.fetch()? {
                return Ok(false);
            }
        }
        self.row = self.after;
        self.after += 1;
        Ok(true)
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        let Some(place) = self.places.get(column).copied().flatten() else { return ValueRef::Null };
        let Some(cell) = self.page.cell(self.row * self.selected + place) else { return ValueRef::Null };
        let data_type = &self.table.columns[column].data_type;
        cell::plain(data_type, cell).unwrap_or_else(|| {
            let text = self.texts[place].get_or_init(|| cell::text(data_type, cell));
            text.as_deref().map_or(ValueRef::Null, ValueRef::Text)
        })
    }

    fn row(&self) -> RowName<'_> {
        if self.table.has_identity { RowName::Bytes(self.name.get_or_init(|| self.key())) } else { RowName::Key }
    }
}
