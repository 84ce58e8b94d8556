import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The same client as our_client.py, with the Java producer and consumer: arguments, input and output are described there. */
public class MisrouteClient {
    private static final int PARTITIONS = 3;
    private static final long INTERVAL_NS = 10_000_000;
    private static final long CATCH_UP_MS = 20_000;

    private static final Set<String> missing = new HashSet<>();
    private static boolean running;
    private static volatile boolean ended;

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        String topic = arguments[1];
        KafkaProducer<String, String> producer = new KafkaProducer<>(producerProperties(bootstrap));
        start(() -> consume(bootstrap, topic));
        for (int partition = 0; partition < PARTITIONS; partition++) {
            int own = partition;
            start(() -> send(producer, topic, own));
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            run(line.equals("go"));
        }
        ended = true;
        producer.flush();
        long deadline = System.currentTimeMillis() + CATCH_UP_MS;
        while (isMissing() && System.currentTimeMillis() < deadline) {
            Thread.sleep(50);
        }
        write("end");
        Runtime.getRuntime().halt(0);
    }

    private static Properties producerProperties(String bootstrap) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("key.serializer", StringSerializer.class.getName());
        properties.put("value.serializer", StringSerializer.class.getName());
        properties.put("linger.ms", "0");
        properties.put("request.timeout.ms", "2000");
        properties.put("delivery.timeout.ms", "5000");
        return properties;
    }

    private static void send(KafkaProducer<String, String> producer, String topic, int partition) throws Exception {
        long due = System.nanoTime();
        for (int number = 0; !ended; number++) {
            awaitRunning();
            String name = partition + " " + number;
            long sent = System.nanoTime();
            producer.send(new ProducerRecord<>(topic, partition, null, name + " ".repeat(100 - name.length())),
                (metadata, error) -> settled(name, sent, error));
            due = Math.max(due + INTERVAL_NS, System.nanoTime());
            TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
        }
    }

    private static void settled(String name, long sent, Exception error) {
        if (error == null) {
            write("a " + name + " " + sent + " " + System.nanoTime());
            toggle(name);
        } else {
            write("f " + name + " " + error.toString().replace('\n', ' '));
        }
    }

    private static void consume(String bootstrap, String topic) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("group.id", topic + "-group");
        properties.put("auto.offset.reset", "earliest");
        properties.put("key.deserializer", StringDeserializer.class.getName());
        properties.put("value.deserializer", StringDeserializer.class.getName());
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties);
        consumer.subscribe(List.of(topic));
        while (consumer.assignment().size() < PARTITIONS) {
            consumer.poll(Duration.ofMillis(100));
        }
        write("ready");
        while (true) {
            for (ConsumerRecord<String, String> record : poll(consumer)) {
                String name = record.value().trim();
                write("c " + name);
                toggle(name);
            }
        }
    }

    /** An application goes on although `poll` fails with an IllegalStateException after a rebootstrap, as in 4.4.0. */
    private static ConsumerRecords<String, String> poll(KafkaConsumer<String, String> consumer) {
        try {
            return consumer.poll(Duration.ofMillis(1000));
        } catch (IllegalStateException error) {
            write("e " + error.toString().replace('\n', ' '));
            return ConsumerRecords.empty();
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception error) {
                error.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private static synchronized void run(boolean now) {
        running = now;
        MisrouteClient.class.notifyAll();
    }

    private static synchronized void awaitRunning() throws InterruptedException {
        while (!running) {
            MisrouteClient.class.wait();
        }
    }

    private static synchronized void toggle(String name) {
        if (!missing.remove(name)) {
            missing.add(name);
        }
    }

    private static synchronized boolean isMissing() {
        return !missing.isEmpty();
    }

    private static synchronized void write(String line) {
        System.out.println(line);
    }
}
