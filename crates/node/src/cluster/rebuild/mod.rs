//! A replica gets the rows that it lacks.
//!
//! Owns: as primary, the queue of what each replica is to be sent besides writes; as learner, what it asks for and what it wipes; what is kept for members
//! that are away (catch-up); which replicas are dropped from those in sync.
//! Never touches: the metadata itself (it proposes), requests of clients.
//!
//! A learner asks the slot's primary for a rebuild (`REBUILD`). From then on it gets the slot's writes, and on the same stream images of the rows that it may
//! lack. One core makes both, in one order, so what arrives last is what the row is.
//!
//! | a slot, at its learner | next |
//! |---|---|
//! | assigned | held and in sync before → wanted by catch-up · held, after a restart → own tail is walked · else → wiped |
//! | own tail is walked | the keys that may be here alone are to be fetched → wanted by catch-up |
//! | damaged rows are found while it serves | [`repair`] |
//! | wiped | no row of before is left → wanted by full copy |
//! | wanted | the primary has a connection here and there is room → asked |
//! | asked | gets writes and images · `FULL_NEEDED` → wiped · in sync by the metadata → over |
//!
//! | the same slot, at its primary | next |
//! |---|---|
//! | asked | by full copy: the slot is scanned · by catch-up: rows written since the learner was in sync are walked |
//! | copied | all images are in the stream → sent |
//! | sent | the learner has acknowledged them → the primary waits for it as for those in sync |
//! | rebuilt | it has all that was written by then, and so have the others → `InSync` is proposed |
//! | dropped | it has no room, or is 32 MiB behind: `DropReplica` is proposed, and it waits 10 s to 10 minutes before the next rebuild |

pub(crate) mod catch_up;
pub(crate) mod completion;
pub(crate) mod dropping;
pub(crate) mod images;
pub(crate) mod learner;
pub(crate) mod learner_state;
pub(crate) mod progress;
pub(crate) mod queue;
pub(crate) mod relaid;
pub(crate) mod repair;
pub(crate) mod repair_state;
pub(crate) mod report;
pub(crate) mod requests;
pub(crate) mod state;
pub(crate) mod storing;
pub(crate) mod turn;
pub(crate) mod verification;
pub(crate) mod wiping;
