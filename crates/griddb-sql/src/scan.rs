//! Rows of a container, or of the data partitions of a table, a part at a time.

use crate::client::lock;
use crate::client::{Client, Refusal};
use crate::container::Container;
use crate::parts::{Place, Wanted};
use crate::readers::Readers;
use crate::rows::{RowFormat, Rows};
use sql::{RowName, Scan, SourceError, ValueRef};
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The rows of places, one place after the other. Once one turns out to be large, others are read at the same time.
pub(crate) struct PlacesScan {
    client: Arc<Mutex<Client>>,
    /// Those after the current one.
    places: VecDeque<Place>,
    current: Option<Place>,
    readers: Option<Readers>,
    /// That the rows are of, as they are called.
    container: Container,
    format: Arc<RowFormat>,
    reads_variable: bool,
    rows: Rows,
    /// What the row is called, if it was asked for.
    name: OnceCell<Vec<u8>>,
}

impl PlacesScan {
    pub(crate) fn new(client: Arc<Mutex<Client>>, table: &Container, places: VecDeque<Place>, wanted: &Wanted) -> Self {
        let is_used = |column: usize| wanted.columns >> column.min(63) & 1 == 1 || (column < table.key_len && table.table.key_len == 0);
        let reads_variable = (0..table.columns.len()).any(|column| table.columns[column].fixed_bytes().is_none() && is_used(column));
        let (container, format) = (table.clone(), Arc::clone(&wanted.format));
        Self {
            client,
            places,
            current: None,
            readers: None,
            container,
            format,
            reads_variable,
            rows: Rows::default(),
            name: OnceCell::new(),
        }
    }

    /// Reads the next part of any place; false after the last one.
    fn fetch(&mut self) -> Result<bool, Refusal> {
        loop {
            if self.current.as_ref().is_none_or(|place| !place.has_more()) {
                if let Some(readers) = &mut self.readers {
                    let Some((container, rows)) = readers.next(&self.client)? else { return Ok(false) };
                    (self.container, self.rows) = (container, rows);
                    return Ok(true);
                }
                let Some(next) = self.places.pop_front() else { return Ok(false) };
                self.container = next.container.clone();
                self.current = Some(next);
            }
            let Some(place) = &mut self.current else { return Ok(false) };
            let Some(rows) = place.fetch(&mut lock(&self.client))? else { continue };
            self.rows = rows;
            if place.has_more() && !self.places.is_empty() {
                let others = lock(&self.client).others();
                self.readers = Some(Readers::start(std::mem::take(&mut self.places), &others));
            }
            return Ok(true);
        }
    }

    /// Its key, where scans do not give rows in the order of it.
    fn key(&self) -> &[u8] {
        self.name.get_or_init(|| {
            let mut name = Vec::new();
            self.rows.put_key(&self.format, self.container.key_len, &mut name);
            name
        })
    }
}

impl Scan for PlacesScan {
    fn advance(&mut self) -> Result<bool, SourceError> {
        self.name.take();
        loop {
            if self.rows.advance(&self.format, self.reads_variable)? {
                return Ok(true);
            }
            if !self.fetch()? {
                return Ok(false);
            }
        }
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.rows.value(&self.format, column)
    }

    fn row(&self) -> RowName<'_> {
        if self.container.key_len == 0 {
            RowName::Number(self.container.number_of_row(self.rows.number()))
        } else if self.container.table.key_len == 0 {
            RowName::Bytes(self.key())
        } else {
            RowName::Key
        }
    }
}
