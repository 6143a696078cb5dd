//! Lists and maps.

use aerospike::operations::cdt_context::{ctx_list_index, ctx_list_rank, ctx_map_key, ctx_map_key_create};
use aerospike::operations::get_bin;
use aerospike::operations::lists::{self, ListOrderType, ListPolicy, ListReturnType, ListSortFlags, ListWriteFlags};
use aerospike::operations::maps::{self, MapOrder, MapPolicy, MapReturnType, MapWriteFlags};
use aerospike::{ResultCode, Value, as_bin, as_list, as_map, as_val};
use std::collections::HashMap;
use tarndb_driver_test_aerospike_rust::{connect, fresh, operate, read, refused, writes};

const BIN: &str = "bin";

#[tokio::test]
async fn lists_grow_and_shrink() {
    let client = connect().await;
    let key = fresh(&client, "rust_lists", "grow").await;
    let plain = ListPolicy::default();
    let operations = [
        lists::append(&plain, BIN, as_val!(1)),
        lists::append_items(&plain, BIN, vec![as_val!(2), as_val!(3), as_val!(4)]),
        lists::insert(&plain, BIN, 0, as_val!(0)),
        lists::pop(BIN, -1),
        lists::pop_range(BIN, 0, 2),
        lists::size(BIN),
        lists::set(BIN, 0, as_val!(9)),
        lists::increment(&plain, BIN, 0, 10),
        lists::remove(BIN, 1),
        lists::append_items(&plain, BIN, vec![as_val!(5), as_val!(5), as_val!(1)]),
        lists::sort(BIN, ListSortFlags::DROP_DUPLICATES),
        lists::get_range_from(BIN, 0),
        lists::trim(BIN, 1, 1),
        lists::clear(BIN),
    ];
    let expected = [
        as_val!(1),
        as_val!(4),
        as_val!(5),
        as_val!(4),
        as_list!(0, 1),
        as_val!(2),
        Value::Nil,
        as_val!(19),
        as_val!(1),
        as_val!(4),
        Value::Nil,
        as_list!(1, 5, 19),
        as_val!(2),
        Value::Nil,
    ];
    assert_eq!(operate(&client, &key, BIN, &operations).await, expected);
    assert_eq!(read(&client, &key).await[BIN], Value::List(vec![]));
}

#[tokio::test]
async fn lists_are_read_by_index_rank_and_value() {
    let client = connect().await;
    let key = fresh(&client, "rust_lists", "read").await;
    client.put(&writes(), &key, &[as_bin!(BIN, as_list!(4, 3, 1, 5, 2))]).await.unwrap();
    let operations = [
        lists::get_by_index(BIN, 3, ListReturnType::VALUES),
        lists::get_by_value(BIN, as_val!(3), ListReturnType::INDEX.inverted()),
        lists::get_by_index_range_count(BIN, -2, 2, ListReturnType::VALUES.inverted()),
        lists::set_order(BIN, ListOrderType::Ordered),
        lists::get_by_value_list(BIN, vec![as_val!(4), as_val!(2)], ListReturnType::RANK),
        lists::get_by_value_range(BIN, as_val!(4), Value::Infinity, ListReturnType::EXISTS),
        lists::get_by_rank(BIN, -1, ListReturnType::VALUES),
        lists::get_by_value_relative_rank_range_count(BIN, as_val!(3), -1, 2, ListReturnType::VALUES),
        lists::remove_by_rank_range_count(BIN, 0, 2, ListReturnType::COUNT),
        lists::remove_by_value(BIN, as_val!(5), ListReturnType::INDEX),
    ];
    let expected = [
        as_val!(5),
        as_list!(0, 2, 3, 4),
        as_list!(4, 3, 1),
        Value::Nil,
        as_list!(3, 1),
        as_val!(true),
        as_val!(5),
        as_list!(2, 3),
        as_val!(2),
        as_list!(2),
    ];
    assert_eq!(operate(&client, &key, BIN, &operations).await, expected);
}

#[tokio::test]
async fn values_of_lists_may_have_to_be_new() {
    let client = connect().await;
    let key = fresh(&client, "rust_lists", "unique").await;
    let partial = ListPolicy::new(ListOrderType::Ordered, ListWriteFlags::ADD_UNIQUE | ListWriteFlags::NO_FAIL | ListWriteFlags::PARTIAL);
    let unique = ListPolicy::new(ListOrderType::Ordered, ListWriteFlags::ADD_UNIQUE);
    let items = |items: &[i64]| items.iter().map(|item| as_val!(*item)).collect();
    let operations =
        [lists::append_items(&partial, BIN, items(&[0, 4, 5, 9, 9, 11, 15, 0])), lists::append_items(&partial, BIN, items(&[11, 3]))];
    assert_eq!(operate(&client, &key, BIN, &operations).await, [as_val!(6), as_val!(7)]);
    refused(client.operate(&writes(), &key, &[lists::append(&unique, BIN, as_val!(3))]).await, ResultCode::ElementExists);
    refused(client.operate(&writes(), &key, &[lists::get(BIN, 70)]).await, ResultCode::OpNotApplicable);
}

#[tokio::test]
async fn what_is_inside_lists_and_maps_is_changed() {
    let client = connect().await;
    let key = fresh(&client, "rust_lists", "nested").await;
    client.put(&writes(), &key, &[as_bin!(BIN, as_map!("k" => as_list!(as_list!(9), as_list!(2, 4))))]).await.unwrap();
    let operations = [
        lists::append(&ListPolicy::default(), BIN, as_val!(11)).context(vec![ctx_map_key(as_val!("k")), ctx_list_rank(0)]),
        maps::put(&MapPolicy::default(), BIN, as_val!("a"), as_val!(1))
            .context(vec![ctx_map_key_create(as_val!("new"), MapOrder::Unordered)]),
        lists::size(BIN).context(vec![ctx_map_key(as_val!("k")), ctx_list_index(-1)]),
        get_bin(BIN),
    ];
    let whole = as_map!("k" => as_list!(as_list!(9), as_list!(2, 4, 11)), "new" => as_map!("a" => 1));
    assert_eq!(operate(&client, &key, BIN, &operations).await, [as_val!(3), as_val!(1), as_val!(3), whole]);
}

#[tokio::test]
async fn maps_are_put_read_and_lose_pairs() {
    let client = connect().await;
    let key = fresh(&client, "rust_maps", "scores").await;
    let plain = MapPolicy::default();
    let scores: HashMap<Value, Value> = [("Charlie", 55), ("Jim", 94), ("John", 81), ("Harry", 82)]
        .into_iter()
        .map(|(name, score)| (as_val!(name), as_val!(score)))
        .collect();
    let operations = [
        maps::put_items(&plain, BIN, scores),
        maps::put(&plain, BIN, as_val!("Sally"), as_val!(79)),
        maps::increment_value(&plain, BIN, as_val!("Sally"), as_val!(1)),
        maps::size(BIN),
        maps::get_by_key(BIN, as_val!("Jim"), MapReturnType::RANK),
        maps::get_by_key(BIN, as_val!("nobody"), MapReturnType::VALUE),
        maps::get_by_rank_range(BIN, -2, 2, MapReturnType::KEY),
        maps::get_by_value_range(BIN, as_val!(80), as_val!(82), MapReturnType::KEY),
        maps::get_by_index(BIN, 0, MapReturnType::KEY),
        maps::get_by_rank_range(BIN, 0, 2, MapReturnType::KEY_VALUE),
        maps::remove_by_key(BIN, as_val!("Jim"), MapReturnType::VALUE),
        maps::remove_by_value(BIN, as_val!(55), MapReturnType::KEY),
        maps::remove_by_rank_range(BIN, 0, 2, MapReturnType::COUNT),
        maps::clear(BIN),
    ];
    let expected = [
        as_val!(4),
        as_val!(5),
        as_val!(80),
        as_val!(5),
        as_val!(4),
        Value::Nil,
        as_list!("Harry", "Jim"),
        as_list!("Sally", "John"),
        as_val!("Charlie"),
        Value::KeyValueList(vec![(as_val!("Charlie"), as_val!(55)), (as_val!("Sally"), as_val!(80))]),
        as_val!(94),
        as_list!("Charlie"),
        as_val!(2),
        Value::Nil,
    ];
    assert_eq!(operate(&client, &key, BIN, &operations).await, expected);
}

#[tokio::test]
async fn keys_of_maps_may_have_to_be_new_or_known() {
    let client = connect().await;
    let key = fresh(&client, "rust_maps", "flags").await;
    let create = MapPolicy::new(MapOrder::KeyOrdered, MapWriteFlags::CREATE_ONLY);
    let update = MapPolicy::new(MapOrder::KeyOrdered, MapWriteFlags::UPDATE_ONLY);
    let put = |policy, key: i64, value: i64| [maps::put(policy, BIN, as_val!(key), as_val!(value))];
    let policy = writes();
    client.operate(&policy, &key, &put(&create, 1, 1)).await.unwrap();
    client.operate(&policy, &key, &put(&update, 1, 2)).await.unwrap();
    refused(client.operate(&policy, &key, &put(&create, 1, 3)).await, ResultCode::ElementExists);
    refused(client.operate(&policy, &key, &put(&update, 2, 3)).await, ResultCode::ElementNotFound);
    refused(client.operate(&policy, &key, &[lists::size(BIN)]).await, ResultCode::BinTypeError);
    let stored = operate(&client, &key, BIN, &[maps::get_by_key(BIN, as_val!(1), MapReturnType::VALUE)]).await;
    assert_eq!(stored, [as_val!(2)]);
}
