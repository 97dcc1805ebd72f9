//! What a turn costs, and whether the next call may be made.

use talaria_providers::pricing;
use talaria_store::{StoreError, UsageRow};
use talaria_types::{Event, ModelIdentity, SessionId, Task, Usage};

use crate::clock;
use crate::models::Model;
use crate::session::Session;

/// Output that is reckoned with where none is configured.
const USUAL_OUTPUT: u64 = 4_096;

/// Calls, their tokens and their price.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bill {
    pub(crate) calls: u64,
    pub(crate) usage: Usage,
    usd: f64,
    /// Calls whose price is not known.
    unpriced: u64,
}

impl Bill {
    /// Adds one call of a model. A call that was answered with nothing costs nothing.
    pub(crate) fn add(&mut self, model: &Model, usage: Option<Usage>) {
        let usage = usage.unwrap_or_default();
        self.calls += 1;
        self.usage += usage;
        match pricing::cost(&model.catalogue, model.provider.identity(), &usage) {
            Some(usd) => self.usd += usd,
            None => self.unpriced += 1,
        }
    }

    /// Adds another bill.
    pub(crate) fn join(&mut self, other: &Self) {
        self.calls += other.calls;
        self.usage += other.usage;
        self.usd += other.usd;
        self.unpriced += other.unpriced;
    }

    /// The price; nothing when any part of it is unknown.
    pub(crate) fn usd(&self) -> Option<f64> {
        (self.calls > 0 && self.unpriced == 0).then_some(self.usd)
    }

    /// What is known of the price.
    pub(crate) fn known_usd(&self) -> f64 {
        self.usd
    }

    /// How sure the price is.
    pub(crate) fn status(&self) -> &'static str {
        match (self.calls, self.unpriced) {
            (0, _) => "unknown",
            (_, 0) => "known",
            (calls, unpriced) if unpriced < calls => "partial",
            _ => "unknown",
        }
    }
}

impl Session {
    /// Counts the calls of a side task under its own name, for the model that was asked.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn account_side(&mut self, task: Task, bill: &Bill, model: &Model) -> Result<(), StoreError> {
        let identity = model.provider.identity().clone();
        self.account_task(task, bill, &identity)
    }

    /// Charges the turn for what its subagents have used.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn account_delegated(&mut self) -> Result<(), StoreError> {
        for (identity, bill) in self.desk.take_charges() {
            self.account_task(Task::Delegate, &bill, &identity)?;
        }
        Ok(())
    }

    fn account_task(&mut self, task: Task, bill: &Bill, identity: &ModelIdentity) -> Result<(), StoreError> {
        if bill.calls == 0 {
            return Ok(());
        }
        if let Some(nest) = &self.shared.nest {
            nest.charge_written(self.id.as_str(), identity, bill, task == Task::Delegate);
        }
        self.spent.join(bill);
        *self.side_usage.entry(task.as_str().to_owned()).or_default() += bill.usage;
        self.sink.tell(Event::Usage {
            task,
            usage: bill.usage,
        });
        let row = UsageRow {
            task: task.as_str().to_owned(),
            model: identity.model.clone(),
            billing: (
                identity.provider.clone(),
                identity.base_url.clone(),
                String::new(),
            ),
            calls: bill.calls,
            usage: bill.usage,
            cost_usd: bill.usd(),
        };
        self.store().add_usage(&self.id, &row, clock::now())
    }

    /// Why the next call may not be made: its worst case goes beyond a budget, or cannot be known.
    pub(crate) fn over_budget(&self, prompt_tokens: u64) -> Option<String> {
        let budget = &self.config().budget;
        let limits = [budget.per_turn_usd, budget.per_session_usd, budget.per_day_usd];
        let model = self.models.current();
        if model.is_free || limits.iter().all(Option::is_none) {
            return None;
        }
        let output = model.max_output.unwrap_or(USUAL_OUTPUT);
        let identity = model.provider.identity();
        let Some(worst) = pricing::worst_case(&model.catalogue, identity, prompt_tokens, output) else {
            return Some(unpriced(identity));
        };
        let refuse = |turn: f64, session: &SessionId, unwritten: f64| {
            let spans: [(&str, &dyn Fn() -> f64); 3] = [
                ("this turn", &|| turn),
                ("this session", &|| self.session_cost(session) + unwritten),
                ("this day", &|| self.day_cost() + unwritten),
            ];
            spans.iter().zip(limits).find_map(|((what, spent), limit)| {
                let (limit, spent) = (limit?, spent());
                (spent + worst > limit).then(|| told(what, spent, worst, limit))
            })
        };
        let Some(nest) = &self.shared.nest else {
            return refuse(self.spent.usd, &self.id, self.not_yet_written());
        };
        // A subagent spends what its parent has left.
        let purse = &nest.purse;
        purse.reserve(self.id.as_str(), worst, |standing| {
            refuse(standing.turn, &purse.session, standing.unwritten)
        })
    }

    /// What the lineage has cost, as far as it is known.
    fn session_cost(&self, session: &SessionId) -> f64 {
        let totals = self.store().totals(session).ok();
        totals.and_then(|totals| totals.cost_usd).unwrap_or_default()
    }

    /// What all sessions have cost today, as far as it is known.
    fn day_cost(&self) -> f64 {
        self.store().day_cost(clock::now()).unwrap_or_default()
    }

    /// Tells the desk what the turn has cost so far: its subagents spend what is left.
    pub(crate) fn tell_desk(&self) {
        self.desk.has_spent(self.spent.usd, self.not_yet_written());
    }

    fn not_yet_written(&self) -> f64 {
        self.unwritten.iter().map(|(_, bill)| bill.usd).sum()
    }
}

fn told(what: &str, spent: f64, worst: f64, limit: f64) -> String {
    format!(
        "{what} has cost {spent:.4} USD; the next call may cost up to {worst:.4} USD, which is over the limit of {limit:.4} USD"
    )
}

fn unpriced(identity: &ModelIdentity) -> String {
    format!(
        "the price of {} at {} is not known, so a spend limit cannot be kept; add its price to models.json in the home \
         folder, try `talaria models update`, or leave the limit out",
        identity.model, identity.provider
    )
}
