// The exactly-once loop of franz-go: consume, double, produce, with the offsets in the same transaction.
//
//	<bootstrap> <source> <target> <name> <count> <step>:<transaction> | -
//
// At the step that is named it prints `paused` and waits to be killed. The offsets are committed by the client inside
// End, after the records: a pause at `offsets` is a pause at `produced` with all records flushed.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const recordsPerTransaction = 10

func main() {
	bootstrap, source, target, name, pauseAt := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[6]
	count, err := strconv.Atoi(os.Args[5])
	check(err)
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.TransactionalID(name),
		kgo.ConsumerGroup(name),
		kgo.InstanceID(name),
		kgo.ConsumeTopics(source),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(6*time.Second),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	check(err)
	defer session.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 80*time.Second)
	defer cancel()
	for last := -1; last < count-1; {
		fetches := session.PollRecords(ctx, recordsPerTransaction)
		check(fetches.Err())
		records := fetches.Records()
		if len(records) == 0 {
			continue
		}
		first := number(records[0])
		check(session.Begin())
		for _, record := range records {
			last = number(record)
			session.Produce(ctx, &kgo.Record{
				Topic: target, Partition: int32(last % 2), Value: []byte(strconv.Itoa(last * 2)),
			}, func(_ *kgo.Record, err error) { check(err) })
		}
		check(session.Client().Flush(ctx))
		reached(pauseAt, first)
		committed, err := session.End(ctx, kgo.TryCommit)
		check(err)
		if !committed {
			check(fmt.Errorf("the transaction of %d was aborted", first))
		}
	}
}

func number(record *kgo.Record) int {
	value, err := strconv.Atoi(string(record.Value))
	check(err)
	return value
}

func reached(pauseAt string, first int) {
	if _, transaction, found := strings.Cut(pauseAt, ":"); !found || transaction != strconv.Itoa(first/recordsPerTransaction) {
		return
	}
	fmt.Println("paused")
	os.Stdin.Read(make([]byte, 1))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
