//! Conditions on where the geometries of a column are: found in a statement, and made for the statements that come without a text.

use super::expression::Node;
use super::function::Function;
use super::geometry_function::GeometryFunction;
use super::refusals::wrong_type;
use super::select::{Select, What};
use super::value::Value;
use crate::container::Container;
use crate::geometry::{Geometry, Kind};
use crate::schema::ElementType;
use crate::{ErrorCode, GridError};
use std::sync::Arc;

/// Geometries whose boxes those of a column meet wherever the node holds, with the column's position.
pub(super) fn meetings<'a>(node: &'a Node, found: &mut Vec<(usize, &'a Geometry)>) {
    match node {
        Node::And(nodes) => nodes.iter().for_each(|node| meetings(node, found)),
        Node::Function(Function::Geometry(GeometryFunction::BoundsMeet), arguments) => match &arguments[..] {
            [Node::Column(column), Node::Value(Value::Geometry(geometry))]
            | [Node::Value(Value::Geometry(geometry)), Node::Column(column)] => {
                found.push((*column, geometry));
            }
            _ => {}
        },
        _ => {}
    }
}

impl Select {
    /// The rows of which a column's geometry meets one, and does not meet another one.
    ///
    /// # Errors
    /// The container has no such column of geometries.
    pub fn geometries(
        container: &Container,
        column: usize,
        meets: Arc<Geometry>,
        misses: Option<Arc<Geometry>>,
    ) -> Result<Self, GridError> {
        let unknown = || GridError::new(ErrorCode::TQ_COLUMN_NOT_FOUND, format!("there is no column with the number {column}"));
        if container.definition.columns.get(column).ok_or_else(unknown)?.element != ElementType::Geometry {
            return Err(wrong_type("a query by a geometry is of a column of GEOMETRY"));
        }
        let condition = |geometry: Arc<Geometry>| {
            let is_surface = geometry.kind() == Kind::QuadraticSurface;
            let (column, geometry) = (Node::Column(column), Node::Value(Value::Geometry(geometry)));
            if is_surface {
                Node::Function(Function::Geometry(GeometryFunction::SurfaceCuts), vec![geometry, column])
            } else {
                Node::Function(Function::Geometry(GeometryFunction::BoundsMeet), vec![column, geometry])
            }
        };
        let mut conditions = vec![condition(meets)];
        conditions.extend(misses.map(|geometry| Node::Not(Box::new(condition(geometry)))));
        let mut select = Self::new(What::Rows);
        select.filter = Some(Node::And(conditions));
        Ok(select)
    }
}
