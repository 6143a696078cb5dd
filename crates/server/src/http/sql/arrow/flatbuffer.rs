//! A writer of FlatBuffers, as far as Arrow's messages need it: from front to back, each table before what it points to.
//!
//! Places are relative to the buffer's start, which is aligned to 8 bytes where it is sent. An offset points forward to a string, a vector or a table; a table points back
//! to its list of fields, which lies right before it.

/// A field of a table, in the order of its schema.
#[derive(Clone, Copy)]
pub(super) enum Field {
    /// Has its default.
    Absent,
    Byte(u8),
    Short(i16),
    Int(i32),
    Long(i64),
    /// Points to what is written later: [`FlatBuffer::point`].
    Offset,
}

impl Field {
    fn size(self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Byte(_) => 1,
            Self::Short(_) => 2,
            Self::Int(_) | Self::Offset => 4,
            Self::Long(_) => 8,
        }
    }
}

/// Where an offset lies that has to be pointed.
#[derive(Clone, Copy)]
pub(super) struct Pointer(usize);

/// A buffer that is written.
pub(super) struct FlatBuffer {
    bytes: Vec<u8>,
}

impl FlatBuffer {
    /// One whose root is written next.
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; 4] }
    }

    /// Pads until what comes `ahead` bytes from now is aligned.
    fn align(&mut self, to: usize, ahead: usize) {
        let padding = (self.bytes.len() + ahead).next_multiple_of(to) - (self.bytes.len() + ahead);
        self.bytes.resize(self.bytes.len() + padding, 0);
    }

    /// The table that everything is part of.
    pub(super) fn root<const N: usize>(&mut self, fields: [Field; N]) -> [Pointer; N] {
        self.table(Pointer(0), fields)
    }

    /// A table that something points to; where its own offsets lie, one for each field.
    pub(super) fn table<const N: usize>(&mut self, from: Pointer, fields: [Field; N]) -> [Pointer; N] {
        // Where fields lie, from the table's start, which is the distance to their list.
        let (mut places, mut end) = ([0_usize; N], 4_usize);
        for (place, field) in places.iter_mut().zip(fields).filter(|(_, field)| field.size() > 0) {
            *place = end.next_multiple_of(field.size());
            end = *place + field.size();
        }
        let list_len = 4 + 2 * N;
        self.align(8, list_len);
        self.bytes.extend_from_slice(&(list_len as u16).to_le_bytes());
        self.bytes.extend_from_slice(&(end as u16).to_le_bytes());
        places.iter().for_each(|place| self.bytes.extend_from_slice(&(*place as u16).to_le_bytes()));
        self.point(from);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&(list_len as i32).to_le_bytes());
        for (place, field) in places.iter().zip(fields).filter(|(_, field)| field.size() > 0) {
            self.bytes.resize(start + place, 0);
            match field {
                Field::Absent => {}
                Field::Byte(value) => self.bytes.push(value),
                Field::Short(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
                Field::Int(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
                Field::Long(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
                Field::Offset => self.bytes.extend_from_slice(&[0; 4]),
            }
        }
        places.map(|place| Pointer(start + place))
    }

    /// Makes an offset point to what is written next.
    fn point(&mut self, from: Pointer) {
        let distance = (self.bytes.len() - from.0) as u32;
        self.bytes[from.0..from.0 + 4].copy_from_slice(&distance.to_le_bytes());
    }

    pub(super) fn string(&mut self, from: Pointer, text: &str) {
        self.align(4, 0);
        self.point(from);
        self.bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    /// A vector of tables, which are written next, each from its pointer.
    pub(super) fn tables(&mut self, from: Pointer, count: usize) -> Vec<Pointer> {
        self.align(4, 0);
        self.point(from);
        self.bytes.extend_from_slice(&(count as u32).to_le_bytes());
        let first = self.bytes.len();
        self.bytes.resize(first + 4 * count, 0);
        (0..count).map(|at| Pointer(first + 4 * at)).collect()
    }

    /// A vector of structures of two numbers.
    pub(super) fn pairs(&mut self, from: Pointer, pairs: &[(i64, i64)]) {
        self.align(8, 4);
        self.point(from);
        self.bytes.extend_from_slice(&(pairs.len() as u32).to_le_bytes());
        for (first, second) in pairs {
            self.bytes.extend_from_slice(&first.to_le_bytes());
            self.bytes.extend_from_slice(&second.to_le_bytes());
        }
    }

    /// All of it, padded to a multiple of 8 bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.align(8, 0);
        self.bytes
    }
}
