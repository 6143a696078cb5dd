//! What is read, kept and refused at most.

use super::*;

#[test]
fn conditions_bound_the_keys() {
    let columns = vec![
        column("a", ElementType::String, false),
        column("b", ElementType::Long, false),
        column("c", ElementType::Timestamp, false),
        column("d", ElementType::Long, false),
    ];
    let container = testing::container("Plant1", Kind::Collection, columns, 3);
    let texts = ["", "a", "a\0", "ab", "b"];
    let numbers = [i64::MIN, -1, 0, 1, i64::MAX];
    let mut rows = Rows::new();
    for text in texts {
        for number in numbers {
            let cells = [Some(text.as_bytes().to_vec()), Some(number.to_be_bytes().to_vec()), Some(5_i64.to_be_bytes().to_vec()), None];
            rows.push(row(&container, &cells));
        }
    }
    rows.sort();
    let cases = [
        ("a = 'a'", 5),
        ("a > 'a'", 15),
        ("a >= 'a' AND a < 'ab'", 10),
        ("'' = a AND b > 0", 2),
        ("a = 'b' AND b <= -1", 2),
        ("a = 'b' AND b = 9223372036854775807 AND c = TO_TIMESTAMP_MS(5)", 1),
        ("a = 'b' AND a = 'a'", 0),
        ("a = 'b' AND b > 9223372036854775807", 0),
        ("b = 0", 25),
        ("a = 'a' OR a = 'b'", 25),
        ("NOT a = 'a'", 25),
        ("a <> 'a' AND d = 1", 25),
    ];
    // Rows in the range need not be looked at once more.
    let told = ["a = 'a'", "a > 'a'", "a >= 'a' AND a < 'ab'", "a = 'b' AND a = 'a'"];
    for (condition, expected) in cases {
        let select = parse(&format!("SELECT * WHERE {condition}"), &container, NOW_MS).unwrap();
        let range = select.key_range(&container);
        assert_eq!(select.clone().forget_told(&container), told.contains(&condition), "{condition}");
        assert_eq!(rows.iter().filter(|(key, _)| is_in(&range, key)).count(), expected, "{condition}");
        let mut all = Execution::new(select.clone(), &container, MEMORY_MAX).unwrap();
        for (key, bytes) in &rows {
            let _ = all.push(&StoredRow { container: &container, clustering: key, view: RowView::new(bytes) }).unwrap();
        }
        let (Answer::Rows(all), Answer::Rows(ranged)) = (all.finish().unwrap().0, run(&container, &rows, select).unwrap()) else {
            panic!("rows are expected")
        };
        assert_eq!(all.rows(), ranged.rows(), "{condition}");
    }
    for (order, is_descending) in [("a DESC, b DESC", true), ("a DESC, b", false), ("b DESC", false), ("a DESC, b DESC, c DESC, d", true)] {
        let select = parse(&format!("SELECT * ORDER BY {order}"), &container, NOW_MS).unwrap();
        assert_eq!(select.is_descending(), is_descending, "{order}");
    }
}

#[test]
fn sorted_rows_stay_within_the_memory() {
    let (container, rows) = people();
    for (text, fits) in [("SELECT * ORDER BY name", false), ("SELECT * ORDER BY name LIMIT 1", true)] {
        let select = parse(text, &container, NOW_MS).unwrap();
        let mut execution = Execution::new(select, &container, 2_000).unwrap();
        let mut outcome = Ok(());
        for (key, bytes) in rows.iter().cycle().take(100) {
            let row = StoredRow { container: &container, clustering: key, view: RowView::new(bytes) };
            outcome = outcome.and_then(|()| execution.push(&row).map(|_| ()));
        }
        let code = outcome.and_then(|()| execution.finish().map(|_| ())).err().map(|error| error.code);
        assert_eq!(code, (!fits).then_some(ErrorCode::CM_LIMITS_EXCEEDED), "{text}");
    }
}

#[test]
fn arbitrary_texts_are_refused_or_run() {
    let (people, people_rows) = people();
    let (plant, plant_rows) = plant();
    let words: Vec<&str> =
        "SELECT * FROM Plant1 WHERE id name size flag numbers at voltage level ORDER BY LIMIT OFFSET AND OR XOR NOT LIKE \
        ESCAPE IS NULL ( ) , = < > <= <> + - * / % || 0 1 9223372036854775807 1e308 -9223372036854775808 'a%' '' NAN TRUE NOW( TIMESTAMP( \
        '2024-01-01T00:00:00Z' TIMESTAMPADD(YEAR, TIMESTAMPDIFF(MONTH, TO_TIMESTAMP_MS( ELEMENT( ARRAY_LENGTH( SUBSTRING( CONCAT( \
        ROUND( MAX( MAX_ROWS( TIME_SAMPLING(*, TIME_NEXT(*, TIME_PREV(*, TIME_INTERPOLATED( DAY MILLISECOND é \" ; @"
            .split_whitespace()
            .collect();
    let seeds = [
        "SELECT * WHERE id > 1 AND name LIKE '%b%' OR ELEMENT(1, numbers) = 10 ORDER BY size DESC LIMIT 2",
        "SELECT TIME_SAMPLING(voltage, TIMESTAMP('1970-01-01T00:00:00Z'), TIMESTAMP('1970-01-01T00:00:50Z'), 8, SECOND) ORDER BY level",
        "SELECT * WHERE at < TIMESTAMPADD(MONTH, NOW(), -1) AND TIMESTAMPDIFF(YEAR, at, NOW()) < 3",
        "SELECT AVG(level) WHERE (voltage * 2 - level) / 3 > 0.5 XOR label = 'at 10'",
    ];
    let mut random = Rng::new(11);
    for round in 0..20_000 {
        let mut text = seeds[random.below(4) as usize].to_owned();
        if round % 3 == 0 {
            text = "SELECT * WHERE".to_owned();
            for _ in 0..random.below(12) {
                text.push(' ');
                text.push_str(words[random.below(words.len() as u64) as usize]);
            }
        }
        for _ in 0..random.below(4) {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let at = places.get(random.below(places.len() as u64 + 1) as usize).copied().unwrap_or(text.len());
            match random.below(3) {
                0 => text.insert_str(at, words[random.below(words.len() as u64) as usize]),
                1 if at < text.len() => drop(text.remove(at)),
                _ => text.truncate(text.len().max(at)),
            }
        }
        for (container, rows) in [(&people, &people_rows), (&plant, &plant_rows)] {
            if let Ok(select) = parse(&text, container, NOW_MS) {
                let _ = run(container, rows, select);
            }
        }
    }
}
