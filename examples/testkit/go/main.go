// The coordinator of a group moves to another broker while its consumer works: the consumer finds the new one, and its
// commits are kept. Client: franz-go.
//
//	signalbox up --drill --topic orders:3 --detach
//	go run . 127.0.0.1:19092 orders
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	bootstrap, topic := os.Args[1], os.Args[2]
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client := newClient(bootstrap, topic)
	produceAndConsume(ctx, client, topic, 10)
	drill("move-coordinator", "--group", "payments")
	defer drill("clear")
	produceAndConsume(ctx, client, topic, 10)
	client.Close()

	// A second consumer of the group begins where the first one has ended.
	next := newClient(bootstrap, topic)
	produceAndConsume(ctx, next, topic, 1)
	next.Close()
	fmt.Println("passed")
}

func newClient(bootstrap, topic string) *kgo.Client {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.ConsumerGroup("payments"),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	)
	must(err)
	return client
}

// produceAndConsume fails if the group receives more or other records than the ones that it produces.
func produceAndConsume(ctx context.Context, client *kgo.Client, topic string, count int) {
	expected := map[string]bool{}
	for number := range count {
		value := fmt.Sprintf("%d-%d", time.Now().UnixNano(), number)
		must(client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr())
		expected[value] = true
	}
	for len(expected) > 0 {
		fetches := client.PollFetches(ctx)
		must(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			if !expected[string(record.Value)] {
				must(fmt.Errorf("unexpected record %s", record.Value))
			}
			delete(expected, string(record.Value))
		})
	}
	must(client.CommitUncommittedOffsets(ctx))
}

func drill(words ...string) {
	command := exec.Command("signalbox", append([]string{"drill"}, words...)...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	must(command.Run())
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
