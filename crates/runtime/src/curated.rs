//! The curated memory as sessions use it: what of it is switched on, who may
//! write without being asked, and where a text was taken from.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use talaria_config::MemoryConfig;
use talaria_memory::{Limits, Memory, Target};

/// How often one turn may fail to make room before it is told to stop trying.
const FAILURES: u32 = 3;

/// The memory of a home, with the settings that say how it is used.
pub(crate) struct Curated {
    pub(crate) memory: Memory,
    /// `memory.write_approval`.
    pub(crate) approval: bool,
    memory_enabled: bool,
    user_enabled: bool,
    /// Failed changes of the running turn, by session.
    failures: Mutex<HashMap<String, u32>>,
}

impl Curated {
    /// The memory of `home`; nothing when it is switched off altogether.
    pub(crate) fn new(home: &Path, config: &MemoryConfig) -> Option<Self> {
        let limits = Limits {
            memory: config.memory_char_limit,
            user: config.user_char_limit,
        };
        (config.memory_enabled || config.user_profile_enabled).then(|| Self {
            memory: Memory::of_home(home, limits),
            approval: config.write_approval,
            memory_enabled: config.memory_enabled,
            user_enabled: config.user_profile_enabled,
            failures: Mutex::default(),
        })
    }

    /// Whether a file is in use.
    pub(crate) fn has(&self, target: Target) -> bool {
        match target {
            Target::Memory => self.memory_enabled,
            Target::User => self.user_enabled,
        }
    }

    /// The blocks of a system prompt as the files are now, and what could not be read.
    pub(crate) fn blocks(&self) -> (Vec<String>, Vec<String>) {
        let (mut blocks, mut warnings) = (Vec::new(), Vec::new());
        for target in Target::ALL.into_iter().filter(|target| self.has(*target)) {
            match self.memory.block(target) {
                Ok(block) => blocks.extend(block),
                Err(error) => warnings.push(format!("{} is left out: {error}", target.file_name())),
            }
        }
        (blocks, warnings)
    }

    /// A turn begins; its tries are counted anew.
    pub(crate) fn begin_turn(&self, session: &str) {
        self.counts().remove(session);
    }

    /// A change succeeded.
    pub(crate) fn succeeded(&self, session: &str) {
        self.counts().remove(session);
    }

    /// A change failed for want of room or of a match; whether it is time to stop.
    pub(crate) fn failed(&self, session: &str) -> bool {
        let mut counts = self.counts();
        let count = counts.entry(session.to_owned()).or_default();
        *count += 1;
        *count > FAILURES
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, HashMap<String, u32>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
