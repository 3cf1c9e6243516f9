//! How one setting is read, a value of the right type, its default, or a problem that names it; and how
//! it is shown.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::duration::GoDuration;
use crate::problem::Problem;

/// What was noticed while settings were read.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Settings of a wrong type. Their defaults stand in, so that reading goes on to the next one.
    pub(crate) problems: Vec<Problem>,
    /// Fields that nobody knows.
    pub(crate) unknown: Vec<String>,
}

/// A type that a setting can have.
pub(crate) trait Field: Sized {
    /// Takes the value of the field at `path`; `None` after a problem was reported.
    fn read(value: Value, path: &str, report: &mut Report) -> Option<Self>;

    /// The value as it could be written; `None` for a field that is not set.
    fn show(&self) -> Option<Value>;

    /// Whether this is the value that Go cannot tell from an absent field.
    fn is_zero(&self) -> bool {
        false
    }
}

/// A group of settings.
pub(crate) trait Group {
    /// Fields whose value is not the default.
    fn changed(&self) -> Vec<&'static str>;
}

/// Takes `key` out of `map`; an absent one or `null` gives `default`. `zero_is_unset`: the Go field
/// is no pointer, so an explicit zero value gives the default too.
pub(crate) fn take<T: Field>(
    map: &mut Map<String, Value>,
    key: &str,
    prefix: &str,
    report: &mut Report,
    zero_is_unset: bool,
) -> Option<T> {
    let value = map.remove(key).filter(|value| !value.is_null())?;
    let value = T::read(value, &format!("{prefix}{key}"), report)?;
    (!zero_is_unset || !value.is_zero()).then_some(value)
}

/// Declares a group of settings: name, type, key, default. `zero` behind the default: an explicit
/// zero value means the default, because the Go field is no pointer.
macro_rules! group {
    (
        $(#[$doc:meta])*
        pub struct $Group:ident {
            $(
                $(#[$field_doc:meta])*
                $field:ident: $Type:ty = $key:literal ($default:expr $(, $zero:ident)?)
            ),* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Group {
            $( $(#[$field_doc])* pub $field: $Type, )*
        }

        impl Default for $Group {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }

        impl $Group {
            /// Takes the fields of this group out of `map` and leaves the others.
            pub(crate) fn take(
                map: &mut serde_json::Map<String, serde_json::Value>,
                prefix: &str,
                report: &mut $crate::configuration::field::Report,
            ) -> Self {
                Self {
                    $( $field: $crate::configuration::field::take(
                        map, $key, prefix, report, false $( || $crate::configuration::field::$zero )?,
                    ).unwrap_or_else(|| $default), )*
                }
            }

            /// Puts every field of this group that is set into `map`.
            pub(crate) fn put(&self, map: &mut serde_json::Map<String, serde_json::Value>) {
                $( if let Some(value) = $crate::configuration::field::Field::show(&self.$field) {
                    map.insert($key.to_owned(), value);
                } )*
            }
        }

        impl $crate::configuration::field::Group for $Group {
            fn changed(&self) -> Vec<&'static str> {
                let default = Self::default();
                let mut changed = Vec::new();
                $( if self.$field != default.$field {
                    changed.push($key);
                } )*
                changed
            }
        }

        impl $crate::configuration::field::Field for $Group {
            fn read(
                value: serde_json::Value,
                path: &str,
                report: &mut $crate::configuration::field::Report,
            ) -> Option<Self> {
                $crate::configuration::field::read_group(value, path, report, Self::take)
            }

            fn show(&self) -> Option<serde_json::Value> {
                let mut map = serde_json::Map::new();
                self.put(&mut map);
                Some(serde_json::Value::Object(map))
            }
        }
    };
}
pub(crate) use group;

/// What `zero` behind a default stands for.
#[expect(non_upper_case_globals, reason = "it reads as a word in the tables")]
pub(crate) const zero: bool = true;

/// Reads a nested group; what is left of it afterwards is unknown.
pub(crate) fn read_group<T>(
    value: Value,
    path: &str,
    report: &mut Report,
    take: fn(&mut Map<String, Value>, &str, &mut Report) -> T,
) -> Option<T> {
    let Value::Object(mut map) = value else {
        return refuse(&value, path, "a mapping of fields", report);
    };
    let prefix = format!("{path}.");
    let group = take(&mut map, &prefix, report);
    report
        .unknown
        .extend(map.keys().map(|key| format!("{prefix}{key}")));
    Some(group)
}

fn refuse<T>(value: &Value, path: &str, allowed: &str, report: &mut Report) -> Option<T> {
    report.problems.push(Problem::new(
        path,
        format!("{value} is wrong, it must be {allowed}"),
    ));
    None
}

impl Field for bool {
    fn read(value: Value, path: &str, report: &mut Report) -> Option<Self> {
        value
            .as_bool()
            .or_else(|| refuse(&value, path, "true or false", report))
    }

    fn show(&self) -> Option<Value> {
        Some(Value::from(*self))
    }
}

impl Field for i64 {
    fn read(value: Value, path: &str, report: &mut Report) -> Option<Self> {
        value
            .as_i64()
            .or_else(|| refuse(&value, path, "a whole number", report))
    }

    fn show(&self) -> Option<Value> {
        Some(Value::from(*self))
    }

    fn is_zero(&self) -> bool {
        *self == 0
    }
}

impl Field for i32 {
    fn read(value: Value, path: &str, report: &mut Report) -> Option<Self> {
        let number = value
            .as_i64()
            .and_then(|number| Self::try_from(number).ok());
        number.or_else(|| refuse(&value, path, "a whole number below 2147483648", report))
    }

    fn show(&self) -> Option<Value> {
        Some(Value::from(*self))
    }

    fn is_zero(&self) -> bool {
        *self == 0
    }
}

impl Field for f64 {
    fn read(value: Value, path: &str, report: &mut Report) -> Option<Self> {
        value
            .as_f64()
            .or_else(|| refuse(&value, path, "a number", report))
    }

    fn show(&self) -> Option<Value> {
        Some(Value::from(*self))
    }
}

impl Field for String {
    fn read(value: Value, path: &str, report: &mut Report) -> Option<Self> {
        match value {
            Value::String(text) => Some(text),
            other => refuse(&other, path, "a text; put it in quotes", report),
        }
    }

    fn show(&self) -> Option<Value> {
        Some(Value::from(self.as_str()))
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }
}

impl Field for GoDuration {
    fn read(value: Value, path: &str, report: &mut Report) -> Option<Self> {
        let Value::String(text) = value else {
            return refuse(
                &value,
                path,
                "a duration with its unit, for instance 10s",
                report,
            );
        };
        text.parse()
            .inspect_err(|error: &super::DurationError| {
                report.problems.push(Problem::new(path, error.to_string()));
            })
            .ok()
    }

    fn show(&self) -> Option<Value> {
        Some(Value::from(self.to_string()))
    }

    fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// A part that is kept as it is: its owner reads it.
impl Field for Value {
    fn read(value: Value, _path: &str, _report: &mut Report) -> Option<Self> {
        Some(value)
    }

    fn show(&self) -> Option<Value> {
        Some(self.clone())
    }
}

impl<T: Field> Field for Option<T> {
    fn read(value: Value, path: &str, report: &mut Report) -> Option<Self> {
        T::read(value, path, report).map(Some)
    }

    fn show(&self) -> Option<Value> {
        self.as_ref()?.show()
    }

    fn is_zero(&self) -> bool {
        self.as_ref().is_some_and(T::is_zero)
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(value: Value, path: &str, report: &mut Report) -> Option<Self> {
        let Value::Array(items) = value else {
            return refuse(&value, path, "a list", report);
        };
        let read = |(at, item)| T::read(item, &format!("{path}[{at}]"), report);
        Some(items.into_iter().enumerate().filter_map(read).collect())
    }

    fn show(&self) -> Option<Value> {
        Some(self.iter().filter_map(T::show).collect())
    }
}

impl<T: Field> Field for BTreeMap<String, T> {
    fn read(value: Value, path: &str, report: &mut Report) -> Option<Self> {
        let Value::Object(map) = value else {
            return refuse(&value, path, "a mapping", report);
        };
        let read = |(key, item): (String, Value)| {
            T::read(item, &format!("{path}.{key}"), report).map(|item| (key, item))
        };
        Some(map.into_iter().filter_map(read).collect())
    }

    fn show(&self) -> Option<Value> {
        let pair = |(key, item): (&String, &T)| Some((key.clone(), item.show()?));
        Some(Value::Object(self.iter().filter_map(pair).collect()))
    }
}
