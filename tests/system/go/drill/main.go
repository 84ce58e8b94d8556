// franz-go as the client of a drill (python -m signalbox.testing drill): reads `<number> <partition> <value>`, writes
// `<number> ok` or `<number> <reason>`.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("DRILL_BOOTSTRAP_SERVERS"), ",")...),
		kgo.DefaultProduceTopic(os.Getenv("DRILL_TOPIC")),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(100*time.Millisecond),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var writing sync.Mutex
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		partition, _ := strconv.Atoi(fields[1])
		record := &kgo.Record{Partition: int32(partition), Value: []byte(fields[2])}
		client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
			writing.Lock()
			defer writing.Unlock()
			if err != nil {
				fmt.Println(fields[0], strings.ReplaceAll(err.Error(), "\n", " "))
			} else {
				fmt.Println(fields[0], "ok")
			}
		})
	}
}
