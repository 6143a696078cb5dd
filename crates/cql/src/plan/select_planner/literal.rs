//! Literals as arguments in a selection.

use crate::language::ast::Selector;
use crate::plan::term_planner::neutral;
use crate::value::literal::Fit;
use model::DataType;

/// Whether a literal of a vector may be of this type, by the kinds of its elements.
pub(super) fn may_be(selector: &Selector, data_type: &DataType) -> bool {
    let (Selector::List(parts), DataType::Vector(element, _)) = (selector, data_type) else { return true };
    parts.iter().all(|part| match part {
        Selector::Literal(literal) => neutral(literal).is_none_or(|literal| literal.fit(element) != Fit::None),
        Selector::Set(_) | Selector::Map(_) => matches!(**element, DataType::Set(..) | DataType::Map(..) | DataType::Udt(..)),
        _ => true,
    })
}
