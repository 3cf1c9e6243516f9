use std::fs;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::api::Api;
use super::place::{Place, identity};
use crate::connection::Connection;

#[tokio::test]
async fn the_proxy_of_the_kubeconfig_is_asked_for_a_tunnel() {
    let api = Api::start(&[]).await;
    let place = Place::new(&api);
    place.kubeconfig("kubeconfig", "{token: t}");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = listener.local_addr().unwrap();
    let text = fs::read_to_string(place.file("kubeconfig")).unwrap();
    let proxied = format!(
        "server: \"https://{0}\", proxy-url: \"http://me:s3cret@{proxy}\"",
        api.address
    );
    let server = format!("server: \"https://{}\"", api.address);
    fs::write(place.file("kubeconfig"), text.replace(&server, &proxied)).unwrap();

    // One request, one tunnel.
    let (sender, mut asked) = mpsc::channel(1);
    base_daemon::spawn("proxy", async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            stream.read_line(&mut head).await.unwrap();
        }
        let target = head.split(' ').nth(1).unwrap().to_owned();
        sender.send(head).await.unwrap();
        let mut server = TcpStream::connect(target).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let _ = copy_bidirectional(&mut stream, &mut server).await;
    });
    let connection = Connection::open(place.settings(false)).await.unwrap();
    assert_eq!(identity(&connection).await, "token:t");
    let head = asked.recv().await.unwrap();
    assert!(
        head.starts_with(&format!("CONNECT {} ", api.address)),
        "{head}"
    );
    assert!(
        head.to_lowercase().contains("proxy-authorization: basic "),
        "{head}"
    );
    assert!(!format!("{connection:?}").contains("s3cret"));
}
