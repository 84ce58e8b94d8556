// The exactly-once loop of the Java client: consume, double, produce, with the offsets in the same transaction. For
// clients from 2.8 on.
//   <bootstrap> <source> <target> <name> <count> <step>:<transaction> | -
// At the step that is named it prints `paused` and waits to be killed.

import java.time.Duration;
import java.util.*;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

public class Loop {
    private static final int RECORDS_PER_TRANSACTION = 10;

    private static String pauseAt;

    public static void main(String[] args) throws Exception {
        String source = args[1], target = args[2], name = args[3];
        int count = Integer.parseInt(args[4]);
        pauseAt = args[5];
        Properties common = new Properties();
        common.put("bootstrap.servers", args[0]);
        Properties ofProducer = new Properties();
        ofProducer.putAll(common);
        ofProducer.put("transactional.id", name);
        Properties ofConsumer = new Properties();
        ofConsumer.putAll(common);
        ofConsumer.put("group.id", name);
        ofConsumer.put("group.instance.id", name);
        ofConsumer.put("isolation.level", "read_committed");
        ofConsumer.put("auto.offset.reset", "earliest");
        ofConsumer.put("enable.auto.commit", "false");
        ofConsumer.put("session.timeout.ms", "6000");
        ofConsumer.put("max.poll.records", "" + RECORDS_PER_TRANSACTION);
        StringSerializer writes = new StringSerializer();
        StringDeserializer reads = new StringDeserializer();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(ofProducer, writes, writes);
             KafkaConsumer<String, String> consumer = new KafkaConsumer<>(ofConsumer, reads, reads)) {
            producer.initTransactions();
            consumer.subscribe(Collections.singletonList(source));
            int last = -1;
            while (last < count - 1) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofSeconds(30));
                if (records.isEmpty()) continue;
                int first = Integer.parseInt(records.iterator().next().value());
                producer.beginTransaction();
                List<Future<RecordMetadata>> sent = new ArrayList<>();
                for (ConsumerRecord<String, String> record : records) {
                    last = Integer.parseInt(record.value());
                    sent.add(producer.send(new ProducerRecord<>(target, last % 2, null, "" + last * 2)));
                }
                for (Future<RecordMetadata> each : sent) each.get();
                reached("produced", first);
                producer.sendOffsetsToTransaction(
                    Collections.singletonMap(new TopicPartition(source, 0), new OffsetAndMetadata(last + 1)),
                    consumer.groupMetadata());
                reached("offsets", first);
                producer.commitTransaction();
            }
        }
        System.exit(0);
    }

    private static void reached(String step, int first) throws Exception {
        if (!pauseAt.equals(step + ":" + first / RECORDS_PER_TRANSACTION)) return;
        System.out.println("paused");
        System.out.flush();
        System.in.read();
    }
}
