//! Answers in several cuts are those at once.

use super::*;
use crate::tql::{Cut, Position, Rest};

const CUT: Cut = Cut { after: None, rows_max: u64::MAX, bytes_max: usize::MAX, whole_bytes_max: 0, left: None };

fn cut_run(container: &Container, rows: &Rows, select: &Select, cut: Cut) -> Result<(Vec<i64>, Rest), GridError> {
    let mut order: Vec<_> = rows.iter().collect();
    if select.is_descending() {
        order.reverse();
    }
    let mut execution = Execution::new(select.clone(), container, MEMORY_MAX)?.cutting(cut);
    for (key, bytes) in order {
        if execution.push(&StoredRow { container, clustering: key, view: RowView::new(bytes) })?.is_break() {
            break;
        }
    }
    let (Answer::Rows(found), rest) = execution.finish()? else { panic!("rows are expected") };
    Ok((keys(container, &found), rest))
}

#[test]
fn rows_come_once_and_in_order_however_they_are_cut() {
    let columns = vec![
        column("id", ElementType::Integer, false),
        column("text", ElementType::String, false),
        column("number", ElementType::Double, false),
        column("flag", ElementType::Byte, false),
    ];
    let container = testing::container("Cut", Kind::Collection, columns, 1);
    let mut rng = Rng::new(7);
    let rows: Rows = (0..300_i32)
        .map(|id| {
            let text = (rng.below(5) > 0).then(|| format!("t{}", rng.below(9)).into_bytes());
            let number = [0.0, 1.5, -2.0, f64::NAN, f64::INFINITY][rng.below(5) as usize];
            let number = (rng.below(6) > 0).then(|| number.to_be_bytes().to_vec());
            row(&container, &[Some(id.to_be_bytes().to_vec()), text, number, Some(vec![rng.below(2) as u8])])
        })
        .collect();
    for text in [
        "SELECT * ORDER BY text",
        "SELECT * ORDER BY text DESC, number",
        "SELECT * ORDER BY number DESC, flag DESC LIMIT 111",
        "SELECT * WHERE flag = 1 ORDER BY number, text DESC",
        "SELECT * ORDER BY flag, id DESC",
        "SELECT *",
        "SELECT * ORDER BY id DESC LIMIT 200",
        "SELECT MAX_ROWS(flag)",
    ] {
        let whole_select = parse(text, &container, NOW_MS).unwrap();
        let (whole, rest) = cut_run(&container, &rows, &whole_select, CUT).unwrap();
        assert_eq!((whole.len() > 50, rest.rows), (true, 0), "{text}");
        for (rows_max, bytes_max) in [(1, usize::MAX), (7, usize::MAX), (u64::MAX, 1_000), (u64::MAX, 8_000)] {
            let (mut found, mut after, mut left): (Vec<i64>, Option<Position>, u64) = (Vec::new(), None, u64::MAX);
            while left > 0 {
                let mut select = whole_select.clone();
                let limit = select.limit().map(|limit| limit - found.len() as u64);
                select.resume(0, limit);
                let cut = Cut { after: after.take(), rows_max, bytes_max, ..CUT };
                let (some, rest) = cut_run(&container, &rows, &select, cut).unwrap();
                assert!(!some.is_empty(), "{text}");
                found.extend(some);
                assert_eq!(found.len() as u64 + rest.rows, whole.len() as u64, "{text}: all are counted");
                left = rest.rows;
                // As it travels.
                after = rest.position.map(|position| {
                    let mut bytes = Vec::new();
                    position.write(&mut bytes);
                    Position::read(&mut crate::wire::Reader::new(&bytes), select.order().len()).unwrap()
                });
            }
            assert_eq!(found, whole, "{text}: {rows_max} rows, {bytes_max} bytes");
        }
    }
}

#[test]
fn a_cut_that_knows_what_is_left_looks_no_further() {
    let (container, rows) = people();
    let select = parse("SELECT *", &container, NOW_MS).unwrap();
    let all = rows.len() as u64;
    let at = |rows_max, left| cut_run(&container, &rows, &select, Cut { rows_max, left: Some(left), ..CUT }).unwrap().1;
    assert_eq!((at(1, 3).rows, at(1, 3).is_full), (0, true), "the others are not counted");
    assert_eq!(at(all, all).rows, 0);
    assert_eq!(at(2, 2).rows, 1, "one more than there should be");
    assert!(!at(all + 1, all + 1).is_full, "one less");
}

#[test]
fn what_is_small_is_whole_however_few_rows_are_wanted() {
    let (container, rows) = people();
    let all = rows.len() as u64;
    let select = parse("SELECT *", &container, NOW_MS).unwrap();
    let bytes = |rows_max| {
        let mut execution = Execution::new(select.clone(), &container, MEMORY_MAX).unwrap().cutting(Cut { rows_max, ..CUT });
        for (key, bytes) in &rows {
            let _ = execution.push(&StoredRow { container: &container, clustering: key, view: RowView::new(bytes) }).unwrap();
        }
        let (Answer::Rows(found), _) = execution.finish().unwrap() else { panic!("rows are expected") };
        let mut out = Vec::new();
        found.write_with_count(&mut out);
        (found.bytes(), out)
    };
    let ((whole, _), (_, two)) = (bytes(u64::MAX), bytes(2));
    for whole_bytes_max in 0..=whole + 1 {
        let cut = Cut { rows_max: 2, whole_bytes_max, ..CUT };
        let mut execution = Execution::new(select.clone(), &container, MEMORY_MAX).unwrap().cutting(cut);
        for (key, bytes) in &rows {
            let pushed = execution.push(&StoredRow { container: &container, clustering: key, view: RowView::new(bytes) }).unwrap();
            assert!(pushed.is_continue(), "all are counted");
        }
        let (Answer::Rows(found), rest) = execution.finish().unwrap() else { panic!("rows are expected") };
        let mut out = Vec::new();
        found.write_with_count(&mut out);
        if whole_bytes_max >= whole {
            assert_eq!((found.rows(), rest), (all, Rest::default()), "{whole_bytes_max} bytes");
        } else {
            assert_eq!((found.rows(), rest.rows), (2, all - 2), "{whole_bytes_max} bytes");
            assert_eq!(rest.position.map(|position| position.key).as_ref(), rows.get(1).map(|(key, _)| key), "{whole_bytes_max} bytes");
            assert_eq!(Some(&rest.end), rows.last().map(|(key, _)| key));
            assert_eq!(out, two, "nothing of the other rows is left");
        }
    }
    let limited = parse("SELECT * LIMIT 3", &container, NOW_MS).unwrap();
    let cut = Cut { rows_max: 1, whole_bytes_max: usize::MAX, ..CUT };
    let (found, rest) = cut_run(&container, &rows, &limited, cut).unwrap();
    assert_eq!((found.len(), rest), (3, Rest::default()));
}
