//! The file system that SQLite sees: files without a name, of the store, and no others. The clock is the system's.
#![allow(unsafe_code, reason = "a file system for SQLite is a table of functions with its calling convention")]

use super::{STORE, SpillError, SpillFile, note};
use rusqlite::ffi;
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

const NAME: &CStr = c"tarndb-spill";
/// What a page on its way to a device is aligned to.
const SECTOR_BYTES: c_int = 4_096;

/// An open file: SQLite has the memory, of which it knows the first field.
#[repr(C)]
struct OpenFile {
    head: ffi::sqlite3_file,
    /// Made by `open`, dropped by `close`.
    file: *mut Box<dyn SpillFile>,
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(lock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// The name of the file system, if there is a store; it is made known to SQLite at first.
pub(crate) fn name() -> Option<&'static CStr> {
    static IS_KNOWN: OnceLock<bool> = OnceLock::new();
    STORE.get()?;
    IS_KNOWN.get_or_init(register).then_some(NAME)
}

fn register() -> bool {
    // SAFETY: gives the default file system of the process, or null; it lives as long as the process.
    let Some(default) = (unsafe { ffi::sqlite3_vfs_find(std::ptr::null()).as_ref() }) else { return false };
    // All but files are the default's: the time above all.
    let own = ffi::sqlite3_vfs {
        szOsFile: size_of::<OpenFile>() as c_int,
        pNext: std::ptr::null_mut(),
        zName: NAME.as_ptr(),
        xOpen: Some(open),
        ..*default
    };
    // SAFETY: it is never freed, as SQLite asks, and its functions are as they are declared.
    unsafe { ffi::sqlite3_vfs_register(Box::into_raw(Box::new(own)), 0) == ffi::SQLITE_OK }
}

fn code_of(error: SpillError, code: c_int) -> c_int {
    let code = if matches!(error, SpillError::Io(_)) { code } else { ffi::SQLITE_FULL };
    note(error);
    code
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_given: *mut c_int,
) -> c_int {
    let open = file.cast::<OpenFile>();
    // SAFETY: SQLite gives memory of `szOsFile` bytes. Without methods it does not close what was not opened.
    unsafe { (*open).head.pMethods = std::ptr::null() };
    let Some(store) = STORE.get().filter(|_| name.is_null()) else { return ffi::SQLITE_CANTOPEN };
    match store.create() {
        Ok(made) => {
            // SAFETY: as above; the place for flags is null or SQLite's.
            unsafe {
                (*open).file = Box::into_raw(Box::new(made));
                (*open).head.pMethods = &raw const METHODS;
                if let Some(given) = flags_given.as_mut() {
                    *given = flags;
                }
            }
            ffi::SQLITE_OK
        }
        Err(error) => code_of(error, ffi::SQLITE_CANTOPEN),
    }
}

/// The file that `open` has made.
///
/// # Safety
/// SQLite gives what `open` has opened, and `close` has not closed.
unsafe fn opened<'f>(file: *mut ffi::sqlite3_file) -> &'f mut dyn SpillFile {
    // SAFETY: as the caller says; a file is its connection's, which one thread uses at a time.
    unsafe { (*(*file.cast::<OpenFile>()).file).as_mut() }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let open = file.cast::<OpenFile>();
    // SAFETY: `open` has made it, and SQLite closes a file once.
    unsafe {
        drop(Box::from_raw((*open).file));
        (*open).head.pMethods = std::ptr::null();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, out: *mut c_void, length: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite gives an open file and so many bytes.
    let (file, out) = unsafe { (opened(file), std::slice::from_raw_parts_mut(out.cast::<u8>(), length as usize)) };
    match file.read_at(offset as u64, out) {
        Ok(read) if read == out.len() => ffi::SQLITE_OK,
        Ok(read) => {
            // What SQLite asks for: the rest as zeros.
            out[read..].fill(0);
            ffi::SQLITE_IOERR_SHORT_READ
        }
        Err(error) => code_of(error, ffi::SQLITE_IOERR_READ),
    }
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, bytes: *const c_void, length: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite gives an open file and so many bytes.
    let (file, bytes) = unsafe { (opened(file), std::slice::from_raw_parts(bytes.cast::<u8>(), length as usize)) };
    file.write_at(offset as u64, bytes).map_or_else(|error| code_of(error, ffi::SQLITE_IOERR_WRITE), |()| ffi::SQLITE_OK)
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, length: i64) -> c_int {
    // SAFETY: SQLite gives an open file.
    let file = unsafe { opened(file) };
    file.truncate(length as u64).map_or_else(|error| code_of(error, ffi::SQLITE_IOERR_TRUNCATE), |()| ffi::SQLITE_OK)
}

/// Nothing of it outlives the process.
unsafe extern "C" fn sync(_: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut i64) -> c_int {
    // SAFETY: SQLite gives an open file, and a place for the number.
    unsafe { *out = opened(file).length() as i64 };
    ffi::SQLITE_OK
}

/// Nobody else has the file.
unsafe extern "C" fn lock(_: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(_: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: SQLite gives a place for the answer.
    unsafe { *out = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(_: *mut ffi::sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut ffi::sqlite3_file) -> c_int {
    SECTOR_BYTES
}

unsafe extern "C" fn device_characteristics(_: *mut ffi::sqlite3_file) -> c_int {
    0
}
