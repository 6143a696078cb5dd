//! Which statement a text is, and its parts.

use super::SyntaxError;
use super::definition::{ColumnDefinition, TableDefinition};
use super::division::Literal;
use super::reader::Parser;
use super::words::{Word, words};

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// One that reads.
    Read,
    /// EXPLAIN ANALYZE: the statement that is to be run, which reads.
    Analyze(String),
    /// INSERT, INSERT OR REPLACE, REPLACE.
    Insert {
        /// The table.
        table: String,
        /// The columns that are given; none if all are.
        columns: Vec<String>,
        /// A statement that gives the rows.
        rows: String,
        /// Whether rows that are there are replaced.
        replaces: bool,
    },
    /// UPDATE.
    Update {
        /// The table.
        table: String,
        /// Columns, and the expressions that give their values.
        assignments: Vec<(String, String)>,
        /// The table and what follows: `"t" WHERE …`.
        rest: String,
    },
    /// DELETE.
    Delete {
        /// The table.
        table: String,
        /// The table and what follows: `"t" WHERE …`.
        rest: String,
    },
    /// CREATE TABLE.
    CreateTable(TableDefinition),
    /// DROP TABLE: its name, and whether it may be gone.
    DropTable(String, bool),
    /// CREATE INDEX.
    CreateIndex {
        /// Its name.
        name: String,
        /// The table.
        table: String,
        /// Its columns.
        columns: Vec<String>,
        /// Whether it may be there.
        if_not_exists: bool,
    },
    /// DROP INDEX: its name, its table, and whether it may be gone.
    DropIndex(String, String, bool),
    /// CREATE VIEW.
    CreateView {
        /// Its name.
        name: String,
        /// What it selects.
        text: String,
        /// Whether it takes the place of one that is there.
        replaces: bool,
        /// Whether what it names may be missing.
        is_forced: bool,
    },
    /// DROP VIEW: its name, and whether it may be gone.
    DropView(String, bool),
    /// ALTER TABLE … ADD …, ADD …
    AddColumns(String, Vec<ColumnDefinition>),
    /// ALTER TABLE … DROP COLUMN.
    DropColumn(String, String),
    /// ALTER TABLE … RENAME COLUMN … TO ….
    RenameColumn {
        /// The table.
        table: String,
        /// The column.
        from: String,
        /// What it will be called.
        to: String,
    },
    /// ALTER TABLE … DROP PARTITION FOR: the table, and a value of the data partition.
    DropPartition(String, Literal),
}

/// Reads a statement.
///
/// # Errors
/// It is none, or not one that is known.
pub fn parse(sql: &str) -> Result<Statement, SyntaxError> {
    let mut all = words(sql)?;
    while all.last().is_some_and(|word| word.is_symbol(';')) {
        all.pop();
    }
    let first = all.first().ok_or_else(|| SyntaxError("there is no statement".to_owned()))?;
    let selects = |first: &Word<'_>| ["SELECT", "WITH", "VALUES"].iter().any(|keyword| first.is(keyword)) || first.is_symbol('(');
    let end = all.last().map_or(0, Word::end);
    if let [explain, analyze, rest @ ..] = &all[..]
        && explain.is("EXPLAIN")
        && analyze.is("ANALYZE")
    {
        let analyzed = rest.first().filter(|first| selects(first)).map(|first| Statement::Analyze(sql[first.start..end].to_owned()));
        return analyzed.ok_or_else(|| SyntaxError("EXPLAIN ANALYZE runs a SELECT, and no other statement".to_owned()));
    }
    if selects(first) || first.is("EXPLAIN") {
        return Ok(Statement::Read);
    }
    let mut parser = Parser { sql: &sql[..end], words: &all };
    let statement = parser.statement()?;
    match parser.words.first() {
        None => Ok(statement),
        Some(word) => Err(SyntaxError(format!("near \"{}\": syntax error", word.text))),
    }
}

impl Parser<'_> {
    fn statement(&mut self) -> Result<Statement, SyntaxError> {
        if self.takes("INSERT") {
            let replaces = self.takes_all(&["OR", "REPLACE"])?;
            return self.insert(replaces);
        }
        if self.takes("REPLACE") {
            return self.insert(true);
        }
        if self.takes("UPDATE") {
            return self.update();
        }
        if self.takes_all(&["DELETE", "FROM"])? {
            let start = self.start();
            let table = self.name()?;
            return Ok(Statement::Delete { table, rest: self.from(start)? });
        }
        if self.takes("CREATE") {
            if self.takes("TABLE") {
                return TableDefinition::read(self).map(Statement::CreateTable);
            }
            let replaces = self.takes_all(&["OR", "REPLACE"])?;
            let is_forced = self.takes("FORCE");
            if replaces || is_forced || self.is_next("VIEW") {
                return self.create_view(replaces, is_forced);
            }
            self.expect("INDEX")?;
            return self.create_index();
        }
        if self.takes("DROP") {
            if self.takes("TABLE") {
                let if_exists = self.takes_all(&["IF", "EXISTS"])?;
                return Ok(Statement::DropTable(self.name()?, if_exists));
            }
            if self.takes("VIEW") {
                let if_exists = self.takes_all(&["IF", "EXISTS"])?;
                return Ok(Statement::DropView(self.name()?, if_exists));
            }
            self.expect("INDEX")?;
            let if_exists = self.takes_all(&["IF", "EXISTS"])?;
            let name = self.name()?;
            self.expect("ON")?;
            return Ok(Statement::DropIndex(name, self.name()?, if_exists));
        }
        if self.takes_all(&["ALTER", "TABLE"])? {
            return self.alter_table();
        }
        let word = self.words.first().map_or("", |word| word.text);
        Err(SyntaxError(format!("near \"{word}\": syntax error, or a statement that is not supported")))
    }

    fn alter_table(&mut self) -> Result<Statement, SyntaxError> {
        let table = self.name()?;
        if self.is_next("ADD") {
            return Ok(Statement::AddColumns(table, self.added_columns()?));
        }
        if self.takes_all(&["RENAME", "COLUMN"])? {
            let from = self.name()?;
            self.expect("TO")?;
            return Ok(Statement::RenameColumn { table, from, to: self.name()? });
        }
        self.expect("DROP")?;
        if self.is_next("PARTITION") && self.words.get(1).is_some_and(|word| word.is("FOR")) {
            self.takes_all(&["PARTITION", "FOR"])?;
            return Ok(Statement::DropPartition(table, self.value_in_brackets()?));
        }
        self.takes("COLUMN");
        Ok(Statement::DropColumn(table, self.name()?))
    }

    /// `ADD [COLUMN] column definition, ADD …`
    fn added_columns(&mut self) -> Result<Vec<ColumnDefinition>, SyntaxError> {
        let mut columns = Vec::new();
        loop {
            self.expect("ADD")?;
            self.takes("COLUMN");
            let (column, is_key) = ColumnDefinition::read(self)?;
            if is_key {
                return Err(SyntaxError(format!("the column {} is added, and so is none of the PRIMARY KEY", column.name)));
            }
            columns.push(column);
            if !self.takes_symbol(',') {
                return Ok(columns);
            }
        }
    }

    fn insert(&mut self, replaces: bool) -> Result<Statement, SyntaxError> {
        self.expect("INTO")?;
        let table = self.name()?;
        let columns =
            if self.is_symbol_next('(') && !self.words.get(1).is_some_and(|word| word.is("SELECT")) { self.names()? } else { Vec::new() };
        let start = self.start();
        Ok(Statement::Insert { table, columns, rows: self.from(start)?, replaces })
    }

    fn update(&mut self) -> Result<Statement, SyntaxError> {
        let (start, table_end) = (self.start(), self.words.first().map_or(self.sql.len(), Word::end));
        let table = self.name()?;
        self.expect("SET")?;
        let mut assignments = Vec::new();
        loop {
            let column = self.name()?;
            self.expect_symbol('=')?;
            let begin = self.start();
            let end = self.skip_expression().unwrap_or(begin);
            let value = self.sql[begin..end].to_owned();
            if value.is_empty() {
                return Err(SyntaxError(format!("the column {column} is set to nothing")));
            }
            assignments.push((column, value));
            if !self.takes_symbol(',') {
                break;
            }
        }
        if !self.words.is_empty() && !self.is_next("WHERE") {
            return Err(SyntaxError("after SET comes WHERE, or nothing".to_owned()));
        }
        let (name, condition) = (self.sql[start..table_end].to_owned(), self.start());
        Ok(Statement::Update { table, assignments, rest: format!("{name} {}", self.from(condition)?) })
    }

    fn create_view(&mut self, replaces: bool, is_forced: bool) -> Result<Statement, SyntaxError> {
        self.expect("VIEW")?;
        let name = self.name()?;
        self.expect("AS")?;
        if !["SELECT", "WITH", "VALUES"].iter().any(|keyword| self.is_next(keyword)) {
            return Err(self.expected("SELECT"));
        }
        if self.words.iter().any(|word| word.is_symbol(';')) {
            return Err(SyntaxError("a view is one SELECT".to_owned()));
        }
        if self.words.iter().any(|word| word.is_symbol('?')) {
            return Err(SyntaxError("a view has no parameters".to_owned()));
        }
        let start = self.start();
        Ok(Statement::CreateView { name, text: self.from(start)?, replaces, is_forced })
    }

    fn create_index(&mut self) -> Result<Statement, SyntaxError> {
        let if_not_exists = self.takes_all(&["IF", "NOT", "EXISTS"])?;
        let name = self.name()?;
        self.expect("ON")?;
        let table = self.name()?;
        Ok(Statement::CreateIndex { name, table, columns: self.names()?, if_not_exists })
    }

    /// Up to a comma or WHERE that is in no bracket: says where it ends, if it is there.
    fn skip_expression(&mut self) -> Option<usize> {
        let (mut depth, mut end) = (0_usize, None);
        while let Some(word) = self.words.first() {
            if depth == 0 && (word.is_symbol(',') || word.is("WHERE")) {
                return end;
            }
            if word.is_symbol('(') {
                depth += 1;
            } else if word.is_symbol(')') {
                depth = depth.saturating_sub(1);
            }
            end = Some(word.end());
            self.words = &self.words[1..];
        }
        end
    }
}
