//! GET_PARTITION_ADDRESS: where partitions are.

use crate::client::HASH_MODE;
use crate::wire::{Options, Reader, Statement, Status, put_i32};
use crate::{ErrorCode, GridError, PARTITION_COUNT};
use std::net::{IpAddr, SocketAddr};

/// GET_PARTITION_ADDRESS: who is the master, which is the node at `address` itself, or who owns a partition.
///
/// # Errors
/// There is no such partition.
pub fn partition_address(
    statement: &Statement<'_>,
    arguments: &mut Reader<'_>,
    is_ipv6: bool,
    address: SocketAddr,
    owner: impl FnOnce(u32) -> SocketAddr,
    out: &mut Vec<u8>,
) -> Result<(), GridError> {
    Options::read(arguments)?;
    let is_about_master = !arguments.rest().is_empty() && arguments.bool()?;
    let Some(partition) = u32::try_from(statement.partition).ok().filter(|partition| *partition < PARTITION_COUNT) else {
        let message = format!("there is no partition {}", statement.partition);
        return Err(GridError::new(ErrorCode::TXN_PARTITION_ID_INVALID, message));
    };
    let reply = statement.reply.begin(Status::Success, out);
    put_i32(out, PARTITION_COUNT as i32);
    if is_about_master {
        out.extend_from_slice(&[0, 0, 1, HASH_MODE]);
        put_address(address, is_ipv6, out);
    } else {
        out.push(1);
        put_address(owner(partition), is_ipv6, out);
        out.push(0);
    }
    reply.end(out);
    Ok(())
}

fn put_address(address: SocketAddr, is_ipv6: bool, out: &mut Vec<u8>) {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) if is_ipv6 => out.extend_from_slice(&ip.to_ipv6_mapped().octets()),
        IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) if is_ipv6 => out.extend_from_slice(&ip.octets()),
        // A client over IPv4 cannot be told.
        IpAddr::V6(_) => out.extend_from_slice(&[0; 4]),
    }
    put_i32(out, i32::from(address.port()));
}
