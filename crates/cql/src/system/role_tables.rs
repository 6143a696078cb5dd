//! Rows of `system_auth`: roles, without what is known of their passwords.

use super::row::{RowBuilder, boolean, text, texts};
use crate::roles::Roles;
use model::Schema;

pub(super) fn roles(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for (name, role) in Roles::of(schema).all() {
        let member_of = || texts(role.member_of.iter().map(String::as_str));
        rows.row([
            ("role", text(name)),
            ("can_login", boolean(role.can_login)),
            ("is_superuser", boolean(role.is_superuser)),
            ("member_of", (!role.member_of.is_empty()).then(member_of).flatten()),
        ]);
    }
}

pub(super) fn role_members(schema: &Schema, rows: &mut RowBuilder<'_>) {
    for (member, role) in Roles::of(schema).all() {
        for granted in &role.member_of {
            rows.row([("role", text(granted)), ("member", text(member))]);
        }
    }
}
