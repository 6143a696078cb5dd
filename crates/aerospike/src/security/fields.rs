//! The fields of a command: length (4, of what follows), number (1), data.

use super::privilege::{Privilege, PrivilegeKind, Scope};
use crate::ResultCode;

/// The numbers of fields.
pub(super) mod field {
    pub(in crate::security) const USER: u8 = 0;
    pub(in crate::security) const PASSWORD: u8 = 1;
    pub(in crate::security) const OLD_PASSWORD: u8 = 2;
    pub(in crate::security) const CREDENTIAL: u8 = 3;
    pub(in crate::security) const CLEAR_PASSWORD: u8 = 4;
    pub(in crate::security) const SESSION_TOKEN: u8 = 5;
    pub(in crate::security) const SESSION_TTL: u8 = 6;
    pub(in crate::security) const ROLES: u8 = 10;
    pub(in crate::security) const ROLE: u8 = 11;
    pub(in crate::security) const PRIVILEGES: u8 = 12;
    pub(in crate::security) const WHITELIST: u8 = 13;
    pub(in crate::security) const READ_QUOTA: u8 = 14;
    pub(in crate::security) const WRITE_QUOTA: u8 = 15;
}

/// No command has more fields.
const FIELDS_MAX: usize = 32;

/// The fields of a command, by number.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    all: Vec<(u8, &'a [u8])>,
}

impl<'a> Fields<'a> {
    /// Reads `count` fields, which must be all there is.
    pub(super) fn read(mut rest: &'a [u8], count: u8) -> Result<Self, ResultCode> {
        let mut all = Vec::new();
        if usize::from(count) > FIELDS_MAX {
            return Err(ResultCode::INVALID_FIELD);
        }
        for _ in 0..count {
            let (length, after) = rest.split_first_chunk::<4>().ok_or(ResultCode::INVALID_FIELD)?;
            let (field, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or(ResultCode::INVALID_FIELD)?;
            let (number, data) = field.split_first().ok_or(ResultCode::INVALID_FIELD)?;
            all.push((*number, data));
            rest = after;
        }
        if rest.is_empty() { Ok(Self { all }) } else { Err(ResultCode::INVALID_FIELD) }
    }

    pub(super) fn bytes(&self, number: u8) -> Option<&'a [u8]> {
        self.all.iter().find(|(of, _)| *of == number).map(|(_, data)| *data)
    }

    /// A text; `invalid` says what is wrong with one that is none.
    pub(super) fn text(&self, number: u8, invalid: ResultCode) -> Result<Option<String>, ResultCode> {
        self.bytes(number).map(|data| text(data).ok_or(invalid)).transpose()
    }

    /// A text that has to be there.
    pub(super) fn needed(&self, number: u8, invalid: ResultCode) -> Result<String, ResultCode> {
        self.text(number, invalid)?.filter(|text| !text.is_empty()).ok_or(invalid)
    }

    pub(super) fn number(&self, number: u8) -> Result<Option<u32>, ResultCode> {
        let read = |data: &[u8]| data.try_into().map(u32::from_be_bytes).map_err(|_| ResultCode::INVALID_QUOTA);
        self.bytes(number).map(read).transpose()
    }

    /// Names of roles: a count, then each with its length before it.
    pub(super) fn roles(&self) -> Result<Vec<String>, ResultCode> {
        let Some(data) = self.bytes(field::ROLES) else { return Ok(Vec::new()) };
        let (count, mut rest) = data.split_first().ok_or(ResultCode::INVALID_ROLE)?;
        let roles = (0..*count).map(|_| short_text(&mut rest).filter(|name| !name.is_empty()).ok_or(ResultCode::INVALID_ROLE));
        roles.collect()
    }

    /// Privileges: a count, then each with its code, and its namespace and set if it may have such.
    pub(super) fn privileges(&self) -> Result<Vec<Privilege>, ResultCode> {
        let Some(data) = self.bytes(field::PRIVILEGES) else { return Ok(Vec::new()) };
        let (count, mut rest) = data.split_first().ok_or(ResultCode::INVALID_PRIVILEGE)?;
        let privileges = (0..*count).map(|_| privilege(&mut rest).ok_or(ResultCode::INVALID_PRIVILEGE));
        privileges.collect()
    }

    /// Addresses and networks with commas between them.
    pub(super) fn whitelist(&self) -> Result<Option<Vec<String>>, ResultCode> {
        let list = self.text(field::WHITELIST, ResultCode::INVALID_WHITELIST)?;
        Ok(list.map(|list| list.split(',').map(str::trim).filter(|network| !network.is_empty()).map(str::to_owned).collect()))
    }
}

fn text(data: &[u8]) -> Option<String> {
    std::str::from_utf8(data).ok().map(str::to_owned)
}

fn short_text(rest: &mut &[u8]) -> Option<String> {
    let (length, after) = rest.split_first()?;
    let (data, after) = after.split_at_checked(usize::from(*length))?;
    *rest = after;
    text(data)
}

fn privilege(rest: &mut &[u8]) -> Option<Privilege> {
    let (code, after) = rest.split_first()?;
    *rest = after;
    let kind = PrivilegeKind::from_code(*code)?;
    if !kind.has_scope() {
        return Some(Privilege { kind, scope: Scope::Everything });
    }
    let scope = match (short_text(rest)?, short_text(rest)?) {
        (namespace, set) if namespace.is_empty() => set.is_empty().then_some(Scope::Everything)?,
        (namespace, set) if set.is_empty() => Scope::Namespace(namespace),
        (namespace, set) => Scope::Set(namespace, set),
    };
    Some(Privilege { kind, scope })
}
