//! The consensus library's messages and entries as bytes.
//!
//! They are not encoded as protocol buffers: the decoder that the library brings along runs out of stack on hostile nesting
//! (RUSTSEC-2024-0437), and these bytes come from the network. What the library takes on trust is checked by [`may_step`].

use crate::codec::{CodecError, Reader, Writer};
use raft::eraftpb::{ConfState, Entry, EntryType, HardState, Message, MessageType, Snapshot};
use raft::{Raft, Storage};

/// Entries in one message or log.
const ENTRIES_MAX: usize = 1 << 16;
/// Members of the group.
const GROUP_MAX: usize = 4096;
/// A command and its head, or a state.
const DATA_BYTES_MAX: usize = crate::state::STATE_BYTES_MAX + 1024;
/// No group reaches this term; one that claims it would only wear the numbers out.
const TERM_MAX: u64 = 1 << 48;

pub(crate) fn encode_message(message: &Message, writer: &mut Writer) {
    writer.u8(message.get_msg_type() as u8);
    for number in
        [message.to, message.from, message.term, message.log_term, message.index, message.commit, message.commit_term, message.reject_hint]
    {
        writer.varint(number);
    }
    writer.u8(u8::from(message.reject));
    writer.bytes(&message.context);
    writer.varint(message.entries.len() as u64);
    for entry in &message.entries {
        encode_entry(entry, writer);
    }
    let snapshot = message.get_snapshot();
    writer.u8(u8::from(!snapshot.is_empty()));
    if !snapshot.is_empty() {
        let metadata = snapshot.get_metadata();
        writer.varint(metadata.index);
        writer.varint(metadata.term);
        encode_conf_state(metadata.get_conf_state(), writer);
        writer.bytes(&snapshot.data);
    }
}

pub(crate) fn decode_message(reader: &mut Reader<'_>) -> Result<Message, CodecError> {
    let mut message = Message::default();
    message.set_msg_type(message_type(reader.u8("message type")?)?);
    for field in [
        &mut message.to,
        &mut message.from,
        &mut message.term,
        &mut message.log_term,
        &mut message.index,
        &mut message.commit,
        &mut message.commit_term,
        &mut message.reject_hint,
    ] {
        *field = reader.varint("message")?;
    }
    message.reject = reader.flag("reject")?;
    message.context = reader.bytes(64, "context")?.to_vec().into();
    for _ in 0..reader.count(ENTRIES_MAX, "entries")? {
        message.mut_entries().push(decode_entry(reader)?);
    }
    if reader.flag("snapshot")? {
        let snapshot: &mut Snapshot = message.mut_snapshot();
        snapshot.mut_metadata().index = reader.varint("snapshot's index")?;
        snapshot.mut_metadata().term = reader.varint("snapshot's term")?;
        snapshot.mut_metadata().set_conf_state(decode_conf_state(reader)?);
        snapshot.data = reader.bytes(DATA_BYTES_MAX, "snapshot")?.to_vec().into();
    }
    Ok(message)
}

pub(crate) fn encode_entry(entry: &Entry, writer: &mut Writer) {
    writer.u8(u8::from(entry.get_entry_type() == EntryType::EntryConfChange));
    writer.varint(entry.term);
    writer.varint(entry.index);
    writer.bytes(&entry.data);
    writer.bytes(&entry.context);
}

pub(crate) fn decode_entry(reader: &mut Reader<'_>) -> Result<Entry, CodecError> {
    let mut entry = Entry::default();
    if reader.flag("entry's type")? {
        entry.set_entry_type(EntryType::EntryConfChange);
    }
    entry.term = reader.varint("entry's term")?;
    entry.index = reader.varint("entry's index")?;
    entry.data = reader.bytes(DATA_BYTES_MAX, "entry")?.to_vec().into();
    entry.context = reader.bytes(64, "entry's context")?.to_vec().into();
    Ok(entry)
}

pub(crate) fn encode_conf_state(group: &ConfState, writer: &mut Writer) {
    for ids in [&group.voters, &group.learners] {
        writer.varint(ids.len() as u64);
        for id in ids {
            writer.varint(*id);
        }
    }
}

/// The members of a group: at least one voter, each member once, all with ids of members.
pub(crate) fn decode_conf_state(reader: &mut Reader<'_>) -> Result<ConfState, CodecError> {
    let mut group = ConfState::default();
    let mut seen = std::collections::BTreeSet::new();
    for ids in [&mut group.voters, &mut group.learners] {
        for _ in 0..reader.count(GROUP_MAX, "group")? {
            let id = u64::from(reader.node("member of the group")?.0);
            if !seen.insert(id) {
                return Err(CodecError::Inconsistent { what: "group" });
            }
            ids.push(id);
        }
    }
    if group.voters.is_empty() && !group.learners.is_empty() {
        return Err(CodecError::Inconsistent { what: "group" });
    }
    Ok(group)
}

pub(crate) fn encode_hard_state(state: &HardState, writer: &mut Writer) {
    for number in [state.term, state.vote, state.commit] {
        writer.varint(number);
    }
}

pub(crate) fn decode_hard_state(reader: &mut Reader<'_>) -> Result<HardState, CodecError> {
    let mut state = HardState::default();
    for field in [&mut state.term, &mut state.vote, &mut state.commit] {
        *field = reader.varint("hard state")?;
    }
    Ok(state)
}

/// The types that members send each other; all others are for within a process.
fn message_type(number: u8) -> Result<MessageType, CodecError> {
    use MessageType::{
        MsgAppend, MsgAppendResponse, MsgHeartbeat, MsgHeartbeatResponse, MsgRequestPreVote, MsgRequestPreVoteResponse, MsgRequestVote,
        MsgRequestVoteResponse, MsgSnapshot, MsgTimeoutNow,
    };
    [
        MsgAppend,
        MsgAppendResponse,
        MsgRequestVote,
        MsgRequestVoteResponse,
        MsgSnapshot,
        MsgHeartbeat,
        MsgHeartbeatResponse,
        MsgTimeoutNow,
        MsgRequestPreVote,
        MsgRequestPreVoteResponse,
    ]
    .into_iter()
    .find(|known| *known as u8 == number)
    .ok_or(CodecError::Unknown { what: "message type", found: u64::from(number) })
}

/// Whether `message` from member `from` keeps to what the library takes for granted. It would stop the process on one that does not: a commit index beyond
/// the log, entries with holes, entries that contradict what is committed, answers for entries that were never sent.
pub(crate) fn may_step<Log: Storage>(raft: &Raft<Log>, from: u64, message: &Message) -> bool {
    let log = &raft.raft_log;
    if message.from != from || message.to != raft.id || from == raft.id || message.term == 0 || message.term > TERM_MAX {
        return false;
    }
    match message.get_msg_type() {
        MessageType::MsgAppend => {
            let mut previous = (message.index, message.log_term);
            let contiguous = message.entries.iter().all(|entry| {
                let follows = entry.index == previous.0.wrapping_add(1) && entry.term >= previous.1 && entry.term <= message.term;
                previous = (entry.index, entry.term);
                follows
            });
            let committed = message.entries.iter().take_while(|entry| entry.index <= log.committed);
            let agrees = committed.filter(|entry| entry.index >= log.first_index()).all(|entry| log.match_term(entry.index, entry.term));
            // A leader has all that is committed, so its entry there or after is of that term or a later one.
            let plausible = message.index < log.committed || log.term(log.committed).is_ok_and(|term| message.log_term >= term);
            message.index > 0 && message.index < u64::MAX >> 1 && contiguous && agrees && plausible
        }
        MessageType::MsgHeartbeat => message.commit <= log.last_index(),
        MessageType::MsgAppendResponse => {
            let known = if message.reject { message.reject_hint } else { message.index };
            known <= log.last_index()
        }
        MessageType::MsgSnapshot => {
            let metadata = message.get_snapshot().get_metadata();
            let agrees =
                metadata.index > log.committed || log.match_term(metadata.index, metadata.term) || metadata.index < log.first_index();
            metadata.index > 0 && metadata.index < u64::MAX >> 1 && metadata.term <= message.term && agrees
        }
        MessageType::MsgTimeoutNow => from == raft.leader_id,
        _ => true,
    }
}
