//! Table id → table: open addressing on the id, as a lookup is on every request's path and ids are dense small numbers.

use super::table::Table;
use base::TableId;

pub(crate) struct TableMap {
    cells: Vec<Option<(TableId, Table)>>,
    count: usize,
}

impl TableMap {
    pub(crate) fn new() -> Self {
        Self { cells: (0..16).map(|_| None).collect(), count: 0 }
    }

    /// The table's cell, or the free cell where it would go. A free cell always exists.
    fn position(&self, table: TableId) -> usize {
        let mask = self.cells.len() - 1;
        // The delta tables of a table differ from it in the highest two bits: the four are neighbours, and no others collide while ids are dense.
        let mut position = table.0.rotate_left(2) as usize & mask;
        while let Some((id, _)) = &self.cells[position] {
            if *id == table {
                break;
            }
            position = (position + 1) & mask;
        }
        position
    }

    pub(crate) fn get(&self, table: TableId) -> Option<&Table> {
        self.cells[self.position(table)].as_ref().map(|(_, table)| table)
    }

    pub(crate) fn get_mut(&mut self, table: TableId) -> Option<&mut Table> {
        let position = self.position(table);
        self.cells[position].as_mut().map(|(_, table)| table)
    }

    pub(crate) fn insert(&mut self, table: TableId, index: Table) {
        if (self.count + 1) * 2 > self.cells.len() {
            self.rebuild(self.cells.len() * 2);
        }
        let position = self.position(table);
        if self.cells[position].replace((table, index)).is_none() {
            self.count += 1;
        }
    }

    pub(crate) fn remove(&mut self, table: TableId) -> Option<Table> {
        let position = self.position(table);
        let (_, removed) = self.cells[position].take()?;
        self.count -= 1;
        self.rebuild(self.cells.len());
        Some(removed)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = TableId> + '_ {
        self.cells.iter().flatten().map(|(id, _)| *id)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (TableId, &mut Table)> {
        self.cells.iter_mut().flatten().map(|(id, table)| (*id, table))
    }

    fn rebuild(&mut self, length: usize) {
        let old = std::mem::replace(&mut self.cells, (0..length).map(|_| None).collect());
        for (id, table) in old.into_iter().flatten() {
            let position = self.position(id);
            self.cells[position] = Some((id, table));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_ids_with_their_delta_tables_have_cells_of_their_own() {
        let mut map = TableMap::new();
        let delta_tables = |id: u32| (0..4u32).map(move |bits| TableId(id | bits << 30));
        for id in (1..50).flat_map(delta_tables) {
            map.insert(id, Table::new());
        }
        let mask = map.cells.len() - 1;
        assert!((1..50).flat_map(delta_tables).all(|id| map.position(id) == id.0.rotate_left(2) as usize & mask));
    }

    #[test]
    fn tables_are_found_after_others_came_and_went() {
        let mut map = TableMap::new();
        for id in (0..200).map(|number| number * 16) {
            map.insert(TableId(id), Table::new());
        }
        for id in (0..100).map(|number| number * 32) {
            assert!(map.remove(TableId(id)).is_some());
            assert!(map.remove(TableId(id)).is_none());
        }
        for number in 0..200 {
            assert_eq!(map.get(TableId(number * 16)).is_some(), number % 2 == 1);
            assert_eq!(map.get_mut(TableId(number * 16)).is_some(), number % 2 == 1);
        }
        assert_eq!(map.ids().count(), 100);
        assert_eq!(map.iter_mut().count(), 100);
    }
}
