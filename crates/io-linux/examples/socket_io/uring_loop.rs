//! io_uring for everything: multishot receives into provided buffers, sends batched into the enter that waits.

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::atomic::{AtomicU16, Ordering};

const ACCEPT: u64 = 1 << 32;
const SEND: u64 = 2 << 32;
const BUFFERS: u16 = 256;
const BUFFER_BYTES: usize = 16 * 1024;
const GROUP: u16 = 1;

/// The ring of receive buffers that the kernel takes from.
struct Buffers {
    ring: *mut types::BufRingEntry,
    memory: Vec<u8>,
    tail: u16,
}

impl Buffers {
    fn new(uring: &IoUring) -> Self {
        let layout = std::alloc::Layout::from_size_align(usize::from(BUFFERS) * size_of::<types::BufRingEntry>(), 4096).unwrap();
        // SAFETY: the layout has a size.
        let ring = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<types::BufRingEntry>();
        // SAFETY: the ring lives as long as the process.
        unsafe { uring.submitter().register_buf_ring_with_flags(ring as u64, BUFFERS, GROUP, 0).unwrap() };
        let mut buffers = Self { ring, memory: vec![0; usize::from(BUFFERS) * BUFFER_BYTES], tail: 0 };
        (0..BUFFERS).for_each(|id| buffers.give(id));
        buffers.publish();
        buffers
    }

    fn bytes(&self, id: u16, count: usize) -> &[u8] {
        &self.memory[usize::from(id) * BUFFER_BYTES..][..count]
    }

    fn give(&mut self, id: u16) {
        // SAFETY: the index is within the ring; the buffer within the memory.
        let entry = unsafe { &mut *self.ring.add(usize::from(self.tail % BUFFERS)) };
        entry.set_addr(self.memory[usize::from(id) * BUFFER_BYTES..].as_ptr() as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&self) {
        // SAFETY: the tail lies within the ring's first entry, by the kernel's definition.
        unsafe { (*types::BufRingEntry::tail(self.ring).cast::<AtomicU16>()).store(self.tail, Ordering::Release) };
    }
}

pub(crate) fn run() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    let replies = crate::reply().repeat(256);
    let reply_bytes = crate::reply().len();
    let mut uring: IoUring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun().build(1024).unwrap();
    let mut buffers = Buffers::new(&uring);
    let mut queue = vec![opcode::AcceptMulti::new(types::Fd(listener.as_raw_fd())).build().user_data(ACCEPT)];
    let mut completions: Vec<cqueue::Entry> = Vec::new();
    let receive =
        |descriptor: i32| -> squeue::Entry { opcode::RecvMulti::new(types::Fd(descriptor), GROUP).build().user_data(descriptor as u64) };
    loop {
        for entry in queue.drain(..) {
            // SAFETY: the entries name descriptors, registered buffers and replies that outlive them.
            while unsafe { uring.submission().push(&entry) }.is_err() {
                uring.submit().unwrap();
            }
        }
        uring.submit_and_wait(1).unwrap();
        completions.extend(uring.completion());
        for completion in completions.drain(..) {
            let data = completion.user_data();
            if data == ACCEPT {
                let descriptor = completion.result();
                // SAFETY: the descriptor is new.
                let stream: std::net::TcpStream = unsafe { std::os::fd::FromRawFd::from_raw_fd(descriptor) };
                stream.set_nodelay(true).unwrap();
                queue.push(receive(stream.into_raw_fd()));
            } else if data & SEND == 0 {
                let descriptor = data as i32;
                if completion.result() <= 0 && completion.result() != -libc::ENOBUFS {
                    // SAFETY: the descriptor is this loop's.
                    unsafe { libc::close(descriptor) };
                    continue;
                }
                if let Some(id) = cqueue::buffer_select(completion.flags()) {
                    let count = crate::requests(buffers.bytes(id, completion.result() as usize));
                    buffers.give(id);
                    let bytes = (count * reply_bytes) as u32;
                    let send = opcode::Send::new(types::Fd(descriptor), replies.as_ptr(), bytes);
                    let send = send.flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL).build();
                    queue.push(send.user_data(SEND));
                }
                if !cqueue::more(completion.flags()) {
                    queue.push(receive(descriptor));
                }
            }
        }
        buffers.publish();
    }
}
