"""cassio and what LangChain builds on it: vector store, histories of chats, cache, key-value store. The embedding is computed here: no model is loaded."""

import math

import pytest
from cassio.table import ClusteredMetadataVectorCassandraTable, MetadataVectorCassandraTable, PlainCassandraTable
from langchain_community.cache import CassandraCache
from langchain_community.chat_message_histories import CassandraChatMessageHistory
from langchain_community.storage import CassandraByteStore
from langchain_community.vectorstores import Cassandra
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import Generation

# Enough for several pages of an index's search.
MANY = 300


class Circle(Embeddings):
    """A text ends with an angle in degrees, and its embedding is the point there: near angles are near texts. LangChain asks for one of its own, too."""

    def embed_query(self, text):
        word = text.split()[-1]
        angle = math.radians(float(word) if word.isdigit() else 0)
        return [math.cos(angle), math.sin(angle)]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


@pytest.fixture(scope="module")
def store(session, keyspace):
    store = Cassandra(embedding=Circle(), session=session, keyspace=keyspace, table_name="documents")
    store.add_texts([f"text {angle}" for angle in range(0, 360, 10)], ids=[f"d{angle}" for angle in range(0, 360, 10)],
                    metadatas=[{"quarter": angle // 90, "even": angle % 20 == 0, "name": f"n{angle}"} for angle in range(0, 360, 10)])
    return store


def texts(documents):
    return [document.page_content for document in documents]


def test_table_and_indexes_are_there(store, session, keyspace):
    session.cluster.refresh_keyspace_metadata(keyspace)
    table = session.cluster.metadata.keyspaces[keyspace].tables["documents"]
    assert table.columns["vector"].cql_type == "vector<float, 2>"
    assert {name.split("_")[1] for name in table.indexes} == {"vector", "metadata"} and len(table.indexes) == 2
    assert all(index.index_options["class_name"] in ("org.apache.cassandra.index.sai.StorageAttachedIndex", "StorageAttachedIndex")
               for index in table.indexes.values())


def test_nearest_texts_come_first(store):
    assert texts(store.similarity_search("query 101", k=3)) == ["text 100", "text 110", "text 90"]
    assert [document.metadata["name"] for document in store.similarity_search("query 359", k=2)] == ["n0", "n350"]


def test_scores_are_the_cosines(store):
    found = store.similarity_search_with_score_id("query 200", k=3)
    assert [identity for _, _, identity in found][0] == "d200"
    assert [round(score, 5) for _, score, _ in found] == pytest.approx([1, (1 + math.cos(math.radians(10))) / 2, (1 + math.cos(math.radians(10))) / 2], abs=1e-4)


def test_filters_on_metadata_go_with_the_search(store):
    assert texts(store.similarity_search("query 1", k=3, filter={"quarter": 2})) == ["text 260", "text 250", "text 240"]
    assert texts(store.similarity_search("query 44", k=2, filter={"quarter": 0, "even": True})) == ["text 40", "text 60"]
    assert store.similarity_search("query 44", k=2, filter={"name": "nobody"}) == []


def test_metadata_is_searched_without_a_vector(store):
    assert sorted(texts(store.metadata_search({"quarter": 3}, n=20))) == sorted(f"text {angle}" for angle in range(270, 360, 10))
    assert store.get_by_document_id("d30").page_content == "text 30"
    assert store.get_by_document_id("d31") is None


def test_diverse_texts_are_chosen(store):
    found = texts(store.max_marginal_relevance_search("query 100", k=3, fetch_k=12, lambda_mult=0.1))
    assert found[0] == "text 100" and len(set(found)) == 3 and set(found) != {"text 100", "text 90", "text 110"}


def test_texts_are_replaced_and_deleted(session, keyspace):
    store = Cassandra(embedding=Circle(), session=session, keyspace=keyspace, table_name="changing")
    store.add_documents([Document(page_content=f"v {angle}", metadata={"part": angle // 50, "n": "x"}, id=str(angle)) for angle in range(0, 100, 10)])
    store.add_texts(["v 200"], ids=["10"], metadatas=[{"part": 9}])
    assert texts(store.similarity_search("q 200", k=1)) == ["v 200"]
    assert "v 10" not in texts(store.similarity_search("q 10", k=20))
    store.replace_metadata({"20": {"part": 7}})
    assert texts(store.metadata_search({"part": 7})) == ["v 20"] and "v 20" not in texts(store.metadata_search({"part": 0}))
    store.delete(["0", "30"])
    assert sorted(texts(store.metadata_search({"part": 0}))) == ["v 40"]
    assert store.delete_by_metadata_filter({"part": 1}) == 5
    assert sorted(texts(store.similarity_search("q 0", k=20))) == ["v 20", "v 200", "v 40"]
    store.clear()
    assert store.similarity_search("q 0", k=20) == []


def test_a_retriever_answers(store):
    retriever = store.as_retriever(search_kwargs={"k": 2, "filter": {"even": "true"}})
    assert texts(retriever.invoke("question 121")) == ["text 120", "text 140"]


def test_tables_of_cassio_in_partitions(session, keyspace):
    table = ClusteredMetadataVectorCassandraTable(
        session=session, keyspace=keyspace, table="notes", vector_dimension=3, primary_key_type=["TEXT", "INT"], metadata_indexing=("allow", {"kind"}))
    for number in range(20):
        table.put(partition_id=f"p{number % 2}", row_id=number, body_blob=f"note {number}", vector=[1.0, number / 10, 0.5], metadata={"kind": number % 5, "free": "text"})
    assert [row["row_id"] for row in table.get_partition(partition_id="p1", n=3)] == [1, 3, 5]
    assert table.get(partition_id="p0", row_id=4)["body_blob"] == "note 4"
    assert {row["row_id"] for row in table.find_entries(n=10, metadata={"kind": 3})} == {3, 8, 13, 18}
    near = list(table.metric_ann_search([1.0, 0.42, 0.5], n=2, metric="cos"))
    assert [row["row_id"] for row in near] == [4, 5] and 0.99 < near[0]["distance"] <= 1.0
    # Within a partition.
    assert [row["row_id"] for row in table.ann_search([1.0, 0.42, 0.5], n=2, partition_id="p1")] == [5, 3]
    table.delete_partition(partition_id="p0")
    assert len(list(table.get_partition(partition_id="p0"))) == 0 and len(list(table.get_partition(partition_id="p1"))) == 10


def test_many_vectors(session, keyspace):
    table = MetadataVectorCassandraTable(session=session, keyspace=keyspace, table="many", vector_dimension=8, primary_key_type="INT")
    vectors = {number: [math.sin(1 + number * (part + 1)) for part in range(8)] for number in range(MANY)}
    for future in [table.put_async(row_id=number, body_blob="b", vector=vector, metadata={"third": number % 3}) for number, vector in vectors.items()]:
        future.result()
    wanted = vectors[17]

    def cosine(vector):
        return sum(a * b for a, b in zip(vector, wanted, strict=True)) / math.hypot(*vector) / math.hypot(*wanted)

    best = sorted(vectors, key=lambda number: -cosine(vectors[number]))
    assert [row["row_id"] for row in table.ann_search(wanted, n=10)] == best[:10]
    assert [row["row_id"] for row in table.ann_search(wanted, n=5, metadata={"third": 2})] == [number for number in best if number % 3 == 2][:5]
    assert len(list(table.find_entries(n=1000, metadata={"third": 0}))) == MANY // 3


def test_chats_come_back_in_order(session, keyspace):
    history = CassandraChatMessageHistory("talk", session=session, keyspace=keyspace, table_name="talks")
    for number in range(12):
        history.add_message(HumanMessage(content=f"q{number}") if number % 2 == 0 else AIMessage(content=f"a{number}"))
    assert [message.content for message in history.messages] == [("a" if number % 2 else "q") + str(number) for number in range(12)]
    other = CassandraChatMessageHistory("other", session=session, keyspace=keyspace, table_name="talks")
    assert other.messages == []
    history.clear()
    assert history.messages == []


def test_answers_are_cached_and_bytes_are_stored(session, keyspace):
    cache = CassandraCache(session=session, keyspace=keyspace, table_name="answers", ttl_seconds=600)
    assert cache.lookup("prompt", "model") is None
    cache.update("prompt", "model", [Generation(text="answer")])
    assert cache.lookup("prompt", "model")[0].text == "answer" and cache.lookup("prompt", "other") is None
    store = CassandraByteStore(table="bytes", session=session, keyspace=keyspace)
    store.mset([("k1", b"\x00one"), ("k2", b"two"), ("j", b"")])
    assert store.mget(["k1", "none", "k2", "j"]) == [b"\x00one", None, b"two", b""]
    store.mdelete(["k1"])
    assert store.mget(["k1"]) == [None] and sorted(store.yield_keys(prefix="k")) == ["k2"]
    plain = PlainCassandraTable(session=session, keyspace=keyspace, table="plain", primary_key_type="TEXT", ttl_seconds=600)
    plain.put(row_id="r", body_blob="kept")
    assert plain.get(row_id="r") == {"row_id": "r", "body_blob": "kept"}


def test_search_survives_a_kill(store, kill):
    before = texts(store.similarity_search("query 77", k=5))
    assert before[0] == "text 80"
    kill()
    assert texts(store.similarity_search("query 77", k=5)) == before
    assert len(store.metadata_search({"quarter": 1}, n=20)) == 9
