use proto::cri::ExecSyncResponse;

use super::{MAX_OUTPUT, output};

#[test]
fn both_streams_in_order_and_cut() {
    let response = |stdout: &[u8], stderr: &[u8]| ExecSyncResponse {
        stdout: stdout.to_vec(),
        stderr: stderr.to_vec(),
        exit_code: 3,
    };
    let answer = output(response(b"out ", b"err \xff"));
    assert_eq!(
        (answer.code, answer.output.as_str()),
        (3, "out err \u{fffd}")
    );
    assert_eq!(
        output(response(&vec![b'x'; MAX_OUTPUT], b"lost"))
            .output
            .len(),
        MAX_OUTPUT
    );
}
