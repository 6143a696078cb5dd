package drivers

import (
	"fmt"
	"slices"
	"testing"

	as "github.com/aerospike/aerospike-client-go/v8"
	"github.com/aerospike/aerospike-client-go/v8/types"
)

func place(longitude, latitude float64) as.GeoJSONValue {
	return as.NewGeoJSONValue(fmt.Sprintf(`{"type": "Point", "coordinates": [%g, %g]}`, longitude, latitude))
}

// numbers gives those of the records that a query finds, in their order.
func numbers(t *testing.T, client *as.Client, policy *as.QueryPolicy, filter *as.Filter) []int {
	t.Helper()
	statement := as.NewStatement(namespace, t.Name())
	if filter != nil {
		must(t, statement.SetFilter(filter))
	}
	set, err := client.Query(policy, statement)
	must(t, err)
	found := []int{}
	for result := range set.Results() {
		must(t, result.Err)
		found = append(found, result.Record.Bins["i"].(int))
	}
	slices.Sort(found)
	return found
}

func TestPlacesAndRegions(t *testing.T) {
	client := connect(t)
	put := func(i int, shape as.GeoJSONValue) {
		key := fresh(t, client, i)
		must(t, client.Put(nil, key, as.BinMap{"i": i, "g": shape, "l": []any{shape, i}}))
		equal(t, read(t, client, key)["g"], shape)
	}
	create := func(bin string, kind as.IndexCollectionType) {
		task, err := client.CreateComplexIndex(nil, namespace, t.Name(), t.Name()+bin, bin, as.GEO2DSPHERE, kind)
		must(t, err)
		must(t, <-task.OnComplete())
	}
	create("g", as.ICT_DEFAULT)
	for i := range 100 {
		// Across the 180th meridian.
		longitude := 175 + float64(i)/10
		if longitude > 180 {
			longitude -= 360
		}
		put(i, place(longitude, 60))
	}
	put(100, as.NewGeoJSONValue(`{"type": "AeroCircle", "coordinates": [[0, 90], 10000]}`))
	put(101, as.NewGeoJSONValue(`{"type": "Polygon", "coordinates": [[[0, 80], [120, 80], [-120, 80], [0, 80]]]}`))
	create("l", as.ICT_LIST)

	within := `{"type": "Polygon", "coordinates": [[[179.75, 55], [-179.75, 55], [-179.75, 65], [179.75, 65], [179.75, 55]]]}`
	across := []int{48, 49, 50, 51, 52}
	equal(t, numbers(t, client, nil, as.NewGeoWithinRegionFilter("g", within)), across)
	equal(t, numbers(t, client, nil, as.NewGeoWithinRegionForCollectionFilter("l", as.ICT_LIST, within)), across)
	// A tenth of a degree is 5.6 km at 60 degrees.
	equal(t, numbers(t, client, nil, as.NewGeoWithinRadiusFilter("g", 180, 60, 12_000)), across)
	equal(t, numbers(t, client, nil, as.NewGeoRegionsContainingPointFilter("g", place(77, 89.95).String())), []int{100, 101})
	equal(t, numbers(t, client, nil, as.NewGeoRegionsContainingPointFilter("g", place(77, 89).String())), []int{101})

	policy := as.NewQueryPolicy()
	policy.FilterExpression = as.ExpGeoCompare(as.ExpGeoBin("g"), as.ExpGeoVal(within))
	equal(t, numbers(t, client, policy, nil), across)

	refused(t, client.Put(nil, fresh(t, client, "none"), as.BinMap{"g": place(0, 91)}), types.GEO_INVALID_GEOJSON)
	must(t, client.DropIndex(nil, namespace, t.Name(), t.Name()+"g"))
	must(t, client.DropIndex(nil, namespace, t.Name(), t.Name()+"l"))
}
