// The exactly-once loop of sarama: consume, double, produce, with the offsets in the same transaction.
//
//	<bootstrap> <source> <target> <name> <count> <step>:<transaction> | -
//
// At the step that is named it prints `paused` and waits to be killed. The offsets are sent by the client inside
// CommitTxn, after the records: a pause at `offsets` is a pause between the records and the commit.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

const recordsPerTransaction = 10

type loop struct {
	producer               sarama.SyncProducer
	target, group, pauseAt string
	count                  int
	done                   context.CancelFunc
}

func (*loop) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*loop) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (l *loop) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	var batch []*sarama.ConsumerMessage
	for message := range claim.Messages() {
		batch = append(batch, message)
		if len(batch) == recordsPerTransaction {
			l.transform(batch)
			batch = nil
		}
		if number(message) == l.count-1 {
			l.done()
			return nil
		}
	}
	return nil
}

func (l *loop) transform(batch []*sarama.ConsumerMessage) {
	check(l.producer.BeginTxn())
	for _, message := range batch {
		_, _, err := l.producer.SendMessage(&sarama.ProducerMessage{
			Topic: l.target, Partition: int32(number(message) % 2),
			Value: sarama.StringEncoder(strconv.Itoa(number(message) * 2)),
		})
		check(err)
	}
	if l.reached("produced", number(batch[0])) {
		wait()
	}
	check(l.producer.AddMessageToTxn(batch[len(batch)-1], l.group, nil))
	if l.reached("offsets", number(batch[0])) {
		wait()
	}
	check(l.producer.CommitTxn())
}

func (l *loop) reached(step string, first int) bool {
	return l.pauseAt == step+":"+strconv.Itoa(first/recordsPerTransaction)
}

func wait() {
	fmt.Println("paused")
	os.Stdin.Read(make([]byte, 1))
}

func main() {
	bootstrap, source, target, name, pauseAt := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[6]
	count, err := strconv.Atoi(os.Args[5])
	check(err)
	config := sarama.NewConfig()
	config.Version = sarama.V2_5_0_0
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Transaction.ID = name
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.InstanceId = name
	config.Consumer.Group.Session.Timeout = 6 * time.Second
	config.Consumer.Group.Heartbeat.Interval = time.Second
	servers := strings.Split(bootstrap, ",")
	producer, err := sarama.NewSyncProducer(servers, config)
	check(err)
	group, err := sarama.NewConsumerGroup(servers, name, config)
	check(err)
	ctx, done := context.WithTimeout(context.Background(), 80*time.Second)
	l := &loop{producer: producer, target: target, group: name, pauseAt: pauseAt, count: count, done: done}
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{source}, l); err != nil && ctx.Err() == nil {
			check(err)
		}
	}
	if ctx.Err() == context.DeadlineExceeded {
		check(ctx.Err())
	}
	check(group.Close())
	check(producer.Close())
}

func number(message *sarama.ConsumerMessage) int {
	value, err := strconv.Atoi(string(message.Value))
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
