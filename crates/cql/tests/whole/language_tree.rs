//! The trees of statements whose meaning hangs on a detail: which of several readings a text has, and what of it is kept.

use cql::language::{
    Parsed,
    ast::{
        Assignment, BatchKind, CellAttribute, ColumnMask, CompareOperator, Comparison, ConditionClause, Deletion, DescribeTarget,
        Identifier, InValues, IndexTarget, InsertSource, JsonDefault, KeyspaceScope, Literal, Modification, NativeType, OrderDirection,
        Ordering, PermissionSet, PropertyValue, RelationTarget, Resource, RoleOption, SchemaScope, SelectKind, Selection, Selector,
        Statement, Term, TypeName, WhereExpression,
    },
    parse,
};
use model::Permission;

#[track_caller]
fn parsed(text: &str) -> Parsed {
    parse(text).unwrap_or_else(|error| panic!("{text}\n  {error}"))
}

macro_rules! statement {
    ($kind:ident, $text:expr) => {
        match parsed($text).statement {
            Statement::$kind(statement) => statement,
            other => panic!("{}: {other:?}", $text),
        }
    };
}

fn integer(digits: &str) -> Term {
    Term::Literal(Literal::Integer(digits.into()))
}

fn string(text: &str) -> Term {
    Term::Literal(Literal::String(text.into()))
}

/// The one value of `INSERT … VALUES (text)`.
#[track_caller]
fn value(text: &str) -> Term {
    let insert = statement!(Insert, &format!("INSERT INTO t (a) VALUES ({text})"));
    match insert.source {
        InsertSource::Values { mut values, .. } if values.len() == 1 => values.remove(0),
        other => panic!("{text}: {other:?}"),
    }
}

/// The one selector of `SELECT text FROM t`.
#[track_caller]
fn selector(text: &str) -> Selector {
    let select = statement!(Select, &format!("SELECT {text} FROM t"));
    match select.selection {
        Selection::Selectors(mut items) if items.len() == 1 => items.remove(0).selector,
        other => panic!("{text}: {other:?}"),
    }
}

/// The one relation of `SELECT * FROM t WHERE text`.
#[track_caller]
fn relation(text: &str) -> (RelationTarget, Comparison) {
    let mut select = statement!(Select, &format!("SELECT * FROM t WHERE {text}"));
    match (select.where_clause.pop(), select.where_clause.len()) {
        (Some(WhereExpression::Relation(relation)), 0) => (relation.target, relation.comparison),
        other => panic!("{text}: {other:?}"),
    }
}

/// The one assignment of `UPDATE t SET text WHERE k = 1`.
#[track_caller]
fn assignment(text: &str) -> Assignment {
    let mut update = statement!(Update, &format!("UPDATE t SET {text} WHERE k = 1"));
    assert_eq!(update.assignments.len(), 1, "{text}");
    update.assignments.remove(0)
}

/// The type of the column in `CREATE TABLE t (a text)`.
#[track_caller]
fn type_name(text: &str) -> TypeName {
    statement!(CreateTable, &format!("CREATE TABLE t (a {text})")).columns.remove(0).type_name
}

#[test]
fn names_fold_unless_quoted() {
    let select =
        statement!(Select, "SELECT Ab, \"Ab\", KEY, \"a\"\"b\" FROM Ks.\"T\" WHERE ÜNUSED = 1".replace("ÜNUSED", "UnUsed").as_str());
    let Selection::Selectors(items) = select.selection else { panic!("selectors") };
    let names: Vec<String> = items.into_iter().map(|item| item.selector.to_string()).collect();
    assert_eq!(names, ["ab", "Ab", "key", "a\"b"]);
    assert_eq!(select.from.keyspace.unwrap(), "ks");
    assert_eq!(select.from.name, "T");
    assert_eq!(statement!(Use, "USE MyKeyspace"), "mykeyspace");
    assert_eq!(statement!(Use, "USE \"MyKeyspace\""), "MyKeyspace");
}

#[test]
fn markers_are_numbered_in_the_order_of_the_text() {
    let parsed = parsed("UPDATE t USING TTL ? AND TIMESTAMP :ts SET a = ?, m[:\"K\"] = :v WHERE k IN ? AND c = (?) IF b = :v");
    let names: Vec<Option<&str>> = parsed.markers.iter().map(|name| name.as_deref()).collect();
    assert_eq!(names, [None, Some("ts"), None, Some("K"), Some("v"), None, None, Some("v")]);
    let Statement::Update(update) = parsed.statement else { panic!("update") };
    let index = |term: &Option<Term>| match term {
        Some(Term::Marker(marker)) => marker.index,
        other => panic!("{other:?}"),
    };
    assert_eq!((index(&update.attributes.time_to_live), index(&update.attributes.timestamp)), (0, 1));
    let Assignment::SetElement { key: Term::Marker(key), value: Term::Marker(value), .. } = &update.assignments[1] else {
        panic!("{:?}", update.assignments)
    };
    assert_eq!((key.index, value.index), (3, 4));
    let ConditionClause::Relations(conditions) = update.condition else { panic!("conditions") };
    assert!(matches!(&conditions[0].comparison, Comparison::Compare(CompareOperator::Equal, Term::Marker(marker)) if marker.index == 7));
}

#[test]
fn a_bracket_that_might_open_a_type_does_not_count_its_markers_twice() {
    for text in
        ["INSERT INTO t (a) VALUES ((?))", "INSERT INTO t (a) VALUES (('x', ?))", "SELECT (a, ?) FROM t", "SELECT (int) ?, (?) FROM t"]
    {
        let count = text.matches('?').count();
        assert_eq!(parsed(text).markers.len(), count, "{text}");
    }
}

#[test]
fn literals_keep_their_kind_and_text() {
    for (text, literal) in [
        ("null", Literal::Null),
        ("TRUE", Literal::Boolean(true)),
        ("false", Literal::Boolean(false)),
        ("007", Literal::Integer("007".into())),
        ("-7", Literal::Integer("-7".into())),
        ("- 7", Literal::Integer("-7".into())),
        ("-9223372036854775808", Literal::Integer("-9223372036854775808".into())),
        ("1.50", Literal::Float("1.50".into())),
        ("-1e5", Literal::Float("-1e5".into())),
        ("nan", Literal::Float("NaN".into())),
        ("-NaN", Literal::Float("NaN".into())),
        ("INFINITY", Literal::Float("Infinity".into())),
        ("-infinity", Literal::Float("-Infinity".into())),
        ("'it''s'", Literal::String("it's".into())),
        ("''''''", Literal::String("''".into())),
        ("''", Literal::String("".into())),
        ("$$it''s \"$\"$$", Literal::String("it''s \"$\"".into())),
        ("$$$$", Literal::String("".into())),
        ("0xCAFE0", Literal::Blob("CAFE0".into())),
        ("0x", Literal::Blob("".into())),
        ("123E4567-e89b-12d3-a456-426614174000", Literal::Uuid("123E4567-e89b-12d3-a456-426614174000".into())),
        ("1h30m", Literal::Duration("1h30m".into())),
        ("-P1Y", Literal::Duration("-P1Y".into())),
    ] {
        assert_eq!(value(text), Term::Literal(literal), "{text}");
    }
}

#[test]
fn braces_hold_sets_maps_or_fields() {
    assert_eq!(value("{}"), Term::Set(vec![]));
    assert_eq!(value("{1, 2}"), Term::Set(vec![integer("1"), integer("2")]));
    assert_eq!(value("{1: 2}"), Term::Map(vec![(integer("1"), integer("2"))]));
    assert_eq!(value("{a: 1, \"B\": 2}"), Term::UserType(vec![("a".into(), integer("1")), ("B".into(), integer("2"))]));
    assert_eq!(value("{key: 1}"), Term::UserType(vec![("key".into(), integer("1"))]));
    assert!(matches!(value("{a: :b}"), Term::UserType(fields) if matches!(fields[0].1, Term::Marker(_))));
    assert!(matches!(value("{:a, :b}"), Term::Set(elements) if elements.len() == 2));
    assert!(matches!(value("{:a : :b}"), Term::Map(entries) if entries.len() == 1));
    assert!(matches!(value("{f(1): 2}"), Term::Map(entries) if matches!(entries[0].0, Term::Function { .. })));
}

#[test]
fn parentheses_hold_types_or_values() {
    assert_eq!(value("(1)"), Term::Tuple(vec![integer("1")]));
    assert_eq!(value("(1, 'a')"), Term::Tuple(vec![integer("1"), string("a")]));
    let hint = |type_name, value| Term::TypeHint { type_name, value: Box::new(value) };
    assert_eq!(value("(int) 1"), hint(TypeName::Native(NativeType::Int), integer("1")));
    assert_eq!(value("(int) -1"), hint(TypeName::Native(NativeType::Int), integer("-1")));
    assert_eq!(value("(u) {}"), hint(TypeName::user("u"), Term::Set(vec![])));
    assert_eq!(value("('C') 1"), hint(TypeName::Custom("C".into()), integer("1")));
    assert_eq!(value("('C') f(1)").to_string(), "('C')f(1)");
    assert_eq!(value("('C')"), Term::Tuple(vec![string("C")]));
    assert_eq!(value("('C') + 1").to_string(), "('C') + 1");
    assert_eq!(value("{('C'): 1}"), Term::Map(vec![(Term::Tuple(vec![string("C")]), integer("1"))]));
    assert!(matches!(relation("(a) > ('C')").1, Comparison::Compare(CompareOperator::Greater, Term::Tuple(_))));
    let select = statement!(Select, "SELECT * FROM t WHERE (a) > ('C') PER PARTITION LIMIT 1");
    assert_eq!(select.per_partition_limit, Some(integer("1")));
}

#[test]
fn operators_bind_as_in_arithmetic() {
    for (text, shape) in [
        ("1 + 2 * 3", "Add(1, Multiply(2, 3))"),
        ("1 * 2 + 3", "Add(Multiply(1, 2), 3)"),
        ("1 - 2 - 3", "Subtract(Subtract(1, 2), 3)"),
        ("8 / 4 % 3", "Remainder(Divide(8, 4), 3)"),
        ("-1 + 2", "Add(-1, 2)"),
        ("2 * -1", "Multiply(2, -1)"),
    ] {
        fn shape_of(term: &Term) -> String {
            match term {
                Term::Arithmetic { operator, left, right } => format!("{operator:?}({}, {})", shape_of(left), shape_of(right)),
                other => other.to_string(),
            }
        }
        assert_eq!(shape_of(&value(text)), shape, "{text}");
    }
    assert_eq!(value("-f(1)"), Term::Negation(Box::new(value("f(1)"))));
}

#[test]
fn selectors_are_columns_functions_or_parts() {
    let column = |name: &str| Box::new(Selector::Column(name.into()));
    assert_eq!(selector("count(*)"), Selector::CountRows);
    assert_eq!(selector("COUNT(1)"), Selector::CountRows);
    assert_eq!(selector("system.count('x')"), Selector::CountRows);
    assert!(matches!(selector("count(a)"), Selector::Function { .. }));
    assert!(matches!(selector("ks.count(1)"), Selector::Function { .. }));
    assert_eq!(selector("count"), *column("count"));
    assert_eq!(selector("u.f"), Selector::Field { of: column("u"), field: "f".into() });
    assert!(matches!(selector("ks.f(a)"), Selector::Function { name, .. } if name.keyspace == Some("ks".into())));
    assert_eq!(selector("m['k']"), Selector::Element { of: column("m"), key: string("k") });
    assert_eq!(selector("s[1..2]"), Selector::Slice { of: column("s"), from: Some(integer("1")), to: Some(integer("2")) });
    assert_eq!(selector("s[..2]"), Selector::Slice { of: column("s"), from: None, to: Some(integer("2")) });
    assert_eq!(selector("s[1..]"), Selector::Slice { of: column("s"), from: Some(integer("1")), to: None });
    assert_eq!(selector("ttl"), *column("ttl"));
    assert_eq!(selector("ttl(a)"), Selector::CellAttribute { attribute: CellAttribute::Ttl, of: column("a") });
    let element = Box::new(Selector::Element { of: column("m"), key: string("k") });
    assert_eq!(selector("writetime(m['k'])"), Selector::CellAttribute { attribute: CellAttribute::WriteTime, of: element });
    assert_eq!(selector("CAST(a AS double)"), Selector::Cast { value: column("a"), type_name: NativeType::Double });
    assert_eq!(selector("cast"), *column("cast"));
    assert_eq!(selector("-a"), Selector::Negation(column("a")));
    assert_eq!(selector("-1"), Selector::Literal(Literal::Integer("-1".into())));
    assert!(matches!(selector("(a) - 3"), Selector::Arithmetic { .. }));
    assert!(matches!(selector("(a) -3"), Selector::TypeHint { .. }));
    assert!(matches!(selector("{(a): b}"), Selector::Map(_)));
}

#[test]
fn result_columns_are_named_as_cassandra_names_them() {
    for (text, name) in [
        ("a", "a"),
        ("\"A\"", "A"),
        ("count(*)", "count"),
        ("writetime(a)", "writetime(a)"),
        ("TTL(m['k'])", "ttl(m['k'])"),
        ("CAST(a AS TEXT)", "cast(a as text)"),
        ("u.f", "u.f"),
        ("m['k']", "m['k']"),
        ("s[1..2]", "s[1..2]"),
        ("token(a, b)", "token(a, b)"),
        ("a + 1", "a + 1"),
        ("(int) 1", "(int)1"),
    ] {
        assert_eq!(selector(text).to_string(), name, "{text}");
    }
}

#[test]
fn distinct_and_json_are_words_only_before_a_selection() {
    for (text, distinct, kind) in [
        ("SELECT DISTINCT a FROM t", true, SelectKind::Columns),
        ("SELECT distinct FROM t", false, SelectKind::Columns),
        ("SELECT DISTINCT distinct FROM t", true, SelectKind::Columns),
        ("SELECT distinct, a FROM t", false, SelectKind::Columns),
        ("SELECT JSON a FROM t", false, SelectKind::Json),
        ("SELECT json FROM t", false, SelectKind::Columns),
        ("SELECT JSON DISTINCT a FROM t", true, SelectKind::Json),
        ("SELECT JSON * FROM t", false, SelectKind::Json),
    ] {
        let select = statement!(Select, text);
        assert_eq!((select.distinct, select.kind), (distinct, kind), "{text}");
    }
}

#[test]
fn the_clauses_of_select_arrive() {
    let select = statement!(
        Select,
        "SELECT a FROM t WHERE a = 1 GROUP BY a, f(b) ORDER BY c DESC, v ANN OF [1.0] PER PARTITION LIMIT 2 LIMIT 3 ALLOW FILTERING BYPASS CACHE USING TIMEOUT 5s"
    );
    assert_eq!(select.group_by.len(), 2);
    assert_eq!((select.order_by[0].direction, &select.order_by[0].ordering), (OrderDirection::Descending, &Ordering::Value));
    assert_eq!(select.order_by[1].direction, OrderDirection::Ascending);
    assert!(matches!(&select.order_by[1].ordering, Ordering::NearestTo(Term::List(_))));
    assert_eq!((select.per_partition_limit, select.limit), (Some(integer("2")), Some(integer("3"))));
    assert!(select.allow_filtering && select.bypass_cache);
    assert_eq!(select.attributes.timeout, Some(Term::Literal(Literal::Duration("5s".into()))));
    let plain = statement!(Select, "SELECT * FROM t");
    assert_eq!(plain.selection, Selection::Wildcard);
    assert!(!plain.allow_filtering && !plain.bypass_cache && plain.limit.is_none() && plain.where_clause.is_empty());
}

#[test]
fn relations_have_a_target_and_a_comparison() {
    use CompareOperator as Operator;
    let column = RelationTarget::Column("a".into());
    for (sign, operator) in [
        ("=", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<", Operator::Less),
        ("<=", Operator::LessOrEqual),
        (">", Operator::Greater),
        (">=", Operator::GreaterOrEqual),
    ] {
        assert_eq!(relation(&format!("a {sign} 1")), (column.clone(), Comparison::Compare(operator, integer("1"))));
        assert_eq!(operator.sign(), sign);
    }
    let one = || vec![integer("1")];
    assert_eq!(relation("a IN (1)"), (column.clone(), Comparison::In(InValues::List(one()))));
    assert_eq!(relation("a IN ()"), (column.clone(), Comparison::In(InValues::List(vec![]))));
    assert!(matches!(relation("a IN ?").1, Comparison::In(InValues::Marker(_))));
    assert_eq!(relation("a NOT IN (1)"), (column.clone(), Comparison::NotIn(InValues::List(one()))));
    assert_eq!(relation("a BETWEEN 1 AND 2"), (column.clone(), Comparison::Between(integer("1"), integer("2"))));
    assert_eq!(relation("a CONTAINS 1"), (column.clone(), Comparison::Contains(integer("1"))));
    assert_eq!(relation("a CONTAINS KEY 1"), (column.clone(), Comparison::ContainsKey(integer("1"))));
    assert_eq!(relation("a NOT CONTAINS 1"), (column.clone(), Comparison::NotContains(integer("1"))));
    assert_eq!(relation("a NOT CONTAINS KEY 1"), (column.clone(), Comparison::NotContainsKey(integer("1"))));
    assert_eq!(relation("a LIKE 'x%'"), (column.clone(), Comparison::Like(string("x%"))));
    assert_eq!(relation("a IS NOT NULL"), (column, Comparison::IsNotNull));
    assert_eq!(relation("m['k'] = 1").0, RelationTarget::Element { column: "m".into(), key: string("k") });
    assert_eq!(relation("(a, b) > (1, 2)").0, RelationTarget::Tuple(vec!["a".into(), "b".into()]));
    assert_eq!(relation("(a) = ?").0, RelationTarget::Tuple(vec!["a".into()]));
    assert_eq!(relation("(a = 1)"), relation("a = 1"));
    assert_eq!(relation("token(a, b) > token(1, 2)").0, RelationTarget::Token(vec!["a".into(), "b".into()]));
    assert!(
        matches!(relation("(a, b) IN ((1, 2), (3, 4))").1, Comparison::In(InValues::List(values)) if values.iter().all(|value| matches!(value, Term::Tuple(_))))
    );
    let select = statement!(Select, "SELECT * FROM t WHERE expr(i, 'q') AND a = 1");
    assert!(matches!(&select.where_clause[0], WhereExpression::CustomIndex { index, value } if index.name == "i" && *value == string("q")));
    assert_eq!(select.where_clause.len(), 2);
}

#[test]
fn insert_keeps_columns_values_and_json() {
    let insert = statement!(Insert, "INSERT INTO ks.t (a, \"B\") VALUES (1, ?) IF NOT EXISTS USING TTL 5 AND TIMESTAMP -7");
    assert!(insert.if_not_exists);
    assert_eq!((insert.attributes.time_to_live, insert.attributes.timestamp), (Some(integer("5")), Some(integer("-7"))));
    let InsertSource::Values { columns, values } = insert.source else { panic!("values") };
    assert_eq!(columns, [Identifier::from("a"), Identifier::from("B")]);
    assert_eq!(values.len(), 2);
    for (text, expected) in
        [("JSON '{}'", JsonDefault::Null), ("JSON '{}' DEFAULT NULL", JsonDefault::Null), ("JSON ? DEFAULT UNSET", JsonDefault::Unset)]
    {
        let insert = statement!(Insert, &format!("INSERT INTO t {text}"));
        assert!(matches!(insert.source, InsertSource::Json { default, .. } if default == expected), "{text}");
    }
}

#[test]
fn assignments_have_the_operation_that_they_mean() {
    let column = || Identifier::from("c");
    let one = || Term::List(vec![integer("1")]);
    assert_eq!(assignment("c = 1"), Assignment::Set { column: column(), value: integer("1") });
    assert_eq!(assignment("c = 1 + 2"), Assignment::Set { column: column(), value: value("1 + 2") });
    assert_eq!(assignment("c = c + 1"), Assignment::Add { column: column(), value: integer("1") });
    assert_eq!(assignment("c += 1"), assignment("c = c + 1"));
    assert_eq!(assignment("c = c - 1"), Assignment::Subtract { column: column(), value: integer("1") });
    assert_eq!(assignment("c -= 1"), assignment("c = c - 1"));
    assert_eq!(assignment("c = c -1"), Assignment::Add { column: column(), value: integer("-1") });
    assert_eq!(assignment("c = [1] + c"), Assignment::Prepend { column: column(), value: one() });
    assert_eq!(assignment("c = c + [1]"), Assignment::Add { column: column(), value: one() });
    assert_eq!(assignment("c[1] = 2"), Assignment::SetElement { column: column(), key: integer("1"), value: integer("2") });
    assert_eq!(assignment("c.f = 2"), Assignment::SetField { column: column(), field: "f".into(), value: integer("2") });
    assert!(matches!(assignment("c = f(1) + g(2)"), Assignment::Set { value: Term::Arithmetic { .. }, .. }));
    assert!(matches!(assignment("c = ? + ?"), Assignment::Set { value: Term::Arithmetic { .. }, .. }));
    assert!(matches!(assignment("c = 1 + 2 + c"), Assignment::Prepend { value: Term::Arithmetic { .. }, .. }));
}

#[test]
fn conditions_arrive() {
    let update = statement!(Update, "UPDATE t SET a = 1 WHERE k = 1 IF EXISTS");
    assert_eq!(update.condition, ConditionClause::Exists);
    let update = statement!(Update, "UPDATE t SET a = 1 WHERE k = 1 IF exists = 1 AND m['k'] = 1 AND u.f IN (1)");
    let ConditionClause::Relations(conditions) = update.condition else { panic!("{:?}", update.condition) };
    let targets: Vec<RelationTarget> = conditions.into_iter().map(|condition| condition.target).collect();
    let element = RelationTarget::Element { column: "m".into(), key: string("k") };
    assert_eq!(
        targets,
        [RelationTarget::Column("exists".into()), element, RelationTarget::Field { column: "u".into(), field: "f".into() }]
    );
    let delete = statement!(Delete, "DELETE a, m['k'], u.f FROM t WHERE k = 1");
    assert_eq!(delete.condition, ConditionClause::None);
    let element = Deletion::Element { column: "m".into(), key: string("k") };
    assert_eq!(delete.deletions, [Deletion::Column("a".into()), element, Deletion::Field { column: "u".into(), field: "f".into() }]);
}

#[test]
fn batches_hold_their_statements_in_order() {
    for (word, kind) in [("", BatchKind::Logged), ("UNLOGGED", BatchKind::Unlogged), ("COUNTER", BatchKind::Counter)] {
        let batch = statement!(
            Batch,
            &format!(
                "BEGIN {word} BATCH USING TIMESTAMP ? INSERT INTO t (a) VALUES (?); UPDATE t SET a = ? WHERE k = ?; DELETE FROM t WHERE k = ? APPLY BATCH;"
            )
        );
        assert_eq!(batch.kind, kind);
        assert!(matches!(batch.statements[..], [Modification::Insert(_), Modification::Update(_), Modification::Delete(_)]));
        assert!(matches!(batch.attributes.timestamp, Some(Term::Marker(marker)) if marker.index == 0));
        let Modification::Delete(delete) = &batch.statements[2] else { panic!("delete") };
        assert!(
            matches!(&delete.where_clause[0], WhereExpression::Relation(relation) if matches!(&relation.comparison, Comparison::Compare(_, Term::Marker(marker)) if marker.index == 4))
        );
    }
}

#[test]
fn types_nest_and_print_as_written() {
    for text in [
        "int",
        "list<int>",
        "set<text>",
        "map<text, frozen<list<int>>>",
        "tuple<int, text, tuple<int>>",
        "vector<float, 1536>",
        "frozen<u>",
        "ks.u",
        "\"U\"",
        "key",
        "'org.apache.cassandra.db.marshal.Int32Type'",
        "list",
        "map",
        "vector",
        "text.u",
    ] {
        assert_eq!(type_name(text).to_string(), text);
    }
    assert_eq!(type_name("LIST < INT >"), TypeName::List(Box::new(TypeName::Native(NativeType::Int))));
    assert_eq!(type_name("vector<float, 3>"), TypeName::Vector { element: Box::new(TypeName::Native(NativeType::Float)), dimension: 3 });
    assert_eq!(type_name("list"), TypeName::user("list"));
}

#[test]
fn create_table_keeps_keys_and_options() {
    let table = statement!(
        CreateTable,
        "CREATE TABLE ks.t (a int, b text STATIC, c int MASKED WITH DEFAULT, d int MASKED WITH f(1), PRIMARY KEY ((a, c), d)) \
         WITH CLUSTERING ORDER BY (d DESC) AND COMPACT STORAGE AND comment = 'x' AND ttl = -1 AND w = Type AND compression = {'a': 1, 'b': 'c'} AND extensions = {}"
    );
    assert_eq!(table.columns.len(), 4);
    assert!(table.columns[1].is_static && !table.columns[0].is_static);
    assert_eq!(table.columns[2].mask, Some(ColumnMask::Default));
    assert!(matches!(&table.columns[3].mask, Some(ColumnMask::Function { arguments, .. }) if arguments.len() == 1));
    assert_eq!(table.primary_keys.len(), 1);
    assert_eq!(table.primary_keys[0].partition, [Identifier::from("a"), Identifier::from("c")]);
    assert_eq!(table.primary_keys[0].clustering, [Identifier::from("d")]);
    assert_eq!(table.options.clustering_order, [(Identifier::from("d"), OrderDirection::Descending)]);
    assert!(table.options.compact_storage);
    let values: Vec<PropertyValue> = table.options.properties.into_iter().map(|property| property.value).collect();
    let text = |text: &str| Literal::String(text.into());
    assert_eq!(
        values,
        [
            PropertyValue::Literal(text("x")),
            PropertyValue::Literal(Literal::Integer("-1".into())),
            PropertyValue::Word("type".into()),
            PropertyValue::Map(vec![(text("a"), Literal::Integer("1".into())), (text("b"), text("c"))]),
            PropertyValue::Map(vec![]),
        ]
    );
    let inline = statement!(CreateTable, "CREATE TABLE t (a int PRIMARY KEY, b int)");
    assert_eq!(inline.primary_keys[0].partition, [Identifier::from("a")]);
    assert_eq!(statement!(CreateTable, "CREATE TABLE t (a int PRIMARY KEY, b int, PRIMARY KEY (b))").primary_keys.len(), 2);
    assert_eq!(statement!(CreateTable, "CREATE TABLE t (a int)").primary_keys.len(), 0);
}

#[test]
fn literals_of_options_have_a_raw_text() {
    for (literal, text) in [
        (Literal::Boolean(true), "true"),
        (Literal::Integer("-1".into()), "-1"),
        (Literal::String("it's".into()), "it's"),
        (Literal::Blob("ff".into()), "0xff"),
    ] {
        assert_eq!(literal.raw_text(), text);
    }
}

#[test]
fn index_targets_say_what_of_a_collection() {
    for (text, target) in [
        ("a", IndexTarget::Column("a".into())),
        ("\"A\"", IndexTarget::Column("A".into())),
        ("keys(a)", IndexTarget::Keys("a".into())),
        ("values(a)", IndexTarget::Values("a".into())),
        ("entries(a)", IndexTarget::Entries("a".into())),
        ("full(a)", IndexTarget::Full("a".into())),
        ("values", IndexTarget::Column("values".into())),
        ("(a, b)", IndexTarget::Columns(vec!["a".into(), "b".into()])),
    ] {
        assert_eq!(statement!(CreateIndex, &format!("CREATE INDEX ON t ({text})")).targets, [target], "{text}");
    }
    let index = statement!(CreateIndex, "CREATE CUSTOM INDEX IF NOT EXISTS i ON t (a) USING 'C' WITH OPTIONS = {'x': 1}");
    assert!(index.custom && index.if_not_exists);
    assert_eq!((index.name.as_deref(), index.using.as_deref()), (Some("i"), Some("C")));
    assert_eq!(index.properties[0].name, "options");
}

#[test]
fn users_are_roles_that_may_log_in() {
    let user = statement!(CreateRole, "CREATE USER Ab WITH PASSWORD 'x'");
    assert_eq!(user.name, "Ab", "an unquoted user name keeps its case");
    assert_eq!(user.options, [RoleOption::Password("x".into()), RoleOption::Superuser(false), RoleOption::Login(true)]);
    let role = statement!(CreateRole, "CREATE ROLE Ab WITH LOGIN = false");
    assert_eq!((role.name.as_str(), role.options), ("ab", vec![RoleOption::Login(false)]));
    assert_eq!(statement!(AlterRole, "ALTER USER u SUPERUSER").options, [RoleOption::Superuser(true)]);
    assert_eq!(statement!(CreateRole, "CREATE ROLE 'A b'").name, "A b");
}

#[test]
fn permissions_and_resources_arrive() {
    let grant = statement!(GrantPermissions, "GRANT SELECT, MODIFY PERMISSION ON ks.t TO r");
    assert_eq!(grant.permissions, PermissionSet::Some(vec![Permission::Select, Permission::Modify]));
    for (text, expected) in [
        ("ALL KEYSPACES", Resource::AllKeyspaces),
        ("KEYSPACE ks", Resource::Keyspace("ks".into())),
        ("ALL TABLES IN KEYSPACE ks", Resource::AllTablesIn("ks".into())),
        ("ALL ROLES", Resource::AllRoles),
        ("ROLE s", Resource::Role("s".into())),
        ("ALL FUNCTIONS", Resource::AllFunctions),
        ("ALL FUNCTIONS IN KEYSPACE ks", Resource::AllFunctionsIn("ks".into())),
        ("ALL MBEANS", Resource::AllMBeans),
        ("MBEAN 'x'", Resource::MBean("x".into())),
        ("MBEANS 'x:*'", Resource::MBeans("x:*".into())),
    ] {
        assert_eq!(statement!(GrantPermissions, &format!("GRANT ALL ON {text} TO r")).resource, expected, "{text}");
    }
    for text in ["t", "TABLE t", "role", "all", "function", "mbean"] {
        let resource = statement!(RevokePermissions, &format!("REVOKE ALL PERMISSIONS ON {text} FROM r")).resource;
        assert!(matches!(resource, Resource::Table(_)), "{text}: {resource:?}");
    }
    let list = statement!(ListPermissions, "LIST ALL ON KEYSPACE ks OF r NORECURSIVE");
    assert_eq!((list.permissions, list.recursive, list.grantee.as_deref()), (PermissionSet::All, false, Some("r")));
}

#[test]
fn describe_targets_arrive() {
    for (text, expected) in [
        ("CLUSTER", DescribeTarget::Cluster),
        ("SCHEMA", DescribeTarget::Schema(SchemaScope::User)),
        ("FULL SCHEMA", DescribeTarget::Schema(SchemaScope::Full)),
        ("KEYSPACES", DescribeTarget::Keyspaces),
        ("KEYSPACE", DescribeTarget::Keyspace(KeyspaceScope::WithContents, None)),
        ("KEYSPACE ks", DescribeTarget::Keyspace(KeyspaceScope::WithContents, Some("ks".into()))),
        ("ONLY KEYSPACE ks", DescribeTarget::Keyspace(KeyspaceScope::Only, Some("ks".into()))),
        ("TABLES", DescribeTarget::Tables),
        ("TYPES", DescribeTarget::Types),
        ("FUNCTIONS", DescribeTarget::Functions),
        ("AGGREGATES", DescribeTarget::Aggregates),
    ] {
        for internals in [false, true] {
            let text = format!("DESC {text}{}", if internals { " WITH INTERNALS" } else { "" });
            let describe = statement!(Describe, &text);
            assert_eq!((describe.target, describe.with_internals), (expected.clone(), internals), "{text}");
        }
    }
    for (text, start) in [
        ("TABLE ks.t", "Table("),
        ("INDEX i", "Index("),
        ("MATERIALIZED VIEW v", "View("),
        ("TYPE u", "Type("),
        ("FUNCTION f", "Function("),
        ("AGGREGATE f", "Aggregate("),
        ("ks.t", "Any("),
        ("only", "Any("),
        ("tables.x", "Any("),
        ("type", "Any("),
    ] {
        let target = statement!(Describe, &format!("DESCRIBE {text}")).target;
        assert!(format!("{target:?}").starts_with(start), "{text}: {target:?}");
    }
}
