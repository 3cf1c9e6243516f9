//! A program at a terminal of its own: what it shows is collected, and it is given what a person would type.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::wait;

/// What is typed does one small thing, perhaps after a container's start.
const LIMIT: Duration = Duration::from_secs(60);

/// A program whose inputs and outputs are a terminal. It is killed when dropped.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Starts `command` at a new terminal of this many rows and columns, in a session of its own, so that a change of
    /// the size is signalled to it.
    pub fn start(command: &Command, size: (u16, u16)) -> Result<Terminal> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        // setsid replaces itself by the program.
        let mut session = Command::new("setsid");
        session
            .arg("--ctty")
            .arg(command.get_program())
            .args(command.get_args())
            .envs(
                command
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .stdin(Stdio::from(theirs.try_clone()?))
            .stdout(Stdio::from(theirs.try_clone()?))
            .stderr(Stdio::from(theirs));
        let keyboard = File::from(ours);
        resize(&keyboard, size)?;
        let child = session
            .spawn()
            .context("starting a program at a terminal")?;
        let screen = Arc::new(Mutex::new(Vec::new()));
        collect(keyboard.try_clone()?.into(), screen.clone());
        Ok(Terminal {
            child,
            keyboard,
            screen,
        })
    }

    /// Types, with `\n` for the enter key.
    pub fn type_in(&mut self, text: &str) -> Result<()> {
        Ok(self.keyboard.write_all(text.as_bytes())?)
    }

    /// Changes the size to this many rows and columns.
    pub fn resize(&self, size: (u16, u16)) -> Result<()> {
        resize(&self.keyboard, size)
    }

    /// All that it has shown so far.
    pub fn screen(&self) -> String {
        let screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&screen).into_owned()
    }

    /// Waits until it has shown this text. What is typed is shown, too, so that the text must be another one.
    pub async fn shows(&self, text: &str) -> Result<()> {
        wait::until("a text on the screen", LIMIT, async || {
            let screen = self.screen();
            ensure!(screen.contains(text), "no {text:?} in {screen:?}");
            Ok(())
        })
        .await
    }

    /// Waits for the program's end.
    pub async fn ended(&mut self) -> Result<ExitStatus> {
        wait::until("the end of a program at a terminal", LIMIT, async || {
            let status = self.child.try_wait()?;
            status.with_context(|| format!("it still runs and shows {:?}", self.screen()))
        })
        .await
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(terminal: &File, (rows, columns): (u16, u16)) -> Result<()> {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(terminal, size)?)
}

/// Reads on a thread until the last program has closed the terminal, which is an error to read.
fn collect(terminal: OwnedFd, screen: Arc<Mutex<Vec<u8>>>) {
    let mut terminal = File::from(terminal);
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = terminal.read(&mut piece) {
            let mut screen = screen.lock().unwrap_or_else(PoisonError::into_inner);
            screen.extend_from_slice(&piece[..count]);
        }
    });
}
