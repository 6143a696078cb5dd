package drivers

import (
	"testing"

	as "github.com/aerospike/aerospike-client-go/v8"
	"github.com/aerospike/aerospike-client-go/v8/types"
)

const bin = "bin"

// operate gives the answers of operations on one bin, nil where there is none.
func operate(t *testing.T, client *as.Client, key *as.Key, operations ...*as.Operation) []any {
	t.Helper()
	policy := writes(0, 0)
	policy.RespondPerEachOp = true
	record, err := client.Operate(policy, key, operations...)
	must(t, err)
	if len(operations) == 1 {
		return []any{record.Bins[bin]}
	}
	return record.Bins[bin].(as.OpResults)
}

func TestListsGrowAndShrink(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	equal(t, operate(t, client, key,
		as.ListAppendOp(bin, 1), as.ListAppendOp(bin, 2, 3, 4), as.ListInsertOp(bin, 0, 0), as.ListPopOp(bin, -1), as.ListPopRangeOp(bin, 0, 2),
		as.ListSizeOp(bin), as.ListSetOp(bin, 0, 9), as.ListGetOp(bin, 0), as.ListIncrementOp(bin, 0, 10), as.ListRemoveOp(bin, 1),
		as.ListGetRangeFromOp(bin, 0)),
		[]any{1, 4, 5, 4, []any{0, 1}, 2, nil, 9, 19, 1, []any{19}})
	equal(t, operate(t, client, key,
		as.ListAppendOp(bin, 5, 5, 1), as.ListSortOp(bin, as.ListSortFlagsDropDuplicates), as.ListGetRangeOp(bin, 0, 10),
		as.ListTrimOp(bin, 1, 1), as.ListClearOp(bin), as.ListSizeOp(bin)),
		[]any{4, nil, []any{1, 5, 19}, 2, nil, 0})
}

func TestListsAreReadByIndexRankAndValue(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	must(t, client.Put(nil, key, as.BinMap{bin: []any{4, 3, 1, 5, 2}}))
	equal(t, operate(t, client, key,
		as.ListGetByIndexOp(bin, 3, as.ListReturnTypeValue),
		as.ListGetByValueOp(bin, 3, as.ListReturnTypeIndex|as.ListReturnTypeInverted),
		as.ListGetByIndexRangeCountOp(bin, -2, 2, as.ListReturnTypeValue|as.ListReturnTypeInverted),
		as.ListGetByRankRangeCountOp(bin, 2, 3, as.ListReturnTypeValue|as.ListReturnTypeInverted),
		as.ListSetOrderOp(bin, as.ListOrderOrdered),
		as.ListGetByValueListOp(bin, []any{4, 2}, as.ListReturnTypeRank),
		as.ListGetByValueRangeOp(bin, 2, 4, as.ListReturnTypeValue),
		as.ListGetByValueRangeOp(bin, 4, as.NewInfinityValue(), as.ListReturnTypeExists),
		as.ListGetByRankOp(bin, -1, as.ListReturnTypeValue),
		as.ListGetByValueRelativeRankRangeCountOp(bin, 3, -1, 2, as.ListReturnTypeValue),
		as.ListRemoveByRankRangeCountOp(bin, 0, 2, as.ListReturnTypeCount),
		as.ListRemoveByValueOp(bin, 5, as.ListReturnTypeIndex)),
		[]any{5, []any{0, 2, 3, 4}, []any{4, 3, 1}, []any{1, 2}, nil, []any{3, 1}, []any{2, 3}, true, 5, []any{2, 3}, 2, []any{2}})
}

func TestValuesOfListsMayHaveToBeNew(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	partial := as.NewListPolicy(as.ListOrderOrdered, as.ListWriteFlagsAddUnique|as.ListWriteFlagsPartial|as.ListWriteFlagsNoFail)
	equal(t, operate(t, client, key, as.ListAppendWithPolicyOp(partial, bin, 0, 4, 5, 9, 9, 11, 15, 0), as.ListAppendWithPolicyOp(partial, bin, 11, 3)),
		[]any{6, 7})
	unique := as.NewListPolicy(as.ListOrderOrdered, as.ListWriteFlagsAddUnique)
	_, err := client.Operate(nil, key, as.ListAppendWithPolicyOp(unique, bin, 3))
	refused(t, err, types.FAIL_ELEMENT_EXISTS)
	_, err = client.Operate(nil, key, as.ListGetOp(bin, 70))
	refused(t, err, types.OP_NOT_APPLICABLE)
}

func TestListsInListsAndMapsAreChanged(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	must(t, client.Put(nil, key, as.BinMap{bin: map[any]any{"k": []any{[]any{9}, []any{2, 4}}}}))
	inner := []*as.CDTContext{as.CtxMapKey(as.StringValue("k")), as.CtxListRank(0)}
	create := []*as.CDTContext{as.CtxMapKeyCreate(as.StringValue("new"), as.MapOrder.KEY_ORDERED)}
	equal(t, operate(t, client, key,
		as.ListAppendWithPolicyContextOp(as.DefaultListPolicy(), bin, inner, 11),
		as.MapPutOp(as.DefaultMapPolicy(), bin, "a", 1, create...),
		as.GetBinOp(bin)),
		[]any{3, 1, map[any]any{"k": []any{[]any{9}, []any{2, 4, 11}}, "new": map[any]any{"a": 1}}})
}

func TestMapsArePutReadAndLosePairs(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	ordered := as.NewMapPolicy(as.MapOrder.KEY_ORDERED, as.MapWriteMode.UPDATE)
	equal(t, operate(t, client, key,
		as.MapPutItemsOp(ordered, bin, map[any]any{"Charlie": 55, "Jim": 94, "John": 81, "Harry": 82}),
		as.MapPutOp(ordered, bin, "Sally", 79),
		as.MapIncrementOp(ordered, bin, "Sally", 1),
		as.MapSizeOp(bin),
		as.MapGetByKeyOp(bin, "Jim", as.MapReturnType.RANK),
		as.MapGetByKeyOp(bin, "nobody", as.MapReturnType.VALUE),
		as.MapGetByRankRangeCountOp(bin, -2, 2, as.MapReturnType.KEY),
		as.MapGetByRankRangeCountOp(bin, 0, 2, as.MapReturnType.KEY_VALUE),
		as.MapGetByValueRangeOp(bin, 80, 82, as.MapReturnType.KEY),
		as.MapGetByIndexOp(bin, 0, as.MapReturnType.KEY),
		as.MapGetByKeyListOp(bin, []any{"Harry", "Jim"}, as.MapReturnType.VALUE),
		as.MapGetByKeyRangeOp(bin, "J", "K", as.MapReturnType.ORDERED_MAP),
		as.MapRemoveByKeyOp(bin, "Jim", as.MapReturnType.VALUE),
		as.MapRemoveByValueOp(bin, 55, as.MapReturnType.KEY),
		as.MapRemoveByRankRangeCountOp(bin, 0, 2, as.MapReturnType.COUNT),
		as.MapClearOp(bin)),
		[]any{
			4, 5, 80, 5, 4, nil, []any{"Harry", "Jim"}, []as.MapPair{{Key: "Charlie", Value: 55}, {Key: "Sally", Value: 80}},
			[]any{"Sally", "John"}, "Charlie", []any{82, 94}, []as.MapPair{{Key: "Jim", Value: 94}, {Key: "John", Value: 81}}, 94, []any{"Charlie"}, 2, nil,
		})
}

func TestKeysOfMapsMayHaveToBeNewOrKnown(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	create := as.NewMapPolicyWithFlags(as.MapOrder.UNORDERED, as.MapWriteFlagsCreateOnly)
	update := as.NewMapPolicyWithFlags(as.MapOrder.UNORDERED, as.MapWriteFlagsUpdateOnly)
	equal(t, operate(t, client, key, as.MapPutOp(create, bin, 1, 1), as.MapPutOp(update, bin, 1, 2)), []any{1, 1})
	_, err := client.Operate(nil, key, as.MapPutOp(create, bin, 1, 3))
	refused(t, err, types.FAIL_ELEMENT_EXISTS)
	_, err = client.Operate(nil, key, as.MapPutOp(update, bin, 2, 3))
	refused(t, err, types.FAIL_ELEMENT_NOT_FOUND)
	_, err = client.Operate(nil, key, as.ListAppendOp(bin, 3))
	refused(t, err, types.BIN_TYPE_ERROR)
	equal(t, read(t, client, key), as.BinMap{bin: map[any]any{1: 2}})
}
