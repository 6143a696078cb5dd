//! The numbers of statements that are served, and of those that get an answer of their own.
#![allow(missing_docs, reason = "named as in the protocol")]

pub const CONNECT: i32 = 100;
pub const DISCONNECT: i32 = 101;
pub const LOGIN: i32 = 102;
pub const LOGOUT: i32 = 103;
pub const GET_PARTITION_ADDRESS: i32 = 104;
pub const GET_CONTAINER: i32 = 105;
pub const PUT_CONTAINER: i32 = 107;
pub const CREATE_SESSION: i32 = 111;
pub const CLOSE_SESSION: i32 = 112;
pub const FLUSH_LOG: i32 = 117;
pub const COMMIT_TRANSACTION: i32 = 118;
pub const ABORT_TRANSACTION: i32 = 119;
pub const GET_ROW: i32 = 120;
pub const QUERY_TQL: i32 = 121;
pub const QUERY_COLLECTION_GEOMETRY_RELATED: i32 = 122;
pub const QUERY_COLLECTION_GEOMETRY_WITH_EXCLUSION: i32 = 123;
pub const PUT_ROW: i32 = 124;
pub const PUT_MULTIPLE_ROWS: i32 = 125;
pub const UPDATE_ROW_BY_ID: i32 = 126;
pub const DELETE_ROW: i32 = 127;
pub const DELETE_ROW_BY_ID: i32 = 128;
pub const APPEND_TIME_SERIES_ROW: i32 = 129;
pub const GET_TIME_SERIES_ROW_RELATED: i32 = 131;
pub const INTERPOLATE_TIME_SERIES_ROW: i32 = 132;
pub const AGGREGATE_TIME_SERIES: i32 = 133;
pub const QUERY_TIME_SERIES_RANGE: i32 = 135;
pub const QUERY_TIME_SERIES_SAMPLING: i32 = 136;
pub const GET_CONTAINER_PROPERTIES: i32 = 140;
pub const GET_PARTITION_CONTAINER_NAMES: i32 = 143;
pub const DROP_CONTAINER: i32 = 144;
pub const CREATE_MULTIPLE_SESSIONS: i32 = 145;
pub const CLOSE_MULTIPLE_SESSIONS: i32 = 146;
pub const EXECUTE_MULTIPLE_QUERIES: i32 = 147;
pub const GET_MULTIPLE_CONTAINER_ROWS: i32 = 148;
pub const PUT_MULTIPLE_CONTAINER_ROWS: i32 = 149;
pub const CLOSE_ROW_SET: i32 = 150;
pub const FETCH_ROW_SET: i32 = 151;
pub const GET_USERS: i32 = 154;
pub const PUT_USER: i32 = 155;
pub const DROP_USER: i32 = 156;
pub const GET_DATABASES: i32 = 157;
pub const PUT_DATABASE: i32 = 158;
pub const DROP_DATABASE: i32 = 159;
pub const PUT_PRIVILEGE: i32 = 160;
pub const DROP_PRIVILEGE: i32 = 161;
pub const CREATE_INDEX: i32 = 162;
pub const DROP_INDEX: i32 = 163;

/// This server's own, which others do not know: its program's version. Not among [`ALL`].
pub const TARNDB_VERSION: i32 = 29_000;
/// The first number, and the one after the last.
pub const ALL: std::ops::Range<i32> = 100..164;
