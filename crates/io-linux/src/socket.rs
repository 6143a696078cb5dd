//! The system calls of stream sockets: never blocking, never raising SIGPIPE.

use crate::errno::Errno;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Receives into `bytes`; 0 is the peer's end of stream.
pub(crate) fn receive(socket: RawFd, bytes: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: pointer and length are of one live slice.
    Errno::check_length(unsafe { libc::recv(socket, bytes.as_mut_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT) })
}

/// Sends what the kernel takes of `bytes`.
pub(crate) fn send(socket: RawFd, bytes: &[u8]) -> Result<usize, Errno> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: pointer and length are of one live slice.
    Errno::check_length(unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Sends what the kernel takes of `first` and then `second`.
pub(crate) fn send_two(socket: RawFd, first: &[u8], second: &[u8]) -> Result<usize, Errno> {
    if second.is_empty() {
        return send(socket, first);
    }
    let mut parts = [
        libc::iovec { iov_base: first.as_ptr().cast_mut().cast(), iov_len: first.len() },
        libc::iovec { iov_base: second.as_ptr().cast_mut().cast(), iov_len: second.len() },
    ];
    // SAFETY: all-zero is a valid msghdr.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _;
    // SAFETY: the message names two live slices that sending only reads.
    Errno::check_length(unsafe { libc::sendmsg(socket, &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) })
}

/// Tells the peer that nothing more will be sent.
pub(crate) fn shutdown_sending(socket: RawFd) {
    // SAFETY: no pointers are passed. A failure means that the connection is gone already.
    unsafe { libc::shutdown(socket, libc::SHUT_WR) };
}

/// Ends a connection in both directions.
pub(crate) fn shut_down(socket: RawFd) {
    // SAFETY: no pointers are passed. A failure means that the connection is gone already.
    unsafe { libc::shutdown(socket, libc::SHUT_RDWR) };
}

/// Accepts one connection, if there is one.
pub(crate) fn accept(listener: RawFd) -> Result<(OwnedFd, SocketAddr), Errno> {
    // SAFETY: all-zero is a valid sockaddr_storage.
    let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: address and length are valid for writing and agree.
    let result = unsafe { libc::accept4(listener, (&raw mut storage).cast(), &raw mut length, libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) };
    let socket = Errno::check(result)?;
    // SAFETY: the descriptor is new and owned by nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    Ok((socket, address_of(&storage)))
}

/// A stream socket for `address`'s family.
pub(crate) fn open(address: &SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: no pointers are passed.
    let socket = Errno::check(unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the descriptor is new and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Sets an integer option.
pub(crate) fn set_option(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> Result<(), Errno> {
    // SAFETY: the option's value is a live integer of the size given.
    Errno::check(unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), size_of::<libc::c_int>() as libc::socklen_t)
    })?;
    Ok(())
}

/// Gives the socket its own address.
pub(crate) fn bind(socket: &OwnedFd, address: &SocketAddr) -> Result<(), Errno> {
    let (storage, length) = storage_of(address);
    // SAFETY: the storage holds an address of `length` bytes.
    Errno::check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const storage).cast(), length) })?;
    Ok(())
}

/// Starts connecting; the socket becomes writable when it is connected or has failed.
pub(crate) fn connect(socket: &OwnedFd, to: &SocketAddr) -> Result<(), Errno> {
    let (storage, length) = storage_of(to);
    // SAFETY: the storage holds an address of `length` bytes.
    match Errno::check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const storage).cast(), length) }) {
        Ok(_) | Err(Errno(libc::EINPROGRESS | libc::EINTR)) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Whether a socket that has become writable is connected, and not to itself: the kernel may choose the port that nobody listens on as the
/// socket's own.
pub(crate) fn finish_connecting(socket: &OwnedFd) -> Result<(), Errno> {
    let mut error: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option's value is a live integer of the size given.
    Errno::check(unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, (&raw mut error).cast(), &raw mut length)
    })?;
    if error != 0 {
        return Err(Errno(error));
    }
    if local_address(socket)? == peer_address(socket)? {
        return Err(Errno(libc::ECONNREFUSED));
    }
    Ok(())
}

/// The other side's address.
fn peer_address(socket: &OwnedFd) -> Result<SocketAddr, Errno> {
    // SAFETY: all-zero is a valid sockaddr_storage.
    let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: address and length are valid for writing and agree.
    Errno::check(unsafe { libc::getpeername(socket.as_raw_fd(), (&raw mut storage).cast(), &raw mut length) })?;
    Ok(address_of(&storage))
}

/// The socket's own address.
pub(crate) fn local_address(socket: &OwnedFd) -> Result<SocketAddr, Errno> {
    // SAFETY: all-zero is a valid sockaddr_storage.
    let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: address and length are valid for writing and agree.
    Errno::check(unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut storage).cast(), &raw mut length) })?;
    Ok(address_of(&storage))
}

fn address_of(storage: &libc::sockaddr_storage) -> SocketAddr {
    if libc::c_int::from(storage.ss_family) == libc::AF_INET6 {
        // SAFETY: the family says which of the address types the storage holds, and it is large enough for all.
        let address: &libc::sockaddr_in6 = unsafe { &*(&raw const *storage).cast() };
        let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
        SocketAddrV6::new(ip, u16::from_be(address.sin6_port), address.sin6_flowinfo, address.sin6_scope_id).into()
    } else {
        // SAFETY: as above.
        let address: &libc::sockaddr_in = unsafe { &*(&raw const *storage).cast() };
        SocketAddrV4::new(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)), u16::from_be(address.sin_port)).into()
    }
}

fn storage_of(address: &SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all-zero is a valid sockaddr_storage.
    let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
    let length = match address {
        SocketAddr::V4(v4) => {
            // SAFETY: the storage is large enough and aligned for every address type.
            let target: &mut libc::sockaddr_in = unsafe { &mut *(&raw mut storage).cast() };
            target.sin_family = libc::AF_INET as libc::sa_family_t;
            target.sin_port = v4.port().to_be();
            target.sin_addr.s_addr = u32::from(*v4.ip()).to_be();
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            // SAFETY: as above.
            let target: &mut libc::sockaddr_in6 = unsafe { &mut *(&raw mut storage).cast() };
            target.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            target.sin6_port = v6.port().to_be();
            target.sin6_addr.s6_addr = v6.ip().octets();
            target.sin6_flowinfo = v6.flowinfo();
            target.sin6_scope_id = v6.scope_id();
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}
