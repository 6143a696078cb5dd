use super::*;
use crate::testing::{column, container};

fn of(names: &[&str]) -> Vec<ColumnDefinition> {
    names.iter().map(|name| column(name, ElementType::Long, false)).collect()
}

#[test]
fn columns_are_found_in_any_order_and_with_any_capitals() {
    let container = container("T", Kind::Collection, of(&["Id", "b", "A", "ö"]), 1);
    let positions = |names: &[&str]| {
        let mut columns = of(names);
        columns[0].is_not_null = true;
        let by_name = names_of(&columns);
        container.definition.positions_among(Kind::Collection, (&columns, &by_name), 1)
    };
    assert_eq!(positions(&["Id", "b", "A", "ö"]), Some(vec![0, 1, 2, 3]));
    assert_eq!(positions(&["ID", "ö", "B", "a"]), Some(vec![0, 2, 3, 1]));
    for others in [&["Id", "b", "A", "o"][..], &["Id", "b", "A"], &["b", "Id", "A", "ö"]] {
        assert_eq!(positions(others), None, "{others:?}");
    }
}

#[test]
fn a_name_is_there_once_whatever_its_capitals() {
    for (names, is_refused) in [(["a", "b", "A"], true), (["a", "b", "c"], false)] {
        let mut sent = Vec::new();
        write_columns(of(&names).iter(), 0, &mut sent);
        assert_eq!(read_columns(&mut Reader::new(&sent)).is_err(), is_refused, "{names:?}");
    }
}
