#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const KEEP: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn at_most_so_many_are_kept() {
    let answers = Answers::new(3);
    for key in 0..100 {
        let answer = answers
            .answer(key, move || async move { Ok((key, KEEP)) })
            .await;
        assert_eq!(answer.unwrap(), key);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let state = answers.state();
    let mut kept: Vec<_> = state.kept.keys().copied().collect();
    kept.sort_unstable();
    assert_eq!(kept, [97, 98, 99]);
    assert!(state.asking.is_empty());
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_leaves_the_question_to_the_others() {
    let answers = Arc::new(Answers::new(3));
    let asked = Arc::new(AtomicUsize::new(0));
    let ask = |answers: &Arc<Answers<&'static str, u8>>| {
        let (answers, asked) = (Arc::clone(answers), Arc::clone(&asked));
        async move {
            let question = move || async move {
                asked.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok((7, KEEP))
            };
            answers.answer("key", question).await
        }
    };
    let first = tokio::time::timeout(Duration::from_millis(500), ask(&answers));
    let (first, second) = tokio::join!(first, ask(&answers));
    assert!(first.is_err());
    assert_eq!(second.unwrap(), 7);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn failures_and_answers_without_time_are_not_kept() {
    let answers: Answers<u8, u8> = Answers::new(3);
    let fail = answers
        .answer(1, async || Err(Fail::retry("R", "no")))
        .await;
    assert!(fail.is_err());
    for value in [1, 2] {
        let answer = answers
            .answer(1, move || async move { Ok((value, Duration::ZERO)) })
            .await;
        assert_eq!(answer.unwrap(), value);
    }
}
