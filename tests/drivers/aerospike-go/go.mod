module tarndb/tests/drivers/aerospike-go

go 1.23.0

require github.com/aerospike/aerospike-client-go/v8 v8.5.0

require (
	github.com/yuin/gopher-lua v1.1.1 // indirect
	golang.org/x/sync v0.16.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
