//! Timed scripts: one command a line, at a time after the start.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Parser;
use nvidia_ml::Store;

use crate::arguments::{Arguments, Command};
use crate::failure::{Failure, with_causes};
use crate::units;

/// One line.
struct Step {
    line: usize,
    /// Time after the start; a line without one follows the line before at once.
    at: Option<Duration>,
    command: Command,
}

/// Runs a script. All of it is read and checked before the first command runs.
pub(crate) fn run(store: &Store, path: &Path) -> Result<(), Failure> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(path)
    };
    let text = text.map_err(|source| Failure::Script {
        path: path.to_owned(),
        source,
    })?;
    let steps: Vec<Step> = parse(&text)?;
    let start = Instant::now();
    for step in steps {
        wait_until(start, step.at);
        crate::run(store, step.command).map_err(|failure| at_line(step.line, &failure))?;
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a script is a timetable: the time is the fact"
)]
fn wait_until(start: Instant, at: Option<Duration>) {
    std::thread::sleep(at.unwrap_or_default().saturating_sub(start.elapsed()));
}

fn at_line(line: usize, failure: &Failure) -> Failure {
    Failure::ScriptLine {
        line,
        message: with_causes(failure),
    }
}

fn parse(text: &str) -> Result<Vec<Step>, Failure> {
    let lines = (1..).zip(text.lines());
    let steps = lines.map(|(line, content)| step(line, content));
    steps.filter_map(Result::transpose).collect()
}

/// Reads a line; `None` for an empty one or a comment.
fn step(line: usize, content: &str) -> Result<Option<Step>, Failure> {
    let wrong = |message: String| Failure::ScriptLine { line, message };
    let mut words = words(content).ok_or_else(|| wrong("a quote is not closed".to_owned()))?;
    let mut at = None;
    if words.first().is_some_and(|word| word == "at") {
        let time = words
            .get(1)
            .ok_or_else(|| wrong("`at` needs a time".to_owned()))?;
        at = Some(units::duration(time).map_err(wrong)?);
        words.drain(..2);
    }
    if words.is_empty() {
        return Ok(None);
    }
    words.insert(0, "gpusim".to_owned());
    let arguments = Arguments::try_parse_from(words).map_err(|error| wrong(error.to_string()))?;
    match arguments.command {
        Command::Run(_) | Command::Init(_) => Err(at_line(line, &Failure::NotAChange)),
        command => Ok(Some(Step { line, at, command })),
    }
}

/// Splits a line at spaces; quotes keep words together, `#` begins a comment.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests;
