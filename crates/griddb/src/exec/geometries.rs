//! Queries by geometries, which come without a text: which rows of a collection meet one, and miss another one.

use crate::container::Container;
use crate::geometry::Geometry;
use crate::tql::Select;
use crate::wire::Reader;
use crate::{ErrorCode, GridError};
use std::sync::Arc;

/// The operator that there is: the boxes meet, or a quadratic surface goes through the box.
const INTERSECT: u8 = 0;

/// What is asked of a column's geometries.
pub(super) struct Geometries {
    column: usize,
    meets: Arc<Geometry>,
    misses: Option<Arc<Geometry>>,
}

impl Geometries {
    /// Reads what follows the head of a query with an operator, or `with_exclusion` of a second geometry.
    pub(super) fn read(reader: &mut Reader<'_>, with_exclusion: bool) -> Result<Self, GridError> {
        let column = usize::try_from(reader.i32()?).map_err(|_| GridError::malformed("a negative number of a column"))?;
        let geometry = |reader: &mut Reader<'_>| {
            let geometry = Geometry::of_wire(reader.var_bytes()?).map(Arc::new);
            geometry.map_err(|error| GridError::new(ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE, error.to_string()))
        };
        let meets = geometry(reader)?;
        if with_exclusion {
            return Ok(Self { column, meets, misses: Some(geometry(reader)?) });
        }
        if reader.u8()? != INTERSECT {
            return Err(GridError::malformed("an operator of geometries that is not known"));
        }
        Ok(Self { column, meets, misses: None })
    }

    pub(super) fn select(&self, container: &Container) -> Result<Select, GridError> {
        Select::geometries(container, self.column, Arc::clone(&self.meets), self.misses.clone())
    }
}
