// The Java client against a running cluster. One subcommand a run; prints `name value` lines with what it saw and
// exits with 0 only when it came to the end.
//   clients  <bootstrap> <topic>                          idempotent producer, a group of two, Admin
//   member   <bootstrap> <topic> <group> <assignor>       a group member until the line `stop` on stdin; `assigned 0 1`
//                                                         after each change, `value v` for each record
//   misroute <bootstrap> <topic>                          produces until the line `stop` on stdin, prints what failed

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.serialization.*;

public class Clients {
    private static final int COUNT = 2_000;

    public static void main(String[] args) throws Exception {
        if (args[0].equals("clients")) {
            produce(args[1], args[2]);
            consume(args[1], args[2]);
            administer(args[1], args[2]);
        } else if (args[0].equals("misroute")) {
            misroute(args[1], args[2]);
        } else if (args[0].equals("member")) {
            member(args[1], args[2], args[3], args[4]);
        } else {
            throw new IllegalArgumentException(args[0]);
        }
        System.out.println("end 1");
        System.exit(0);
    }

    private static Properties properties(String bootstrap) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("key.serializer", StringSerializer.class.getName());
        properties.put("value.serializer", StringSerializer.class.getName());
        properties.put("key.deserializer", StringDeserializer.class.getName());
        properties.put("value.deserializer", StringDeserializer.class.getName());
        return properties;
    }

    private static Properties producerProperties(String bootstrap) {
        Properties properties = properties(bootstrap);
        properties.put("enable.idempotence", "true");
        properties.put("acks", "all");
        properties.put("metadata.cluster.check.enable", "true");
        return properties;
    }

    private static void produce(String bootstrap, String topic) throws Exception {
        String[] codecs = {"none", "gzip", "snappy", "lz4", "zstd"};
        for (int codec = 0; codec < codecs.length; codec++) {
            Properties properties = properties(bootstrap);
            properties.put("compression.type", codecs[codec]);
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties)) {
                for (int i = codec; i < COUNT; i += codecs.length) {
                    ProducerRecord<String, String> record = new ProducerRecord<>(topic, "k" + i % 11, "" + i);
                    record.headers().add("codec", codecs[codec].getBytes());
                    sent.add(producer.send(record));
                }
                for (Future<RecordMetadata> each : sent) each.get(30, TimeUnit.SECONDS);
            }
        }
        System.out.println("produced " + COUNT);
    }

    /** Two members, each in a thread, read everything once; the group gives each one partitions of its own. */
    private static void consume(String bootstrap, String topic) throws Exception {
        Set<Integer> seen = ConcurrentHashMap.newKeySet();
        AtomicInteger total = new AtomicInteger();
        AtomicBoolean shared = new AtomicBoolean();
        int[] assigned = new int[2];
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < 2; index++) {
            int member = index;
            Thread thread = new Thread(() -> {
                Properties properties = properties(bootstrap);
                properties.put("group.id", "java-" + topic);
                properties.put("auto.offset.reset", "earliest");
                properties.put("enable.auto.commit", "false");
                properties.put("heartbeat.interval.ms", "300");
                properties.put("session.timeout.ms", "6000");
                try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties)) {
                    consumer.subscribe(List.of(topic));
                    while (seen.size() < COUNT || !shared.get()) {
                        ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
                        for (ConsumerRecord<String, String> record : records) {
                            seen.add(Integer.parseInt(record.value()));
                            total.incrementAndGet();
                            if (record.headers().lastHeader("codec") == null) throw new IllegalStateException("header");
                        }
                        consumer.commitSync();
                        synchronized (assigned) {
                            assigned[member] = consumer.assignment().size();
                            if (assigned[0] == 3 && assigned[1] == 3) shared.set(true);
                        }
                    }
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) thread.join(60_000);
        System.out.println("consumed " + seen.size());
        System.out.println("total " + total.get());
        System.out.println("shared " + shared.get());
    }

    private static void member(String bootstrap, String topic, String group, String assignor) throws Exception {
        AtomicBoolean stopping = new AtomicBoolean();
        Thread input = new Thread(() -> {
            try {
                new BufferedReader(new InputStreamReader(System.in)).readLine();
            } catch (java.io.IOException ended) {
                // as `stop`
            }
            stopping.set(true);
        });
        input.setDaemon(true);
        input.start();
        Properties properties = properties(bootstrap);
        properties.put("group.id", group);
        properties.put("partition.assignment.strategy", assignor);
        properties.put("auto.offset.reset", "earliest");
        properties.put("heartbeat.interval.ms", "200");
        properties.put("session.timeout.ms", "10000");
        Set<TopicPartition> assigned = Set.of();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties)) {
            consumer.subscribe(List.of(topic));
            while (!stopping.get()) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100)))
                    System.out.println("value " + record.value());
                if (!consumer.assignment().equals(assigned)) {
                    assigned = Set.copyOf(consumer.assignment());
                    StringBuilder line = new StringBuilder("assigned");
                    for (TopicPartition partition : assigned) line.append(' ').append(partition.partition());
                    System.out.println(line);
                }
            }
        }
    }

    private static void administer(String bootstrap, String topic) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        try (Admin admin = Admin.create(properties)) {
            String other = topic + "-java";
            admin.createTopics(List.of(new NewTopic(other, 2, (short) 3).configs(Map.of("retention.ms", "3600000"))))
                .all().get(20, TimeUnit.SECONDS);
            System.out.println("nodes " + admin.describeCluster().nodes().get(20, TimeUnit.SECONDS).size());
            TopicDescription description = await(() -> admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic));
            System.out.println("partitions " + description.partitions().size());
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(
                new ConfigEntry(TopicConfig.RETENTION_MS_CONFIG, "7200000"), AlterConfigOp.OpType.SET))))
                .all().get(20, TimeUnit.SECONDS);
            String retention = await(() -> {
                String value = admin.describeConfigs(List.of(resource)).all().get().get(resource)
                    .get(TopicConfig.RETENTION_MS_CONFIG).value();
                return value.equals("7200000") ? value : null;
            });
            System.out.println("retention " + retention);
            long end = 0, committed = 0;
            Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
            for (int part = 0; part < 6; part++) latest.put(new TopicPartition(topic, part), OffsetSpec.latest());
            for (var info : admin.listOffsets(latest).all().get().values()) end += info.offset();
            String group = "java-" + topic;
            for (var offset : admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().values()) {
                committed += offset.offset();
            }
            System.out.println("endOffsets " + end);
            System.out.println("committed " + committed);
            admin.deleteRecords(Map.of(new TopicPartition(topic, 0), RecordsToDelete.beforeOffset(1))).all().get();
            System.out.println("groupState " + await(() -> {
                String state = admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState().toString();
                return state.equals("Empty") ? state : null;
            }));
            admin.deleteConsumerGroups(List.of(group)).all().get();
            admin.deleteTopics(List.of(other)).all().get();
            await(() -> admin.listTopics().names().get().contains(other) ? null : true);
        }
    }

    private static <T> T await(Callable<T> ask) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (true) {
            T found = ask.call();
            if (found != null) return found;
            if (System.nanoTime() > deadline) throw new TimeoutException();
            Thread.sleep(50);
        }
    }

    /** Numbered records, one every two milliseconds, until the line `stop` on stdin. Prints `acknowledged <count>` every
        200 records, `failed <count>` and `failed-numbers <a,b,...>` at the end, errors by class name on stderr. */
    private static void misroute(String bootstrap, String topic) throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        Thread listener = new Thread(() -> {
            try {
                BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
                while (!"stop".equals(input.readLine())) { }
            } catch (Exception error) {
                error.printStackTrace();
            }
            stop.set(true);
        });
        listener.setDaemon(true);
        listener.start();
        AtomicInteger acknowledged = new AtomicInteger();
        Set<Integer> failed = ConcurrentHashMap.newKeySet();
        int number = 0;
        Properties settings = producerProperties(bootstrap);
        settings.put("delivery.timeout.ms", "45000");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            while (!stop.get()) {
                int sent = number;
                producer.send(new ProducerRecord<>(topic, "k" + sent % 97, "" + sent), (metadata, error) -> {
                    if (error == null) {
                        acknowledged.incrementAndGet();
                    } else {
                        failed.add(sent);
                        System.err.println("record " + sent + " failed: " + error.getClass().getSimpleName());
                    }
                });
                number++;
                if (number % 200 == 0) {
                    System.out.println("acknowledged " + acknowledged.get());
                    System.out.flush();
                }
                Thread.sleep(2);
            }
            producer.flush();
        }
        System.out.println("sent " + number);
        System.out.println("failed " + failed.size());
        System.out.println("failed-numbers " + String.join(",", failed.stream().map(String::valueOf).toList()));
        System.out.println("acknowledged " + acknowledged.get());
    }
}
