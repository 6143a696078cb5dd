//! One record at a time, and the server's restart.

use aerospike::operations::{add, append, delete, get_bin, put, touch};
use aerospike::{
    Bins, Expiration, GenerationPolicy, Key, RecordExistsAction, ResultCode, Value, as_bin, as_blob, as_geo, as_list, as_map, as_val,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use tarndb_driver_test_aerospike_rust::{NAMESPACE, administration, connect, fresh, read, reads, refused, restart, until, writes};

#[tokio::test]
async fn client_sees_one_node() {
    let client = connect().await;
    assert!(client.is_connected());
    assert_eq!(client.nodes().len(), 1);
    let answers = client.info(&administration(), &["build", "namespaces"]).await.unwrap();
    assert!(answers["namespaces"].split(';').any(|name| name == NAMESPACE), "{answers:?}");
}

#[tokio::test]
async fn every_type_comes_back_as_it_went() {
    let client = connect().await;
    let key = fresh(&client, "rust_types", "key").await;
    let bins = [
        as_bin!("int", i64::MIN),
        as_bin!("float", -0.25),
        as_bin!("string", "päckchen"),
        as_bin!("empty", ""),
        as_bin!("blob", as_blob!(vec![0u8, 1, 255])),
        as_bin!("bool", true),
        as_bin!("list", as_list!(1, "two", 3.5, as_list!(true))),
        as_bin!("map", as_map!("a" => 1, "nested" => as_map!("b" => 2))),
        as_bin!("geo", as_geo!(r#"{"type":"Point","coordinates":[1.5,2.5]}"#)),
    ];
    client.put(&writes(), &key, &bins).await.unwrap();
    let stored = read(&client, &key).await;
    assert_eq!(stored.len(), bins.len());
    for bin in &bins {
        assert_eq!(stored[&bin.name], bin.value, "{}", bin.name);
    }
    let some = client.get(&reads(), &key, Bins::from(["int", "missing"])).await.unwrap();
    assert_eq!((some.bins.len(), some.generation), (1, 1));
    let header = client.get(&reads(), &key, Bins::None).await.unwrap();
    assert!(header.bins.is_empty());
}

#[tokio::test]
async fn keys_of_every_type_are_different() {
    let client = connect().await;
    let names = [as_val!(1), as_val!("1"), as_blob!(vec![0u8, 0, 0, 0, 0, 0, 0, 1])];
    for (number, name) in names.iter().enumerate() {
        let key = fresh(&client, "rust_keys", name.clone()).await;
        client.put(&writes(), &key, &[as_bin!("i", number as i64)]).await.unwrap();
    }
    for (number, name) in names.into_iter().enumerate() {
        let key = Key::new(NAMESPACE, "rust_keys", name).unwrap();
        assert_eq!(read(&client, &key).await["i"], as_val!(number as i64));
    }
}

#[tokio::test]
async fn records_are_put_found_and_deleted() {
    let client = connect().await;
    let (plain_reads, plain_writes) = (reads(), writes());
    let key = fresh(&client, "rust_put", "key").await;
    assert!(!client.exists(&plain_reads, &key).await.unwrap());
    refused(client.get(&plain_reads, &key, Bins::All).await, ResultCode::KeyNotFoundError);
    refused(client.touch(&plain_writes, &key).await, ResultCode::KeyNotFoundError);
    client.put(&plain_writes, &key, &[as_bin!("a", 1), as_bin!("b", 2)]).await.unwrap();
    client.put(&plain_writes, &key, &[as_bin!("a", Value::Nil), as_bin!("c", 3.0)]).await.unwrap();
    let stored = read(&client, &key).await;
    assert_eq!((stored.len(), &stored["b"], &stored["c"]), (2, &as_val!(2), &as_val!(3.0)));
    assert!(client.exists(&plain_reads, &key).await.unwrap());
    let mut durable = writes();
    durable.durable_delete = true;
    assert!(client.delete(&durable, &key).await.unwrap());
    assert!(!client.delete(&plain_writes, &key).await.unwrap());
}

#[tokio::test]
async fn generations_are_expected() {
    let client = connect().await;
    let key = fresh(&client, "rust_generations", "key").await;
    for value in [1, 2] {
        client.put(&writes(), &key, &[as_bin!("a", value)]).await.unwrap();
    }
    let mut policy = writes();
    policy.generation_policy = GenerationPolicy::ExpectGenEqual;
    policy.generation = 2;
    client.put(&policy, &key, &[as_bin!("a", 3)]).await.unwrap();
    refused(client.put(&policy, &key, &[as_bin!("a", 4)]).await, ResultCode::GenerationError);
    refused(client.delete(&policy, &key).await, ResultCode::GenerationError);
    policy.generation_policy = GenerationPolicy::ExpectGenGreater;
    refused(client.put(&policy, &key, &[as_bin!("a", 4)]).await, ResultCode::GenerationError);
    policy.generation = 9;
    client.put(&policy, &key, &[as_bin!("a", 5)]).await.unwrap();
    assert_eq!(read(&client, &key).await["a"], as_val!(5));
}

#[tokio::test]
async fn records_are_created_updated_and_replaced() {
    let client = connect().await;
    let key = fresh(&client, "rust_exists", "key").await;
    let with = |action| {
        let mut policy = writes();
        policy.record_exists_action = action;
        policy
    };
    let a = |value: i64| [as_bin!("a", value)];
    refused(client.put(&with(RecordExistsAction::UpdateOnly), &key, &a(1)).await, ResultCode::KeyNotFoundError);
    refused(client.put(&with(RecordExistsAction::ReplaceOnly), &key, &a(1)).await, ResultCode::KeyNotFoundError);
    client.put(&with(RecordExistsAction::CreateOnly), &key, &[as_bin!("a", 1), as_bin!("b", 1)]).await.unwrap();
    refused(client.put(&with(RecordExistsAction::CreateOnly), &key, &a(2)).await, ResultCode::KeyExistsError);
    client.put(&with(RecordExistsAction::UpdateOnly), &key, &a(3)).await.unwrap();
    assert_eq!(read(&client, &key).await.len(), 2);
    client.put(&with(RecordExistsAction::ReplaceOnly), &key, &a(4)).await.unwrap();
    let stored = read(&client, &key).await;
    assert_eq!((stored.len(), &stored["a"]), (1, &as_val!(4)));
    client.put(&with(RecordExistsAction::Replace), &key, &[as_bin!("c", 5)]).await.unwrap();
    assert_eq!(read(&client, &key).await.len(), 1);
}

#[tokio::test]
async fn times_to_live_are_set_kept_and_taken_away() {
    let client = connect().await;
    let key = fresh(&client, "rust_ttl", "key").await;
    let with = |expiration| {
        let mut policy = writes();
        policy.expiration = expiration;
        policy
    };
    let lives = async || client.get(&reads(), &key, Bins::None).await.unwrap().time_to_live();
    let near = |seconds: u64| Duration::from_secs(seconds - 60)..Duration::from_secs(seconds + 2);
    client.put(&with(Expiration::Seconds(1000)), &key, &[as_bin!("a", 1)]).await.unwrap();
    client.put(&with(Expiration::DontUpdate), &key, &[as_bin!("a", 2)]).await.unwrap();
    assert!(near(1000).contains(&lives().await.unwrap()));
    client.touch(&with(Expiration::Seconds(5000)), &key).await.unwrap();
    assert!(near(5000).contains(&lives().await.unwrap()));
    client.put(&with(Expiration::Never), &key, &[as_bin!("a", 3)]).await.unwrap();
    assert_eq!(lives().await, None);
    client.put(&with(Expiration::Seconds(1)), &key, &[as_bin!("a", 4)]).await.unwrap();
    until("a record with a second to live is gone", async || !client.exists(&reads(), &key).await.unwrap()).await;
}

#[tokio::test]
async fn values_are_added_to_and_joined() {
    let client = connect().await;
    let policy = writes();
    let key = fresh(&client, "rust_add", "key").await;
    client.add(&policy, &key, &[as_bin!("n", 10)]).await.unwrap();
    client.add(&policy, &key, &[as_bin!("n", 5)]).await.unwrap();
    client.append(&policy, &key, &[as_bin!("s", "World")]).await.unwrap();
    client.prepend(&policy, &key, &[as_bin!("s", "Hello ")]).await.unwrap();
    let stored = read(&client, &key).await;
    assert_eq!((&stored["n"], &stored["s"]), (&as_val!(15), &as_val!("Hello World")));
    refused(client.add(&policy, &key, &[as_bin!("s", 1)]).await, ResultCode::BinTypeError);
    refused(client.append(&policy, &key, &[as_bin!("n", "text")]).await, ResultCode::BinTypeError);
}

#[tokio::test]
async fn operations_are_done_in_order_and_all_or_none() {
    let client = connect().await;
    let policy = writes();
    let key = fresh(&client, "rust_operate", "key").await;
    let operations = [put(&as_bin!("i", 7)), add(&as_bin!("i", 4)), get_bin("i"), put(&as_bin!("s", "a")), append(&as_bin!("s", "b"))];
    let record = client.operate(&policy, &key, &operations).await.unwrap();
    // This client wants an answer from every operation.
    assert_eq!(record.bins["i"], Value::MultiResult(vec![Value::Nil, Value::Nil, as_val!(11)]));
    refused(client.operate(&policy, &key, &[put(&as_bin!("i", 0)), add(&as_bin!("s", 1))]).await, ResultCode::BinTypeError);
    let stored = read(&client, &key).await;
    assert_eq!((&stored["i"], &stored["s"]), (&as_val!(11), &as_val!("ab")));
    let record = client.operate(&policy, &key, &[touch(), get_bin("s")]).await.unwrap();
    assert_eq!((record.generation, &record.bins["s"]), (2, &as_val!("ab")));
    client.operate(&policy, &key, &[delete()]).await.unwrap();
    assert!(!client.exists(&reads(), &key).await.unwrap());
}

#[tokio::test]
async fn what_cannot_be_is_refused() {
    let client = connect().await;
    let policy = writes();
    let key = fresh(&client, "rust_refused", "key").await;
    let large = [as_bin!("a", as_blob!(vec![0u8; 9 << 20]))];
    refused(client.put(&policy, &key, &large).await, ResultCode::RecordTooBig);
    client.put(&policy, &key, &[as_bin!("fifteen_letters", 1)]).await.unwrap();
    assert_eq!(read(&client, &key).await.len(), 1);
}

#[tokio::test]
async fn restart_keeps_what_was_acknowledged() {
    let client = Arc::new(connect().await);
    for how in ["kill", "term"] {
        let set = format!("rust_restart_{how}");
        let gone = fresh(&client, &set, "gone").await;
        client.put(&writes(), &gone, &[as_bin!("a", 1)]).await.unwrap();
        assert!(client.delete(&writes(), &gone).await.unwrap());
        let (acknowledged, is_back) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
        let writer = tokio::spawn({
            let (client, set, acknowledged, is_back) = (Arc::clone(&client), set.clone(), Arc::clone(&acknowledged), Arc::clone(&is_back));
            async move {
                // A write that was under way may have been tried again until the server was back.
                for number in (0..200_000).take_while(|_| !is_back.load(Ordering::Acquire)) {
                    let key = Key::new(NAMESPACE, &set, as_val!(number)).unwrap();
                    let bins = [as_bin!("i", number), as_bin!("list", as_list!(number, "x"))];
                    // The server is gone: what became of this write is unknown.
                    if client.put(&writes(), &key, &bins).await.is_err() {
                        return;
                    }
                    acknowledged.store(number + 1, Ordering::Release);
                }
            }
        });
        until("some writes are acknowledged", async || acknowledged.load(Ordering::Acquire) > 200).await;
        tokio::task::spawn_blocking(move || restart(how)).await.unwrap();
        is_back.store(true, Ordering::Release);
        tokio::time::timeout(Duration::from_secs(240), writer).await.expect("the writer ends").unwrap();
        until("the client is back", async || client.exists(&reads(), &gone).await.is_ok()).await;
        for number in 0..acknowledged.load(Ordering::Acquire) {
            let stored = read(&client, &Key::new(NAMESPACE, &set, as_val!(number)).unwrap()).await;
            assert_eq!((&stored["i"], &stored["list"]), (&as_val!(number), &as_list!(number, "x")));
        }
        assert!(!client.exists(&reads(), &gone).await.unwrap(), "a deleted record does not come back");
    }
}
