//! Many records at a time.

use aerospike::operations::{add, get_bin, put};
use aerospike::query::PartitionFilter;
use aerospike::{
    BatchDeletePolicy, BatchOperation, BatchPolicy, BatchReadPolicy, BatchWritePolicy, Bins, Client, Key, QueryPolicy, ResultCode,
    Statement, Value, as_bin, as_val,
};
use futures::StreamExt;
use std::collections::BTreeSet;
use tarndb_driver_test_aerospike_rust::{NAMESPACE, administration, batches, connect, fresh, queries, read, reads, until, writes};

const COUNT: i64 = 2_000;

/// A set with records.
async fn fill(client: &Client, set: &str) -> Vec<Key> {
    let mut keys = Vec::new();
    for number in 0..COUNT {
        let key = Key::new(NAMESPACE, set, as_val!(number)).unwrap();
        client.put(&writes(), &key, &[as_bin!("i", number), as_bin!("text", "record")]).await.unwrap();
        keys.push(key);
    }
    keys
}

/// Adds what a query gives to what was seen; nothing comes twice.
async fn see(client: &Client, set: &str, policy: &QueryPolicy, filter: PartitionFilter, seen: &mut BTreeSet<i64>) -> PartitionFilter {
    let records = client.query(policy, filter, Statement::new(NAMESPACE, set, Bins::from(["i"]))).await.unwrap();
    let mut stream = records.clone().into_stream();
    while let Some(record) = stream.next().await {
        let record = record.unwrap();
        let Value::Int(number) = record.bins["i"] else { panic!("{record:?}") };
        assert_eq!(record.bins.len(), 1);
        assert!(seen.insert(number), "{number} comes twice");
    }
    records.partition_filter().unwrap()
}

#[tokio::test]
async fn batches_read_write_and_delete() {
    let client = connect().await;
    let keys = fill(&client, "rust_batch").await;
    let missing = fresh(&client, "rust_batch", "missing").await;
    let nowhere = fresh(&client, "rust_batch", "nowhere").await;
    let each_read = BatchReadPolicy::default();
    let mut batch: Vec<BatchOperation> = keys.iter().map(|key| BatchOperation::read(&each_read, key.clone(), Bins::All)).collect();
    client.batch(&batches(BatchPolicy::default()), &mut batch).await.unwrap();
    for (number, operation) in batch.iter().enumerate() {
        let record = operation.batch_record().record.as_ref().expect("a record");
        assert_eq!((&record.bins["i"], &record.bins["text"]), (&as_val!(number as i64), &as_val!("record")));
    }
    let (each_write, each_delete) = (BatchWritePolicy::default(), BatchDeletePolicy::default());
    let mut batch = vec![
        BatchOperation::write(&each_write, keys[0].clone(), vec![add(&as_bin!("i", 100)), get_bin("i")]),
        BatchOperation::read(&each_read, keys[1].clone(), Bins::from(["text"])),
        BatchOperation::delete(&each_delete, keys[2].clone()),
        BatchOperation::delete(&each_delete, missing.clone()),
        BatchOperation::read(&each_read, nowhere, Bins::None),
        BatchOperation::write(&each_write, missing.clone(), vec![put(&as_bin!("a", 1))]),
    ];
    client.batch(&batches(BatchPolicy::write_default()), &mut batch).await.unwrap();
    let codes: Vec<Option<ResultCode>> = batch.iter().map(|operation| operation.batch_record().result_code()).collect();
    let expected =
        [ResultCode::Ok, ResultCode::Ok, ResultCode::Ok, ResultCode::KeyNotFoundError, ResultCode::KeyNotFoundError, ResultCode::Ok];
    assert_eq!(codes, expected.map(Some));
    assert_eq!(batch[1].batch_record().record.as_ref().expect("a record").bins["text"], as_val!("record"));
    assert_eq!(read(&client, &keys[0]).await["i"], as_val!(100));
    assert_eq!(read(&client, &missing).await["a"], as_val!(1));
    assert!(!client.exists(&reads(), &keys[2]).await.unwrap());
}

#[tokio::test]
async fn queries_see_every_record_once_and_go_on_where_they_stopped() {
    let client = connect().await;
    fill(&client, "rust_query").await;
    let all: BTreeSet<i64> = (0..COUNT).collect();
    let mut seen = BTreeSet::new();
    see(&client, "rust_query", &queries(), PartitionFilter::all(), &mut seen).await;
    assert!(seen == all, "{} of {COUNT} records came", seen.len());
    seen.clear();
    for begin in (0..4096).step_by(1024) {
        see(&client, "rust_query", &queries(), PartitionFilter::by_range(begin, 1024), &mut seen).await;
    }
    assert!(seen == all, "{} of {COUNT} records came", seen.len());
    seen.clear();
    let mut paged = queries();
    paged.max_records = 600;
    let mut filter = PartitionFilter::all();
    let mut pages = 0;
    while !filter.done() {
        pages += 1;
        assert!(pages < 20, "a query of 2000 by 600 ends");
        filter = see(&client, "rust_query", &paged, filter, &mut seen).await;
    }
    assert!(seen == all, "{} of {COUNT} records came", seen.len());
    client.truncate(&administration(), NAMESPACE, "rust_query", 0).await.unwrap();
    until("the set is empty", async || {
        let mut seen = BTreeSet::new();
        see(&client, "rust_query", &queries(), PartitionFilter::all(), &mut seen).await;
        seen.is_empty()
    })
    .await;
}
