//! Reads a log piece by piece, over rotations, until it is over.

use std::fs;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use agent_core::{ContainerName, PodName, PodUid};
use bytes::Bytes;
use futures::Stream;
use futures::stream::unfold;

use super::file::{self, LogFile};
use super::follow::{News, Subject, Watch};
use super::line::Show;
use super::options::LogOptions;
use super::tail::tail;

/// Size from which on a piece is handed over.
const PIECE: usize = 32 << 10;

/// Where the logs of a container are: `<podLogsDir>/<namespace>_<name>_<uid>/<container>`.
#[derive(Clone, Debug)]
pub(crate) struct LogPlace {
    root: PathBuf,
    folder: PathBuf,
}

/// A log being read. Nothing happens but what [`LogReader::pieces`] is asked for.
#[derive(Debug)]
pub(crate) struct LogReader {
    place: LogPlace,
    name: PathBuf,
    file: LogFile,
    /// The file that took the name after a rotation.
    next: Option<LogFile>,
    show: Show,
    /// Lines that may still be read.
    lines: Option<u64>,
    /// Who is followed; `None`: up to the end of the file.
    follow: Option<Subject>,
    watch: Option<Watch>,
    /// The name may stand for another file by now.
    renamed: bool,
    over: bool,
}

impl LogPlace {
    /// Names come from manifests that were checked; those that would lead elsewhere have no logs.
    pub(crate) fn new(
        root: &Path,
        pod: &PodName,
        uid: &PodUid,
        container: &ContainerName,
    ) -> Option<Self> {
        let pod = format!("{}_{}_{uid}", pod.namespace, pod.name);
        let safe =
            |name: &str| !name.is_empty() && name != "." && name != ".." && !name.contains('/');
        (safe(&pod) && safe(container.as_str())).then(|| Self {
            root: root.to_owned(),
            folder: Path::new(&pod).join(container.as_str()),
        })
    }

    /// The newest instance before `attempt` that has a log.
    pub(crate) async fn newest_before(&self, attempt: u32) -> Option<u32> {
        let mut folder = tokio::fs::read_dir(self.root.join(&self.folder))
            .await
            .ok()?;
        let mut newest = None;
        while let Ok(Some(entry)) = folder.next_entry().await {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".log"));
            let number = number.and_then(|number| number.parse::<u32>().ok());
            newest = newest.max(number.filter(|number| *number < attempt));
        }
        newest
    }

    /// Runs in a thread that may block.
    async fn open(&self, name: &Path, lines: Option<u64>) -> io::Result<LogFile> {
        let (root, inside) = (self.root.clone(), self.folder.join(name));
        let open = move || {
            let mut file: fs::File = file::open(&root, &inside)?;
            if let Some(lines) = lines {
                let start = tail(&file, lines)?;
                file.seek(SeekFrom::Start(start))?;
            }
            LogFile::new(file)
        };
        tokio::task::spawn_blocking(open)
            .await
            .map_err(io::Error::other)?
    }
}

impl LogReader {
    /// Opens the log of instance number `attempt`. With `follow` it goes on until that one has ended.
    pub(crate) async fn open(
        place: LogPlace,
        attempt: u32,
        options: &LogOptions,
        follow: Option<Subject>,
    ) -> io::Result<Self> {
        let name = PathBuf::from(format!("{attempt}.log"));
        Ok(Self {
            file: place.open(&name, options.tail).await?,
            place,
            name,
            next: None,
            show: Show::new(options),
            lines: options.tail.filter(|_| follow.is_none()),
            follow,
            watch: None,
            renamed: true,
            over: false,
        })
    }

    /// The pieces, each read when it is asked for. An error ends them.
    pub(crate) fn pieces(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        unfold(Some(self), |reader| async {
            let mut reader = reader?;
            match reader.piece().await {
                Ok(piece) if piece.is_empty() => None,
                Ok(piece) => Some((Ok(piece), Some(reader))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// The next piece; an empty one is the end.
    async fn piece(&mut self) -> io::Result<Bytes> {
        let mut out = Vec::new();
        while !self.over && out.len() < PIECE {
            if self.lines == Some(0) {
                break;
            }
            if let Some(line) = self.file.line() {
                self.over = !self.show.line(line, &mut out);
                self.lines = self.lines.map(|left| left.saturating_sub(1));
                continue;
            }
            if self.file.fill().await? {
                continue;
            }
            if let Some(next) = self.next.take() {
                self.unfinished(&mut out);
                self.file = next;
                continue;
            }
            if !out.is_empty() {
                break;
            }
            if self.follow.is_none() {
                self.unfinished(&mut out);
                self.over = true;
                break;
            }
            self.wait().await;
        }
        Ok(out.into())
    }

    /// The last line of a file that nobody writes any more may have no end.
    fn unfinished(&mut self, out: &mut Vec<u8>) {
        let rest = self.file.rest();
        if !rest.is_empty() {
            self.over |= !self.show.line(rest, out);
        }
    }

    /// At the end of the file: returns when reading on may bring something.
    async fn wait(&mut self) {
        let Some(subject) = &mut self.follow else {
            return;
        };
        let Some(watch) = &mut self.watch else {
            // What was written before the watch began has to be read first.
            self.watch = Some(Watch::on(&self.place.root.join(&self.place.folder)));
            return;
        };
        let runs = subject.runs();
        if self.renamed || !runs {
            // Only a file that was written to shows that nothing more comes to the one before.
            match self.place.open(&self.name, None).await {
                Ok(found) if found.identity() != self.file.identity() => {
                    let mut found = found;
                    if !runs || matches!(found.fill().await, Ok(true)) {
                        self.next = Some(found);
                        self.renamed = true;
                        if !runs {
                            self.follow = None;
                        }
                        return;
                    }
                }
                // Not there yet: its coming is an event, too.
                Ok(_) | Err(_) => self.renamed = false,
            }
        }
        if !runs {
            // Reads once more what was written before the end was seen.
            self.follow = None;
            return;
        }
        match watch.news(subject).await {
            News::Renamed => self.renamed = true,
            News::Written | News::Board => {}
            News::Closing => self.follow = None,
        }
    }
}

#[cfg(test)]
mod tests;
