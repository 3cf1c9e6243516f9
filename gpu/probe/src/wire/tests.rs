#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_message_survives_the_way() {
    let message = ToChild::Ask {
        id: 7,
        fresh: true,
        question: Question::Reading(3, GpuUuid::new("GPU-1")),
    };
    let frame = encode(&message).unwrap();
    assert_eq!(read::<ToChild>(&mut frame.as_slice()).unwrap(), message);
}

#[tokio::test]
async fn frames_follow_each_other() {
    let mut stream = encode(&FromChild::Missed).unwrap();
    stream.extend(encode(&FromChild::Pong(Vec::new())).unwrap());
    let mut stream = stream.as_slice();
    assert_eq!(
        read_async::<FromChild>(&mut stream).await.unwrap(),
        FromChild::Missed
    );
    assert_eq!(
        read_async::<FromChild>(&mut stream).await.unwrap(),
        FromChild::Pong(Vec::new())
    );
    let end = read_async::<FromChild>(&mut stream).await.unwrap_err();
    assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_length_that_cannot_be_reserves_no_memory() {
    let error = read::<ToChild>(&mut [0xff; 64].as_slice()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn garbage_and_half_a_frame_are_errors() {
    let mut frame = encode(&ToChild::Ping).unwrap();
    frame.pop();
    assert!(read::<ToChild>(&mut frame.as_slice()).is_err());
    assert!(read::<ToChild>(&mut [3, 0, 0, 0, b'{', b'{', b'{'].as_slice()).is_err());
}

#[test]
fn a_message_that_is_too_long_is_refused_before_it_is_sent() {
    let long = FromChild::Opened(DriverState::NoLibrary {
        detail: "x".repeat(MAX_FRAME),
    });
    assert_eq!(
        encode(&long).unwrap_err().kind(),
        io::ErrorKind::InvalidData
    );
}
