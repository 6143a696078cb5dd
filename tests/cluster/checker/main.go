// The checker of histories: reads operations on registers as JSON lines and asks porcupine whether each register's are linearizable.
//
//	checker history.jsonl     0: they are; 1: they are not; 2: the file is not a history; 3: not decided in time
//
// A line is {"client", "key", "kind": "read" | "write" | "swap", "value", "expected", "call", "return", "known", "applied", "seen"}. A read has seen
// its register's value; a write sets `value`; a swap sets it if the register is `expected`, and has seen what it found when it was not
// applied. What is not known may take effect at any time after its call, or never. Registers begin at 0.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

const secondsMax = 60

type operation struct {
	Client   int    `json:"client"`
	Key      int    `json:"key"`
	Kind     string `json:"kind"`
	Value    int    `json:"value"`
	Expected int    `json:"expected"`
	Call     int64  `json:"call"`
	Return   int64  `json:"return"`
	Known    bool   `json:"known"`
	Applied  bool   `json:"applied"`
	Seen     int    `json:"seen"`
}

var register = porcupine.Model{
	Init: func() interface{} { return 0 },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		value, did := state.(int), input.(operation)
		switch did.Kind {
		case "read":
			return did.Seen == value, value
		case "write":
			return true, did.Value
		}
		found := value == did.Expected
		if !did.Known {
			if found {
				return true, did.Value
			}
			return true, value
		}
		if did.Applied {
			return found, did.Value
		}
		return !found && did.Seen == value, value
	},
	DescribeOperation: func(input, output interface{}) string { return fmt.Sprintf("%+v", input) },
}

func read(path string) (map[int][]porcupine.Operation, int, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	histories, count := map[int][]porcupine.Operation{}, 0
	for lines := bufio.NewScanner(file); lines.Scan(); count++ {
		var did operation
		if err := json.Unmarshal(lines.Bytes(), &did); err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", count+1, err)
		}
		isRead, isWrite := did.Kind == "read", did.Kind == "write" || did.Kind == "swap"
		if !isRead && !isWrite || isRead && !did.Known || did.Known && did.Return < did.Call {
			return nil, 0, fmt.Errorf("line %d is not an operation: %+v", count+1, did)
		}
		if !did.Known {
			did.Return = math.MaxInt64
		}
		histories[did.Key] = append(histories[did.Key], porcupine.Operation{ClientId: did.Client, Input: did, Call: did.Call, Return: did.Return})
	}
	return histories, count, nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: checker history.jsonl")
		os.Exit(2)
	}
	histories, count, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	keys := make([]int, 0, len(histories))
	for key := range histories {
		keys = append(keys, key)
	}
	sort.Ints(keys)
	status := 0
	for _, key := range keys {
		switch porcupine.CheckOperationsTimeout(register, histories[key], secondsMax*time.Second) {
		case porcupine.Illegal:
			fmt.Printf("register %d: its %d operations are not linearizable\n", key, len(histories[key]))
			status = 1
		case porcupine.Unknown:
			fmt.Printf("register %d: not decided in %d s for %d operations\n", key, secondsMax, len(histories[key]))
			if status == 0 {
				status = 3
			}
		}
	}
	if status == 0 {
		fmt.Printf("%d operations on %d registers are linearizable\n", count, len(keys))
	}
	os.Exit(status)
}
