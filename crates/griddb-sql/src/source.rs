//! Containers as tables of queries: a scan is a query of TQL, executed in parts, whose conditions are those that it is told.

use crate::aggregate::aggregate;
use crate::analysis::Analysis;
use crate::client::{Client, Refusal, lock};
use crate::container::{Container, view_column};
use crate::meta;
use crate::parts::{Place, Wanted};
use crate::places::places;
use crate::query_text::{Values, query_text};
use crate::rows::RowFormat;
use crate::scan::PlacesScan;
use crate::views::{self, View};
use sql::syntax::with_units_quoted;
use sql::{Aggregation, Condition, Dialect, Order, Query, Scan, SourceError, Table, Tables, Times};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The node's containers, as one client sees them.
pub(crate) struct Source {
    client: Arc<Mutex<Client>>,
    /// Those that the statement names, by their names in lower case.
    containers: Mutex<BTreeMap<String, Arc<Container>>>,
    /// What notes how they are read, if the statement is analyzed.
    analysis: Option<Arc<Analysis>>,
}

impl Source {
    pub(crate) fn new(client: Arc<Mutex<Client>>) -> Self {
        Self { client, containers: Mutex::default(), analysis: None }
    }

    /// The same, whose reads are noted.
    pub(crate) fn analyzed(client: Arc<Mutex<Client>>, analysis: Arc<Analysis>) -> Self {
        Self { analysis: Some(analysis), ..Self::new(client) }
    }

    /// The container of a name.
    ///
    /// # Errors
    /// What the node says.
    pub(crate) fn container(&self, name: &str) -> Result<Option<Arc<Container>>, Refusal> {
        let key = name.to_ascii_lowercase();
        if let Some(known) = lock(&self.containers).get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let found = Container::find(&mut lock(&self.client), name)?.map(Arc::new);
        if let Some(container) = &found {
            lock(&self.containers).insert(key, Arc::clone(container));
        }
        Ok(found)
    }

    /// The views that a table about tables tells of, with their columns if it tells of these.
    fn views_of(&self, table: &str) -> Result<Vec<View>, Refusal> {
        let Some(tells_columns) = meta::tells_views(table) else { return Ok(Vec::new()) };
        let mut views = views::all(&mut lock(&self.client))?;
        for view in views.iter_mut().filter(|_| tells_columns) {
            let tables: Arc<dyn Tables> = Arc::new(Self::new(Arc::clone(&self.client)));
            // What names tables that are gone has no columns.
            let query = with_units_quoted(&view.definition).ok().and_then(|text| Query::prepare(&tables, &text).ok());
            view.columns = query.map_or(Vec::new(), |query| query.columns().into_iter().map(view_column).collect());
        }
        Ok(views)
    }
}

impl Tables for Source {
    fn dialect(&self) -> Dialect {
        Dialect::GridDb
    }

    fn zone_ms(&self) -> i64 {
        lock(&self.client).zone_ms()
    }

    fn times(&self) -> Times {
        let is_precise = lock(&self.containers).values().any(|container| container.has_precise_times());
        if is_precise { Times::PreciseTexts } else { Times::Milliseconds }
    }

    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        if name.starts_with('#') {
            return Ok(meta::find(name));
        }
        Ok(self.container(name)?.map(|container| Arc::clone(&container.table)))
    }

    fn view(&self, name: &str) -> Result<Option<String>, SourceError> {
        if name.starts_with('#') || views::is_container(name) {
            return Ok(None);
        }
        let Some(view) = views::find(&mut lock(&self.client), name)? else { return Ok(None) };
        Ok(Some(with_units_quoted(&view.definition)?))
    }

    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError> {
        if table.name.starts_with('#') {
            let views = self.views_of(&table.name)?;
            return meta::scan(&mut lock(&self.client), table, &views);
        }
        let container = self.container(&table.name)?.ok_or_else(|| format!("there is no table {}", table.name))?;
        let wanted = Wanted {
            text: query_text(&container, conditions, order, Values::Told).into(),
            columns,
            format: Arc::new(RowFormat::new(&container.columns, container.kind)),
            reading: self.analysis.as_ref().map(|analysis| analysis.reading(&container, (conditions, order), false)),
        };
        let places = places(&container, conditions, order).into_iter().map(|place| Place::new(place, wanted.clone())).collect();
        Ok(Box::new(PlacesScan::new(Arc::clone(&self.client), &container, places, &wanted)))
    }

    fn aggregate(
        &self,
        table: &Arc<Table>,
        wanted: &Aggregation,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Box<dyn Scan>>, SourceError> {
        if table.name.starts_with('#') {
            return Ok(None);
        }
        let container = self.container(&table.name)?.ok_or_else(|| format!("there is no table {}", table.name))?;
        let groups = aggregate((&self.client, self.analysis.as_ref()), &container, wanted, is_over)?;
        Ok(groups.map(|groups| Box::new(groups) as Box<dyn Scan>))
    }
}
