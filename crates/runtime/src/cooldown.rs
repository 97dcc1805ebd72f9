//! What a lineage remembers about its compressions over processes: sizes, pauses
//! and the cool-down after failed summaries.

use talaria_context::compress::AnchorRecord;
use talaria_context::meter::Meter;
use talaria_recovery::ErrorKind;
use talaria_store::StoreError;
use talaria_types::Rewrite;

use crate::clock;
use crate::compaction::cool_down_seconds;
use crate::session::Session;

impl Session {
    fn meter_key(&self) -> String {
        format!("talaria:meter:{}", self.root)
    }

    fn cool_down_key(&self) -> String {
        format!("talaria:summary_cool_down:{}", self.root)
    }

    /// What an earlier process knew about sizes; for another model nothing of it holds.
    pub(crate) fn stored_meter(&self) -> Meter {
        let stored = self.store().meta(&self.meter_key()).ok().flatten();
        let parsed = stored.and_then(|text| serde_json::from_str::<(String, Meter)>(&text).ok());
        let model = &self.models.current().provider.identity().model;
        parsed
            .filter(|(of, _)| of == model)
            .map(|(_, meter)| meter)
            .unwrap_or_default()
    }

    /// Writes what is known about sizes down, when it changed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn keep_meter(&mut self) -> Result<(), StoreError> {
        let model = self.models.current().provider.identity().model.clone();
        let text = serde_json::to_string(&(model, &self.gauge.meter)).unwrap_or_default();
        if self.kept_meter.as_ref() == Some(&text) || !self.stored {
            return Ok(());
        }
        self.store().set_meta(&self.meter_key(), Some(&text))?;
        self.kept_meter = Some(text);
        Ok(())
    }

    /// The facts that the newest compression of the conversation knew.
    ///
    /// # Errors
    /// When its record cannot be read.
    pub(crate) fn known_anchors(&self) -> Result<Vec<AnchorRecord>, StoreError> {
        let newest = self.store().compactions(&self.id)?.pop();
        let index = newest.map(|row| row.facts.anchor_index).unwrap_or_default();
        // A record of another version is no reason not to compress.
        Ok(serde_json::from_value(index).unwrap_or_default())
    }

    fn repairs_key(&self) -> String {
        format!("talaria:repairs:{}", self.root)
    }

    /// Repairs that an earlier process found this model's requests to need.
    pub(crate) fn stored_repairs(&self) -> Vec<Rewrite> {
        let stored = self.store().meta(&self.repairs_key()).ok().flatten();
        let parsed = stored.and_then(|text| serde_json::from_str::<(String, Vec<Rewrite>)>(&text).ok());
        let model = &self.models.current().provider.identity().model;
        parsed
            .filter(|(of, _)| of == model)
            .map(|(_, repairs)| repairs)
            .unwrap_or_default()
    }

    /// Writes the repairs down, so that the next process does not fail first.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn keep_repairs(&mut self) -> Result<(), StoreError> {
        if self.rewrites == self.kept_repairs || !self.stored {
            return Ok(());
        }
        let model = self.models.current().provider.identity().model.clone();
        let text = serde_json::to_string(&(model, &self.rewrites)).unwrap_or_default();
        self.store().set_meta(&self.repairs_key(), Some(&text))?;
        self.kept_repairs.clone_from(&self.rewrites);
        Ok(())
    }

    /// Seconds for which summaries are not tried; nothing when they are.
    pub(crate) fn cooling_down(&self) -> Option<u64> {
        let until: f64 = self
            .store()
            .meta(&self.cool_down_key())
            .ok()
            .flatten()?
            .parse()
            .ok()?;
        let left = until - clock::now().0;
        (left > 0.0).then_some(left.ceil() as u64)
    }

    /// Begins a cool-down after a failure of this kind, or ends one.
    pub(crate) fn cool_down(&self, failed: Option<Option<ErrorKind>>) {
        let until = failed.map(|kind| (clock::now().0 + cool_down_seconds(kind)).to_string());
        if until.is_none() && self.cooling_down().is_none() {
            return;
        }
        if let Err(error) = self.store().set_meta(&self.cool_down_key(), until.as_deref()) {
            tracing::warn!(%error, "the cool-down could not be written");
        }
    }

    /// Warns about the same thing once in this process.
    pub(crate) fn warn_once(&mut self, text: &str) {
        if self.warned.insert(text.to_owned()) {
            self.sink.warn(text.to_owned());
        }
    }
}
