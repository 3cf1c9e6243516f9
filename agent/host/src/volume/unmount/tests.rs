#![allow(clippy::unwrap_used)]

use std::sync::mpsc;
use std::time::Duration;

use super::within;

#[test]
fn a_server_that_does_not_answer_is_not_waited_for() {
    let (sender, receiver) = mpsc::channel::<()>();
    let stuck = within(Duration::from_millis(1), move || {
        // Ends when the test does.
        let _ = receiver.recv();
        Ok(())
    });
    assert_eq!(stuck, None);
    drop(sender);
    assert_eq!(within(Duration::from_secs(60), || Ok(())), Some(Ok(())));
}
