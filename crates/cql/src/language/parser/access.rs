//! Rules for roles and permissions.

use super::{Parse, cursor::Parser};
use crate::language::{
    Statement, SyntaxErrorKind,
    ast::{
        AccessScope, AddIdentity, AlterRole, CreateRole, DropIdentity, DropRole, GrantPermissions, GrantRole, Identifier, ListPermissions,
        ListRoles, PermissionSet, Resource, RevokePermissions, RevokeRole, RoleOption,
    },
    keyword::Keyword,
    token::TokenKind,
};
use model::Permission;

impl Parser<'_> {
    /// What stands after `CREATE ROLE`.
    pub(super) fn create_role(&mut self) -> Parse<CreateRole> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.role_name()?;
        Ok(CreateRole { name, if_not_exists, options: self.role_options()? })
    }

    /// What stands after `ALTER ROLE`.
    pub(super) fn alter_role(&mut self) -> Parse<AlterRole> {
        let if_exists = self.if_exists()?;
        let name = self.role_name()?;
        Ok(AlterRole { name, if_exists, options: self.role_options()? })
    }

    /// What stands after `DROP ROLE`.
    pub(super) fn drop_role(&mut self) -> Parse<DropRole> {
        let if_exists = self.if_exists()?;
        Ok(DropRole { name: self.role_name()?, if_exists })
    }

    /// What stands after `CREATE USER`.
    pub(super) fn create_user(&mut self) -> Parse<CreateRole> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.user_name()?;
        let mut options = self.user_options()?;
        if !options.iter().any(|option| matches!(option, RoleOption::Superuser(_))) {
            options.push(RoleOption::Superuser(false));
        }
        options.push(RoleOption::Login(true));
        Ok(CreateRole { name, if_not_exists, options })
    }

    /// What stands after `ALTER USER`.
    pub(super) fn alter_user(&mut self) -> Parse<AlterRole> {
        let if_exists = self.if_exists()?;
        let name = self.user_name()?;
        Ok(AlterRole { name, if_exists, options: self.user_options()? })
    }

    /// What stands after `DROP USER`.
    pub(super) fn drop_user(&mut self) -> Parse<DropRole> {
        let if_exists = self.if_exists()?;
        Ok(DropRole { name: self.user_name()?, if_exists })
    }

    /// `[WITH password] [SUPERUSER | NOSUPERUSER]`, without equals signs.
    fn user_options(&mut self) -> Parse<Vec<RoleOption>> {
        let mut options = Vec::new();
        if self.accept_word(Keyword::With)? {
            options.push(if self.accept_word(Keyword::Password)? {
                RoleOption::Password(self.string()?)
            } else if self.accept_words(&[Keyword::Hashed, Keyword::Password])? {
                RoleOption::HashedPassword(self.string()?)
            } else {
                self.expect_words(&[Keyword::Generated, Keyword::Password])?;
                RoleOption::GeneratedPassword
            });
        }
        if self.accept_word(Keyword::Superuser)? {
            options.push(RoleOption::Superuser(true));
        } else if self.accept_word(Keyword::NoSuperuser)? {
            options.push(RoleOption::Superuser(false));
        }
        Ok(options)
    }

    /// `WITH option AND …`, if it is there.
    fn role_options(&mut self) -> Parse<Vec<RoleOption>> {
        if !self.accept_word(Keyword::With)? {
            return Ok(Vec::new());
        }
        let mut password = None;
        self.conjunction(|parser| {
            let start = parser.checkpoint();
            let option = parser.role_option()?;
            if let Some(name) = password_kind(&option) {
                match password.replace(name) {
                    Some(first) if first != name => {
                        parser.restore(start);
                        return Err(parser.fault_here(SyntaxErrorKind::ExclusiveRoleOptions { first, second: name }));
                    }
                    _ => {}
                }
            }
            Ok(option)
        })
    }

    fn role_option(&mut self) -> Parse<RoleOption> {
        let TokenKind::Keyword(keyword) = self.kind() else { return Err(self.unexpected()) };
        match keyword {
            Keyword::Password => {
                self.option_name()?;
                Ok(RoleOption::Password(self.string()?))
            }
            Keyword::Hashed => {
                self.advance()?;
                self.expect_word(Keyword::Password)?;
                self.expect(TokenKind::Equal)?;
                Ok(RoleOption::HashedPassword(self.string()?))
            }
            Keyword::Generated => {
                self.advance()?;
                self.expect_word(Keyword::Password)?;
                Ok(RoleOption::GeneratedPassword)
            }
            Keyword::Superuser => {
                self.option_name()?;
                Ok(RoleOption::Superuser(self.boolean()?))
            }
            Keyword::Login => {
                self.option_name()?;
                Ok(RoleOption::Login(self.boolean()?))
            }
            Keyword::Options => {
                self.option_name()?;
                Ok(RoleOption::Options(self.property_map()?))
            }
            Keyword::Access => {
                self.advance()?;
                if self.accept_word(Keyword::To)? {
                    return Ok(RoleOption::Datacenters(self.access_scope(Keyword::Datacenters)?));
                }
                self.expect_word(Keyword::From)?;
                Ok(RoleOption::Cidrs(self.access_scope(Keyword::Cidrs)?))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `name =`
    fn option_name(&mut self) -> Parse<()> {
        self.advance()?;
        self.expect(TokenKind::Equal)?;
        Ok(())
    }

    fn boolean(&mut self) -> Parse<bool> {
        if self.accept_word(Keyword::True)? {
            return Ok(true);
        }
        if self.accept_word(Keyword::False)? { Ok(false) } else { Err(self.unexpected()) }
    }

    /// `ALL things` or `things {'…', …}`
    fn access_scope(&mut self, things: Keyword) -> Parse<AccessScope> {
        if self.accept_words(&[Keyword::All, things])? {
            return Ok(AccessScope::All);
        }
        self.expect_word(things)?;
        self.expect(TokenKind::OpenBrace)?;
        let names = self.list(Self::string)?;
        self.expect(TokenKind::CloseBrace)?;
        Ok(AccessScope::Only(names))
    }

    /// `GRANT …`
    pub(super) fn grant(&mut self) -> Parse<Statement> {
        self.expect_word(Keyword::Grant)?;
        if !self.permissions_follow(Keyword::To) {
            let role = self.role_name()?;
            self.expect_word(Keyword::To)?;
            return Ok(Statement::GrantRole(GrantRole { role, grantee: self.role_name()? }));
        }
        let (permissions, resource) = self.permissions_on_resource()?;
        self.expect_word(Keyword::To)?;
        Ok(Statement::GrantPermissions(GrantPermissions { permissions, resource, grantee: self.role_name()? }))
    }

    /// `REVOKE …`
    pub(super) fn revoke(&mut self) -> Parse<Statement> {
        self.expect_word(Keyword::Revoke)?;
        if !self.permissions_follow(Keyword::From) {
            let role = self.role_name()?;
            self.expect_word(Keyword::From)?;
            return Ok(Statement::RevokeRole(RevokeRole { role, revokee: self.role_name()? }));
        }
        let (permissions, resource) = self.permissions_on_resource()?;
        self.expect_word(Keyword::From)?;
        Ok(Statement::RevokePermissions(RevokePermissions { permissions, resource, revokee: self.role_name()? }))
    }

    /// Whether permissions stand here, and not a role of such a name with `preposition` behind it.
    fn permissions_follow(&self, preposition: Keyword) -> bool {
        let TokenKind::Keyword(keyword) = self.kind() else { return false };
        (keyword == Keyword::All || permission(keyword).is_some()) && !self.peek_is(1, preposition)
    }

    fn permissions_on_resource(&mut self) -> Parse<(PermissionSet, Resource)> {
        let permissions = self.permissions()?;
        self.expect_word(Keyword::On)?;
        Ok((permissions, self.resource()?))
    }

    fn permissions(&mut self) -> Parse<PermissionSet> {
        if self.accept_word(Keyword::All)? {
            self.accept_word(Keyword::Permissions)?;
            return Ok(PermissionSet::All);
        }
        Ok(PermissionSet::Some(self.list(|parser| {
            let TokenKind::Keyword(keyword) = parser.kind() else { return Err(parser.unexpected()) };
            let permission = permission(keyword).ok_or_else(|| parser.unexpected())?;
            parser.advance()?;
            parser.accept_word(Keyword::Permission)?;
            Ok(permission)
        })?))
    }

    fn resource(&mut self) -> Parse<Resource> {
        if self.accept_keyspace_word()? {
            return Ok(Resource::Keyspace(self.keyspace_name()?));
        }
        if self.accept_table_word()? {
            return Ok(Resource::Table(self.table_name()?));
        }
        let TokenKind::Keyword(keyword) = self.kind() else { return Ok(Resource::Table(self.table_name()?)) };
        // these words are also names that a table may have
        let next = self.peek(1);
        let next_is_name = matches!(next, TokenKind::QuotedString | TokenKind::DollarString) || super::name::is_identifier(next);
        match keyword {
            Keyword::All if next_is_name => self.all_of(),
            Keyword::Role if next_is_name => {
                self.advance()?;
                Ok(Resource::Role(self.role_name()?))
            }
            Keyword::Function if next_is_name => {
                self.advance()?;
                let name = self.function_name()?;
                Ok(Resource::Function(name, self.optional_list(Self::type_name)?))
            }
            Keyword::MBean if next_is_name => {
                self.advance()?;
                Ok(Resource::MBean(self.string()?))
            }
            Keyword::MBeans if next_is_name => {
                self.advance()?;
                Ok(Resource::MBeans(self.string()?))
            }
            _ => Ok(Resource::Table(self.table_name()?)),
        }
    }

    /// `ALL …`
    fn all_of(&mut self) -> Parse<Resource> {
        self.advance()?;
        let TokenKind::Keyword(keyword) = self.kind() else { return Err(self.unexpected()) };
        match keyword {
            Keyword::Keyspaces => {
                self.advance()?;
                Ok(Resource::AllKeyspaces)
            }
            Keyword::Roles => {
                self.advance()?;
                Ok(Resource::AllRoles)
            }
            Keyword::MBeans => {
                self.advance()?;
                Ok(Resource::AllMBeans)
            }
            Keyword::Functions => {
                self.advance()?;
                Ok(if self.at(Keyword::In) { Resource::AllFunctionsIn(self.in_keyspace()?) } else { Resource::AllFunctions })
            }
            Keyword::Tables | Keyword::ColumnFamilies => {
                self.advance()?;
                Ok(Resource::AllTablesIn(self.in_keyspace()?))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn in_keyspace(&mut self) -> Parse<Identifier> {
        self.expect_word(Keyword::In)?;
        if !self.accept_keyspace_word()? {
            return Err(self.mismatch(TokenKind::Keyword(Keyword::Keyspace)));
        }
        self.keyspace_name()
    }

    /// `LIST …`
    pub(super) fn list_statement(&mut self) -> Parse<Statement> {
        self.expect_word(Keyword::List)?;
        if self.accept_word(Keyword::Users)? {
            return Ok(Statement::ListUsers);
        }
        if self.accept_word(Keyword::Superusers)? {
            return Ok(Statement::ListSuperusers);
        }
        if self.accept_word(Keyword::Roles)? {
            let grantee = self.optional_grantee()?;
            let recursive = !self.accept_word(Keyword::NoRecursive)?;
            return Ok(Statement::ListRoles(ListRoles { grantee, recursive }));
        }
        let permissions = self.permissions()?;
        let resource = if self.accept_word(Keyword::On)? { Some(self.resource()?) } else { None };
        let grantee = self.optional_grantee()?;
        let recursive = !self.accept_word(Keyword::NoRecursive)?;
        Ok(Statement::ListPermissions(ListPermissions { permissions, resource, grantee, recursive }))
    }

    fn optional_grantee(&mut self) -> Parse<Option<Identifier>> {
        if self.accept_word(Keyword::Of)? { Ok(Some(self.role_name()?)) } else { Ok(None) }
    }

    /// `ADD IDENTITY …`
    pub(super) fn add_identity(&mut self) -> Parse<AddIdentity> {
        self.expect_words(&[Keyword::Add, Keyword::Identity])?;
        let if_not_exists = self.if_not_exists()?;
        let identity = self.identity()?;
        self.expect_words(&[Keyword::To, Keyword::Role])?;
        Ok(AddIdentity { identity, if_not_exists, role: self.identity()? })
    }

    /// What stands after `DROP IDENTITY`.
    pub(super) fn drop_identity(&mut self) -> Parse<DropIdentity> {
        let if_exists = self.if_exists()?;
        Ok(DropIdentity { identity: self.identity()?, if_exists })
    }

    /// A word or a string, as it is.
    fn identity(&mut self) -> Parse<Box<str>> {
        if self.kind() == TokenKind::Identifier {
            let token = self.advance()?;
            return Ok(self.text_of(token).into());
        }
        self.string()
    }
}

fn password_kind(option: &RoleOption) -> Option<&'static str> {
    match option {
        RoleOption::Password(_) => Some("password"),
        RoleOption::HashedPassword(_) => Some("hashed password"),
        RoleOption::PasswordHashes(_) => Some("password"),
        RoleOption::GeneratedPassword => Some("generated password"),
        _ => None,
    }
}

fn permission(keyword: Keyword) -> Option<Permission> {
    let permission = match keyword {
        Keyword::Create => Permission::Create,
        Keyword::Alter => Permission::Alter,
        Keyword::Drop => Permission::Drop,
        Keyword::Select => Permission::Select,
        Keyword::Modify => Permission::Modify,
        Keyword::Authorize => Permission::Authorize,
        Keyword::Describe => Permission::Describe,
        Keyword::Execute => Permission::Execute,
        Keyword::Unmask => Permission::Unmask,
        Keyword::SelectMasked => Permission::SelectMasked,
        _ => return None,
    };
    Some(permission)
}
