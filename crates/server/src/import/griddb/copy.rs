//! A container, from the source to the target.

use super::super::clock::now_ms;
use super::super::error::ImportError;
use super::super::jobs::Jobs;
use super::containers;
use super::link::Link;
use super::outlook::{Task, check_empty};
use super::rows::{self, Putter};
use super::state::{State, store};
use crate::throttle::Throttle;
use griddb::GridError;
use griddb::client::{ContainerId, Description, IndexDescription, change_index};
use griddb::wire::statement;
use std::sync::{Mutex, PoisonError};

/// What all jobs share.
pub(super) struct Copying<'a> {
    jobs: &'a Jobs<'a>,
    throttle: Throttle,
    state: &'a State<'a>,
    left_out: Mutex<Vec<String>>,
}

/// One job.
pub(super) struct Copier<'a> {
    copying: &'a Copying<'a>,
    source: Link<'a>,
    target: Link<'a>,
}

/// Why a part is not copied: what came is none, or the target does not take it.
enum Stop {
    Source(GridError),
    Target(ImportError),
}

impl From<GridError> for Stop {
    fn from(error: GridError) -> Self {
        Self::Source(error)
    }
}

impl<'a> Copying<'a> {
    pub(super) fn new(jobs: &'a Jobs<'a>, throttle: Throttle, state: &'a State<'a>) -> Self {
        Self { jobs, throttle, state, left_out: Mutex::default() }
    }

    fn leave_out(&self, what: String) {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// What the target does not take.
    pub(super) fn left_out(self) -> Vec<String> {
        self.left_out.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Copier<'a> {
    pub(super) fn new(copying: &'a Copying<'a>, (source, target): (Link<'a>, Link<'a>)) -> Self {
        Self { copying, source, target }
    }

    /// Copies a container unless that is done, makes its indexes, and stores that it is done. Indexes that the target refuses are told each time.
    pub(super) fn copy(&mut self, task: &Task<'_>) -> Result<(), ImportError> {
        let (Copying { jobs, state, .. }, container) = (self.copying, task.container);
        let id = match &task.done {
            Some(there) => {
                // An index would be of other columns of one that was altered since.
                if let Err(error) = containers::check(container, &there.columns, there.key_len) {
                    self.copying.leave_out(error.to_string());
                    return Ok(());
                }
                there.id
            }
            None => self.copy_rows(container)?,
        };
        for index in &container.indexes {
            self.make_index(container, id, index)?;
        }
        if task.done.is_some() {
            return Ok(());
        }
        let key = state.key(&container.name);
        jobs.patiently(|| store(&mut self.target, &state.container, &key, now_ms()))
    }

    fn copy_rows(&mut self, container: &Description) -> Result<ContainerId, ImportError> {
        let Copying { jobs, state, .. } = self.copying;
        if container.key_len == 0 {
            let mut is_begun = state.is_begun(&container.name);
            return jobs.patiently(|| self.copy_anew(container, &mut is_begun));
        }
        let id = jobs.patiently(|| containers::make(&mut self.target, container))?;
        let mut next = None::<Vec<u8>>;
        loop {
            next = jobs.patiently(|| self.part(container, id, next.as_deref()))?;
            if next.is_none() {
                return Ok(id);
            }
        }
    }

    /// Copies a part, and gives with what to ask for the next one.
    fn part(&mut self, container: &Description, id: ContainerId, state: Option<&[u8]>) -> Result<Option<Vec<u8>>, ImportError> {
        let Self { copying, source, target } = self;
        let (mut putter, mut count) = (Putter::new(container), 0);
        let read = rows::part(source, container, state, |row| {
            count += 1;
            if putter.push(row) { putter.send(target, id).map_err(Stop::Target) } else { Ok(()) }
        })?;
        let next = match read {
            Ok(next) => next,
            Err(Stop::Target(error)) => return Err(error),
            Err(Stop::Source(error)) => return Err(ImportError::Told(error)),
        };
        putter.send(target, id)?;
        copying.jobs.meter.add(count);
        copying.throttle.pass(count);
        Ok(next)
    }

    /// Copies a container whose rows nothing tells apart: from the first one, into an empty container.
    fn copy_anew(&mut self, container: &Description, is_begun: &mut bool) -> Result<ContainerId, ImportError> {
        let state = self.copying.state;
        let there = containers::described(&mut self.target, &container.name)?;
        if let Some(there) = there.map_err(ImportError::Told)? {
            if *is_begun {
                containers::remove(&mut self.target, &there)?;
            } else {
                check_empty(&mut self.target, &there)?;
            }
        }
        store(&mut self.target, &state.container, &state.key(&container.name), 0)?;
        *is_begun = true;
        let id = containers::make(&mut self.target, container)?;
        let mut next = None::<Vec<u8>>;
        loop {
            next = self.part(container, id, next.as_deref())?;
            if next.is_none() {
                return Ok(id);
            }
        }
    }

    /// Makes an index that the source has. That of the row key comes with the container.
    fn make_index(&mut self, container: &Description, id: ContainerId, index: &IndexDescription) -> Result<(), ImportError> {
        if index.columns.iter().copied().eq(0..container.key_len) {
            return Ok(());
        }
        let IndexDescription { name, columns, kind } = index;
        let made = if let Some(kind) = *kind {
            let write = |out: &mut Vec<u8>| change_index(id, (name, columns, kind), &[], out);
            let place = (statement::CREATE_INDEX, &container.name);
            let target = &mut self.target;
            self.copying.jobs.patiently(|| target.ask("to make an index of", place, write, |_| Ok(())))
        } else {
            Err(ImportError::OtherIndex)
        };
        match made {
            Ok(()) => Ok(()),
            Err(error) if error.is_refusal() => {
                self.copying.leave_out(format!("index {name} of container {}: {error}", container.name));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
