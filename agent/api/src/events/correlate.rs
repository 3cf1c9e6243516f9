//! Which events become objects of their own, which are counted, and which are too many.
//!
//! The rules and numbers are those of the Kubernetes 1.37 client library: an equal event is counted;
//! from the tenth different message with one reason within ten minutes on, such events share one
//! object; about one object there are 25 events at once and then one every five minutes.

use std::collections::BTreeSet;
use std::time::Duration;

use agent_core::Time;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as ApiTime;

use super::budget::Budget;
use super::recent::Recent;

/// Things remembered of each kind.
const REMEMBERED: usize = 4096;
/// Different messages from which on they are combined.
const SIMILAR: usize = 10;
/// A pause of this length begins anew.
const WINDOW: Duration = Duration::from_secs(600);
/// Events about one object at once, and the time for each further one.
const SPAM: (u32, Duration) = (25, Duration::from_secs(300));
/// What a combined event begins with.
const COMBINED: &str = "(combined from similar events): ";

/// What to do about an event.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Make an object.
    Create(Box<Event>),
    /// Count it into the object with this name.
    Count(Box<Event>),
    /// There are too many about its object.
    Drop,
}

/// What is remembered to decide that.
#[derive(Debug)]
pub(super) struct Correlator {
    similar: Recent<Similar, Messages>,
    counted: Recent<Equal, Option<Counted>>,
    budgets: Recent<Object, Budget>,
}

/// Object, type and reason.
type Similar = (Object, String);
/// The same, place in the object, and message; combined events have neither.
type Equal = (Similar, Option<(String, String)>);
/// Kind, namespace, name, UID, type of the event.
type Object = [String; 5];

#[derive(Debug, Default)]
struct Messages {
    different: BTreeSet<String>,
    last: Time,
}

#[derive(Clone, Debug)]
struct Counted {
    name: String,
    first: Option<ApiTime>,
    count: i32,
}

impl Correlator {
    pub(super) fn new() -> Self {
        Self {
            similar: Recent::new(REMEMBERED),
            counted: Recent::new(REMEMBERED),
            budgets: Recent::new(REMEMBERED),
        }
    }

    /// Decides about an event that happened `now`, so many times since it was told last.
    pub(super) fn judge(&mut self, mut event: Event, times: i32, now: Time) -> Verdict {
        let object = object(&event);
        let similar = (object.clone(), event.reason.clone().unwrap_or_default());
        let message = event.message.clone().unwrap_or_default();
        let place = event.involved_object.field_path.clone();
        let combined = self.is_one_of_many(&similar, &message, now);
        if combined {
            event.message = Some(format!("{COMBINED}{message}"));
        }
        let own = (!combined).then(|| (place.unwrap_or_default(), message));
        let counted = self.counted.entry(&(similar, own), || None);
        let known = counted.is_some();
        let so_far = counted.as_ref().map_or(0, |counted| counted.count);
        event.count = Some(so_far.saturating_add(times.max(1)));
        if let Some(counted) = counted {
            event.metadata.name = Some(counted.name.clone());
            event.first_timestamp.clone_from(&counted.first);
        }
        *counted = Some(Counted {
            name: event.metadata.name.clone().unwrap_or_default(),
            first: event.first_timestamp.clone(),
            count: event.count.unwrap_or(1),
        });
        let full = || Budget::new(SPAM.0, SPAM.1, now);
        if !self.budgets.entry(&object, full).take(now) {
            return Verdict::Drop;
        }
        if known {
            Verdict::Count(Box::new(event))
        } else {
            Verdict::Create(Box::new(event))
        }
    }

    fn is_one_of_many(&mut self, similar: &Similar, message: &str, now: Time) -> bool {
        let messages = self.similar.entry(similar, Messages::default);
        if now.since(messages.last) > WINDOW {
            messages.different.clear();
        }
        messages.last = now;
        messages.different.insert(message.to_owned());
        let many = messages.different.len() >= SIMILAR;
        if many {
            // The set need not grow: it only has to stay one short of being many.
            messages.different.pop_first();
        }
        many
    }
}

fn object(event: &Event) -> Object {
    let involved = &event.involved_object;
    let texts = [
        &involved.kind,
        &involved.namespace,
        &involved.name,
        &involved.uid,
        &event.type_,
    ];
    texts.map(|text| text.clone().unwrap_or_default())
}

#[cfg(test)]
mod tests;
