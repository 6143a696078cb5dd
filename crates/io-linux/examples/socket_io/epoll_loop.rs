//! Level-triggered epoll, one receive and one send a connection and event.

use std::net::TcpListener;
use std::os::fd::{AsRawFd, IntoRawFd};

pub(crate) fn run() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    let replies = crate::reply().repeat(256);
    let reply_bytes = crate::reply().len();
    let mut buffer = vec![0u8; 64 * 1024];
    let mut events: Vec<libc::epoll_event> = vec![libc::epoll_event { events: 0, u64: 0 }; 128];
    let add = |epoll: i32, descriptor: i32| {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: descriptor as u64 };
        // SAFETY: the event is valid for the call.
        assert_eq!(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, descriptor, &raw mut event) }, 0);
    };
    // SAFETY: no pointers are passed.
    let epoll = unsafe { libc::epoll_create1(0) };
    add(epoll, listener.as_raw_fd());
    loop {
        // SAFETY: the buffer has room for as many events as are asked for.
        let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), events.len() as i32, -1) };
        for event in &events[..count.max(0) as usize] {
            let descriptor = event.u64 as i32;
            if descriptor == listener.as_raw_fd() {
                let stream = listener.accept().unwrap().0;
                stream.set_nodelay(true).unwrap();
                add(epoll, stream.into_raw_fd());
                continue;
            }
            // SAFETY: pointer and length are of one live slice.
            let got = unsafe { libc::recv(descriptor, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
            if got <= 0 {
                // SAFETY: the descriptor is this loop's.
                unsafe { libc::close(descriptor) };
                continue;
            }
            let bytes = crate::requests(&buffer[..got as usize]) * reply_bytes;
            // SAFETY: pointer and length are of one live slice.
            let sent = unsafe { libc::send(descriptor, replies[..bytes].as_ptr().cast(), bytes, libc::MSG_NOSIGNAL) };
            assert_eq!(sent, bytes as isize);
        }
    }
}
