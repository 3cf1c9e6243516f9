//! An error with everything that caused it, on one line.

use std::error::Error;
use std::fmt;

/// Shows an error and its sources, joined by `: `. Errors here never repeat their source, so every
/// log line prints the chain through this.
#[derive(Debug)]
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            write!(f, ": {error}")?;
            next = error.source();
        }
        Ok(())
    }
}
