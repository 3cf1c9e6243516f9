//! YAML and JSON text into one value tree. JSON is read as YAML, of which it is a part.

use serde_json::Value;

/// A text that holds something to read.
#[derive(Debug)]
pub(crate) struct Document {
    /// The first document of the text.
    pub(crate) value: Value,
    /// Documents after it, which are not used.
    pub(crate) further: usize,
}

/// Why a text holds nothing to read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Not text.
    #[error("it is not UTF-8 text: byte {offset} is wrong")]
    NotText {
        /// First bad byte, counted from 0.
        offset: usize,
    },
    /// No bytes, or nothing but blanks and comments.
    #[error("it is empty")]
    Empty,
    /// Neither YAML nor JSON, cut short, a key twice, or more than 250,000 nodes.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Counted from 1; 0 if unknown.
        line: u64,
        /// Counted from 1; 0 if unknown.
        column: u64,
        /// What is wrong there.
        message: String,
    },
}

/// Reads the first document of `bytes`. Numbers with a leading zero are octal, as the stock kubelet
/// reads them (`defaultMode: 0644`).
pub(crate) fn read(bytes: &[u8]) -> Result<Document, DocumentError> {
    let text = std::str::from_utf8(bytes).map_err(|error| DocumentError::NotText {
        offset: error.valid_up_to(),
    })?;
    let mut options = serde_saphyr::Options::default();
    options.legacy_octal_numbers = true;
    options.with_snippet = false;
    let documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|error| syntax(&error))?;
    let mut documents = documents.into_iter();
    match documents.next() {
        None | Some(Value::Null) => Err(DocumentError::Empty),
        Some(value) => Ok(Document {
            value,
            further: documents.len(),
        }),
    }
}

fn syntax(error: &serde_saphyr::Error) -> DocumentError {
    let text = error.to_string();
    // The place is told in front, and advice for programmers helps no operator.
    let message = text.split(" at line ").next().unwrap_or(&text);
    let message = message
        .split(", set DuplicateKeyPolicy")
        .next()
        .unwrap_or(message)
        .to_owned();
    let (line, column) = error
        .location()
        .map_or((0, 0), |at| (at.line(), at.column()));
    DocumentError::Syntax {
        line,
        column,
        message,
    }
}

#[cfg(test)]
mod tests;
