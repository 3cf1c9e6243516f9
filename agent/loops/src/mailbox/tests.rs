use std::time::Duration;

use super::Mailbox;

#[tokio::test(start_paused = true)]
async fn news_are_merged_and_none_is_lost_by_a_reader_that_gives_up() {
    let mailbox: Mailbox<Vec<u32>> = Mailbox::new();
    let wait = |mailbox: Mailbox<Vec<u32>>| async move {
        tokio::time::timeout(Duration::from_secs(1), mailbox.take()).await
    };
    assert!(
        wait(mailbox.clone()).await.is_err(),
        "an empty box gives nothing"
    );
    mailbox.put(|letter| letter.push(1));
    mailbox.put(|letter| letter.push(2));
    assert_eq!(wait(mailbox.clone()).await, Ok(vec![1, 2]));
    assert!(
        wait(mailbox.clone()).await.is_err(),
        "a letter is taken once"
    );
    // A reader that was woken and then dropped has taken nothing.
    let mut reader = Box::pin(mailbox.take());
    assert!(futures::poll!(&mut reader).is_pending());
    mailbox.put(|letter| letter.push(3));
    drop(reader);
    assert_eq!(wait(mailbox).await, Ok(vec![3]));
}
