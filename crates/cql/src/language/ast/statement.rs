//! All statements under one type.

use super::{
    access::{
        AddIdentity, AlterRole, CreateRole, DropIdentity, DropRole, GrantPermissions, GrantRole, ListPermissions, ListRoles,
        RevokePermissions, RevokeRole,
    },
    define::{
        AlterKeyspace, AlterType, AlterView, CreateIndex, CreateKeyspace, CreateTrigger, CreateType, CreateView, DropIndex, DropKeyspace,
        DropTrigger, DropType, DropView,
    },
    describe::Describe,
    function::{CreateAggregate, CreateFunction, DropAggregate, DropFunction},
    modification::{Batch, Delete, Insert, PruneView, Truncate, Update},
    name::Identifier,
    select::Select,
    table::{AlterTable, CopyTable, CreateTable, DropTable},
};

/// Any statement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each variant holds the type of its name
#[allow(clippy::large_enum_variant)] // SELECT is the largest and the most common: one statement is one value, and is not moved often
pub enum Statement {
    Select(Select),
    Insert(Insert),
    Update(Update),
    Delete(Delete),
    Batch(Batch),
    Truncate(Truncate),
    PruneView(PruneView),
    /// `USE keyspace`
    Use(Identifier),
    CreateKeyspace(CreateKeyspace),
    AlterKeyspace(AlterKeyspace),
    DropKeyspace(DropKeyspace),
    CreateTable(CreateTable),
    CopyTable(CopyTable),
    AlterTable(AlterTable),
    DropTable(DropTable),
    CreateIndex(CreateIndex),
    DropIndex(DropIndex),
    CreateType(CreateType),
    AlterType(AlterType),
    DropType(DropType),
    CreateView(CreateView),
    AlterView(AlterView),
    DropView(DropView),
    CreateFunction(CreateFunction),
    DropFunction(DropFunction),
    CreateAggregate(CreateAggregate),
    DropAggregate(DropAggregate),
    CreateTrigger(CreateTrigger),
    DropTrigger(DropTrigger),
    CreateRole(CreateRole),
    AlterRole(AlterRole),
    DropRole(DropRole),
    GrantRole(GrantRole),
    RevokeRole(RevokeRole),
    GrantPermissions(GrantPermissions),
    RevokePermissions(RevokePermissions),
    ListPermissions(ListPermissions),
    ListRoles(ListRoles),
    /// `LIST USERS`
    ListUsers,
    /// `LIST SUPERUSERS`
    ListSuperusers,
    AddIdentity(AddIdentity),
    DropIdentity(DropIdentity),
    Describe(Describe),
    /// Known, but not parsed beyond its first words.
    Unsupported(UnsupportedStatement),
}

/// A statement that is recognised only so that the answer can name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnsupportedStatement {
    /// Any statement about service levels (ScyllaDB).
    ServiceLevel,
}

impl UnsupportedStatement {
    /// What to call it in a message.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::ServiceLevel => "SERVICE LEVEL",
        }
    }
}
